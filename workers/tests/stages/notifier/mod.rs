//! The notifier: a group whose messages are told to a sink.

mod attempts;
mod processes;

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::id::WebhookId;
use chatkeep_core::signing;
use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_store::{
    DeliveryFilter, LeasedDelivery, NewWebhook, OutboxEventKind, StoreError, Webhook,
    WebhookChange, WebhookChanged, WebhookDelivery, WebhookMade, WebhookMaker,
};
use chatkeep_workers::RecentTraces;
use chatkeep_workers::notifier::{Bodies, Notifier, NotifierSettings};

use super::bench::{Bench, Group};
use super::sink::Sink;

/// Renders ids only: bodies are the program's.
#[derive(Debug)]
struct Plain;

impl Bodies for Plain {
    type Error = StoreError;

    async fn body(&self, delivery: &LeasedDelivery) -> Result<Option<Vec<u8>>, StoreError> {
        let body = serde_json::json!({"subject": delivery.event.subject});
        Ok(Some(serde_json::to_vec(&body)?))
    }
}

fn settings() -> NotifierSettings {
    NotifierSettings {
        parallel: 64,
        parallel_each: 4,
        timeout: Duration::from_secs(15),
        retries: vec![Duration::from_secs(5), Duration::from_mins(5), Duration::from_mins(30)],
        give_up: Duration::from_hours(5 * 24),
        keep: Duration::from_hours(30 * 24),
        tell_owners: true,
    }
}

/// Returns an enabled webhook of all events of all channels.
fn everything(url: &str) -> WebhookChange<'_> {
    WebhookChange {
        url,
        description: "",
        events: &OutboxEventKind::ALL,
        channels: None,
        enabled: true,
    }
}

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
        Arc::new(Notifier {
            store: self.bench.store.clone(),
            bodies: Plain,
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
        let id = WebhookId::from(format!("wh_{user}{}", path.replace('/', "_")));
        let url = self.sink.url(path);
        let change = everything(&url);
        let (user, secret) = (user.into(), signing::secret([1; 32]));
        let maker = WebhookMaker { key: None, bounds: &Bounds::full() };
        let new = NewWebhook { id: &id, user: &user, secret: &secret, change, maker };
        let made =
            self.bench.store.webhooks().add_webhook(&new, self.bench.clock.now()).await.unwrap();
        assert_eq!(made, WebhookMade::Done);
        id
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
        let bounds = Bounds::full();
        let all = DeliveryFilter::within(&bounds);
        self.bench.store.webhooks().webhook_deliveries(hook, all, 1_000).await.unwrap()
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
