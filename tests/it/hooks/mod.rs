//! Outgoing webhooks through the whole program, and what of their delivery needs a server.

mod delivery;
mod flood;
pub(crate) mod flow;
#[path = "../../support/sink.rs"]
#[expect(dead_code, reason = "some responses are for the stages' tests")]
pub(crate) mod sink;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::time::{Clock as _, ManualClock, SharedClock, Timestamp};
use chatkeep_core::{id::WebhookId, signing};
use chatkeep_platform::Bots;
use chatkeep_store::{
    DeliveryFilter, LeasedDelivery, NewWebhook, OutboxEventKind, StoreError, WebhookChange,
    WebhookDelivery, WebhookMade, WebhookMaker,
};
use chatkeep_workers::RecentTraces;
use chatkeep_workers::notifier::{Bodies, Notifier, NotifierSettings};
use secrecy::ExposeSecret as _;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::sink::Sink;
use crate::store::{Fixture, said};

/// Renders ids only: bodies are tested through the whole program.
#[derive(Debug)]
struct Plain;

impl Bodies for Plain {
    type Error = StoreError;

    async fn body(&self, delivery: &LeasedDelivery) -> Result<Option<Vec<u8>>, StoreError> {
        let body = serde_json::json!({"subject": delivery.event.subject});
        Ok(Some(serde_json::to_vec(&body)?))
    }
}

/// A store with a group, a sink, a clock, and notifiers.
struct Bench {
    fixture: Fixture,
    sink: Sink,
    clock: Arc<ManualClock>,
    stop: CancellationToken,
    notifiers: Vec<JoinHandle<()>>,
    said: usize,
}

fn settings() -> NotifierSettings {
    NotifierSettings {
        parallel: 64,
        parallel_each: 4,
        timeout: Duration::from_secs(15),
        retries: vec![Duration::from_secs(5), Duration::from_mins(5), Duration::from_mins(30)],
        give_up: Duration::from_hours(5 * 24),
        keep: Duration::from_hours(30 * 24),
        tell_owners: false,
    }
}

impl Bench {
    async fn new(fixture: Fixture) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_767_323_045_678)));
        fixture.group("C1", &["U1"]).await;
        fixture.subscribe("C1", "U1", 5).await;
        let sink = Sink::start().await;
        let stop = CancellationToken::new();
        Self { fixture, sink, clock, stop, notifiers: Vec::new(), said: 0 }
    }

    /// Starts a notifier.
    fn start(&mut self) {
        let notifier = Notifier {
            store: self.fixture.store.clone(),
            bodies: Plain,
            http: GuardedClient::new(true).unwrap(),
            bots: Bots::default(),
            clock: Arc::clone(&self.clock) as SharedClock,
            settings: settings(),
            traces: RecentTraces::default(),
        };
        let notifier = Arc::new(notifier);
        let stop = self.stop.clone();
        self.notifiers.push(tokio::spawn(async move {
            notifier.release_interrupted().await;
            notifier.run(stop).await;
        }));
    }

    /// Creates a webhook of that user to that path of the sink; returns its id.
    async fn hook(&self, user: &str, path: &str) -> WebhookId {
        let id = WebhookId::from(format!("wh_{user}{}", path.replace('/', "_")));
        let url = self.sink.url(path);
        let change = WebhookChange {
            url: &url,
            description: "",
            events: &OutboxEventKind::ALL,
            channels: None,
            enabled: true,
        };
        let (user, secret) = (user.into(), signing::secret([1; 32]));
        let maker = WebhookMaker { key: None, bounds: &Bounds::full() };
        let new = NewWebhook { id: &id, user: &user, secret: &secret, change, maker };
        let made = self.fixture.store.webhooks().add_webhook(&new, self.clock.now()).await.unwrap();
        assert_eq!(made, WebhookMade::Done);
        id
    }

    /// Stores that many further messages.
    async fn say(&mut self, count: usize) {
        let now = self.clock.now();
        let first = self.said;
        self.said += count;
        let all: Vec<_> =
            (first..self.said).map(|n| said("C1", &format!("m{n}"), now.millis(), "x")).collect();
        self.fixture.store.messages().ingest(&all, now).await.unwrap();
    }

    async fn log(&self, hook: &WebhookId) -> Vec<WebhookDelivery> {
        let bounds = Bounds::full();
        let all = DeliveryFilter::within(&bounds);
        self.fixture.store.webhooks().webhook_deliveries(hook, all, 1_000).await.unwrap()
    }

    async fn end(self) {
        self.stop.cancel();
        for notifier in self.notifiers {
            notifier.await.unwrap();
        }
    }
}

/// Returns the secret of [`Bench::hook`].
fn secret() -> String {
    signing::secret([1; 32]).expose_secret().to_owned()
}
