//! The notifier: a group whose messages are told to a sink.

mod attempts;
mod owners;
mod processes;

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::id::WebhookId;
use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_store::{
    OutboxEventKind, Webhook, WebhookChange, WebhookChanged, WebhookDelivery, WebhookMaker,
};
use chatkeep_workers::RecentTraces;
use chatkeep_workers::notifier::{Bodies, Notifier, NotifierSettings};

use super::bench::{Bench, Group};
use super::sink::Sink;
use super::webhooks::{self, Plain, everything, settings};

/// A group whose messages are told to a sink.
struct Scene {
    bench: Bench,
    group: Group,
    sink: Sink,
}

impl Scene {
    async fn new() -> Self {
        let (bench, group) = Bench::with_group().await;
        // A webhook made now hears nothing of what was before.
        bench.clock.advance(Duration::from_secs(1));
        Self { bench, group, sink: Sink::start().await }
    }

    fn notifier(&self, settings: NotifierSettings) -> Arc<Notifier<Plain>> {
        self.notifier_to(settings, true)
    }

    fn notifier_to(&self, settings: NotifierSettings, allow_private: bool) -> Arc<Notifier<Plain>> {
        self.notifier_of(Plain, settings, allow_private)
    }

    fn notifier_of<B: Bodies>(
        &self,
        bodies: B,
        settings: NotifierSettings,
        allow_private: bool,
    ) -> Arc<Notifier<B>> {
        Arc::new(Notifier {
            store: self.bench.store.clone(),
            bodies,
            http: GuardedClient::new(allow_private).unwrap(),
            bots: self.bench.bots.clone(),
            clock: Arc::clone(&self.bench.clock) as SharedClock,
            settings,
            traces: RecentTraces::default(),
        })
    }

    /// Makes everything that is due; returns the number of deliveries.
    async fn drain(&self) -> usize {
        self.notifier(settings()).drain().await.unwrap()
    }

    /// Ann creates a webhook to that path of the sink.
    async fn hook(&self, path: &str) -> WebhookId {
        self.hook_of(&self.group.ann, path).await
    }

    async fn hook_of(&self, user: &str, path: &str) -> WebhookId {
        let (url, now) = (self.sink.url(path), self.bench.clock.now());
        webhooks::add_webhook(&self.bench.store, (user, path), &url, now).await
    }

    /// Ann changes a webhook with a credential of these bounds.
    async fn narrow(&self, id: &WebhookId, bounds: &Bounds) {
        let known = self.webhook(id).await;
        let url = &known.url;
        // An event that is within any bounds; attempts of earlier ones are still due.
        let change = WebhookChange { events: &[OutboxEventKind::BackupPaused], ..everything(url) };
        let maker = WebhookMaker { key: None, bounds };
        let (webhooks, now) = (self.bench.store.webhooks(), self.bench.clock.now());
        let changed = webhooks.change_webhook(&known, change, maker, now).await;
        assert!(matches!(changed.unwrap(), WebhookChanged::Done));
    }

    async fn webhook(&self, id: &WebhookId) -> Webhook {
        let ann = self.group.ann.as_str().into();
        self.bench.store.webhooks().webhook(&ann, id).await.unwrap().unwrap()
    }

    /// Stores that many further messages.
    async fn say(&self, count: usize) {
        let say = |n| self.bench.say(&self.group.id, &self.group.bob, format!("message {n}"));
        self.bench.publish(&(0..count).flat_map(say).collect::<Vec<_>>()).await;
        self.bench.drain(self.bench.backup()).await;
    }

    async fn log(&self, hook: &WebhookId) -> Vec<WebhookDelivery> {
        webhooks::log(&self.bench.store, hook).await
    }

    /// Returns the only delivery of a webhook.
    async fn only(&self, hook: &WebhookId) -> WebhookDelivery {
        <[_; 1]>::try_from(self.log(hook).await).unwrap().into_iter().next().unwrap()
    }

    /// Returns the seconds until the only delivery of a webhook is due.
    async fn wait(&self, hook: &WebhookId) -> u64 {
        self.only(hook).await.due_at.unwrap().since(self.bench.clock.now()).as_secs()
    }
}
