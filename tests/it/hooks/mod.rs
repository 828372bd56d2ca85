//! Outgoing webhooks through the whole program, and what of their delivery needs a server.

mod delivery;
mod flood;
pub(crate) mod flow;
#[path = "../../support/sink.rs"]
#[expect(dead_code, reason = "some responses are for the stages' tests")]
pub(crate) mod sink;
mod verify;
#[path = "../../support/webhooks.rs"]
mod webhooks;

use std::sync::Arc;

use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::time::{Clock as _, ManualClock, SharedClock, Timestamp};
use chatkeep_core::{id::WebhookId, signing};
use chatkeep_platform::Bots;
use chatkeep_store::WebhookDelivery;
use chatkeep_workers::RecentTraces;
use chatkeep_workers::notifier::{Notifier, NotifierSettings};
use secrecy::ExposeSecret as _;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::sink::Sink;
use self::webhooks::{Plain, settings};
use crate::store::{Fixture, said};

/// A store with a group, a sink, a clock, and notifiers.
struct Bench {
    fixture: Fixture,
    sink: Sink,
    clock: Arc<ManualClock>,
    stop: CancellationToken,
    notifiers: Vec<JoinHandle<()>>,
    said: usize,
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
            settings: NotifierSettings { tell_owners: false, ..settings() },
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
        let (url, now) = (self.sink.url(path), self.clock.now());
        webhooks::add_webhook(&self.fixture.store, (user, path), &url, now).await
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
        webhooks::log(&self.fixture.store, hook).await
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
