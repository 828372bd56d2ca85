//! The ingress as a platform meets it, on the bus of one process.

mod capacity;
mod refusals;
mod webhooks;

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::{BusLimits, ConsumerSpec};
use chatkeep_core::config::RateLimitConfig;
use chatkeep_core::health::Health;
use chatkeep_core::time::ManualClock;
use chatkeep_platform::line::{LineWebhooks, SignatureKey};
use chatkeep_workers::StageName;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

use super::*;

/// Secret of the bot `main`.
const SECRET: &str = "secret of main";
/// Secret of the bot `other`, and the one that it replaces.
const OTHER: [&str; 2] = ["secret of other", "former secret of other"];
/// Largest body, in bytes.
const MAX_BODY: usize = 64 * 1_024;
/// Free disk space that is left to stored events, in bytes.
const RESERVE: u64 = 1_000;
/// Most messages on the bus.
const BACKLOG: u64 = 500;
/// Time for the bus to deliver what it has.
const PATIENCE: Duration = Duration::from_secs(30);

/// The ingress of two bots, `main` and `other`.
struct Fixture {
    router: Router,
    bus: Bus,
    /// Consumer that has yet to handle what is published.
    backup: ConsumerSpec,
    clock: Arc<ManualClock>,
    disk: DiskReserve,
    tap: Tap,
    /// Webhooks of `other`, whose secrets can be replaced.
    other: LineWebhooks,
    folder: TempDir,
}

impl Fixture {
    /// Starts it; an address may send `rejected` webhooks without a valid signature, and one more
    /// each minute.
    async fn new(rejected: u32) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_769_850_000_123)));
        let shared: SharedClock = clock.clone();
        let limits = BusLimits { max_backlog: BACKLOG, ..BusLimits::default() };
        let bus = EmbeddedBus::open(folder.path(), limits, shared.clone()).await.unwrap();
        let bus = Bus::Embedded(bus);
        let backup = StageName::Backup.consumer(Duration::from_secs(30));
        bus.ensure(&backup).await.unwrap();
        let main = LineWebhooks::new(&[SECRET.to_owned().into()]).unwrap();
        let other =
            LineWebhooks::new(&[OTHER[0].to_owned().into(), OTHER[1].to_owned().into()]).unwrap();
        let bot = |name: &str, webhooks: &LineWebhooks| {
            IngressBot::new(name, Arc::new(webhooks.clone()), None, Health::new(shared.clone()))
        };
        let (disk, tap) = (DiskReserve::new(RESERVE), Tap::default());
        let ingress = Ingress {
            bus: bus.clone(),
            bots: IngressBots::new([bot("main", &main), bot("other", &other)]),
            clock: shared.clone(),
            tap: tap.clone(),
            rejected: Limiter::alone(
                RateLimitConfig { per_minute: 1, burst: rejected },
                shared.clone(),
            ),
            proxies: 0,
            disk: disk.clone(),
        };
        let router = chatkeep_http::with_common_layers(router(ingress, MAX_BODY));
        Self { router, bus, backup, clock, disk, tap, other, folder }
    }

    /// Sends a body to a path with this signature.
    async fn send(&self, path: &str, signature: &str, body: Body) -> (StatusCode, Value) {
        let request = Request::post(path).header("x-line-signature", signature);
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (parts.status, serde_json::from_slice(&body).unwrap())
    }

    /// Sends a body to `main`, as its platform does.
    async fn deliver(&self, body: &str) -> (StatusCode, Value) {
        self.send("/webhook/line/main", &signed(SECRET, body), body.to_owned().into()).await
    }

    /// Returns the number of events that wait on the bus.
    async fn waiting(&self) -> u64 {
        self.bus.backlog(&self.backup).await.unwrap()
    }

    /// Handles what waits on the bus; returns each event with its id there.
    async fn taken(&self) -> Vec<(String, Envelope)> {
        let mut consumer = self.bus.consume(&self.backup).await.unwrap();
        let mut taken = Vec::new();
        while self.waiting().await > 0 {
            for delivery in consumer.fetch(100, PATIENCE).await.unwrap() {
                let envelope = serde_json::from_slice(&delivery.payload).unwrap();
                taken.push((delivery.id.clone(), envelope));
                delivery.ack().await.unwrap();
            }
        }
        taken
    }

    async fn end(self) {
        self.bus.close().await;
        self.folder.close().unwrap();
    }
}

/// Returns the signature of a body.
fn signed(secret: &str, body: &str) -> String {
    SignatureKey::new(&secret.to_owned().into()).unwrap().sign(body.as_bytes())
}

/// Returns a body with these events.
fn body_of<'a>(events: impl IntoIterator<Item = &'a str>) -> String {
    let events: Vec<_> = events.into_iter().collect();
    format!(r#"{{"destination":"U0","events":[{}]}}"#, events.join(","))
}

/// Returns a body of `count` events whose ids begin with `prefix`.
fn body_with(prefix: &str, count: usize) -> String {
    let events: Vec<_> =
        (0..count).map(|number| format!(r#"{{"webhookEventId":"{prefix}{number}"}}"#)).collect();
    body_of(events.iter().map(String::as_str))
}
