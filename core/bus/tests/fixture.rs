//! Test fixture: a bus that is opened, closed and reopened on the same data; and the helpers of the
//! test cases.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusLimits, Consumer, ConsumerSpec, Delivery, Outgoing, Stream};
use chatkeep_core::time::SystemClock;
use tempfile::TempDir;
use tokio::time::Instant;

use crate::nats_server::NatsServer;

/// Timeout of anything that must happen, on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// Time to watch for something that must not happen.
pub(crate) const WATCH: Duration = Duration::from_millis(150);

pub(crate) struct Fixture {
    place: BusBackend,
    limits: BusLimits,
}

enum BusBackend {
    Folder(TempDir),
    Server(NatsServer),
}

impl Fixture {
    pub(crate) fn embedded() -> Self {
        Self { place: BusBackend::Folder(TempDir::new().unwrap()), limits: BusLimits::default() }
    }

    pub(crate) async fn nats() -> Self {
        Self::on(NatsServer::start(&[]).await)
    }

    pub(crate) async fn nats_current() -> Self {
        Self::on(NatsServer::start_current(&[]).await)
    }

    fn on(server: NatsServer) -> Self {
        Self { place: BusBackend::Server(server), limits: BusLimits::default() }
    }

    pub(crate) fn max_backlog(mut self, max_backlog: u64) -> Self {
        self.limits.max_backlog = max_backlog;
        self
    }

    pub(crate) fn dedupe_window(mut self, dedupe_window: Duration) -> Self {
        self.limits.dedupe_window = dedupe_window;
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        match &self.place {
            BusBackend::Folder(folder) => folder.path(),
            BusBackend::Server(_) => panic!("only the embedded bus has a folder"),
        }
    }

    pub(crate) fn server(&mut self) -> &mut NatsServer {
        match &mut self.place {
            BusBackend::Folder(_) => panic!("the embedded bus has no server"),
            BusBackend::Server(server) => server,
        }
    }

    pub(crate) async fn open(&self) -> Bus {
        let clock = Arc::new(SystemClock);
        let limits = self.limits.clone();
        match &self.place {
            BusBackend::Folder(folder) => {
                Bus::Embedded(EmbeddedBus::open(folder.path(), limits, clock).await.unwrap())
            }
            BusBackend::Server(server) => {
                let servers = format!("nats://{}", server.address());
                Bus::Nats(NatsBus::connect(&servers, limits, clock).await.unwrap())
            }
        }
    }

    /// Attaches beside the serving process, as the command line does.
    pub(crate) async fn attach(&self) -> Bus {
        match &self.place {
            BusBackend::Folder(folder) => {
                let (limits, clock) = (self.limits.clone(), Arc::new(SystemClock));
                Bus::Embedded(EmbeddedBus::attach(folder.path(), limits, clock).await.unwrap())
            }
            BusBackend::Server(_) => self.open().await,
        }
    }
}

/// Returns a consumer of events with a lease that does not expire during a test.
pub(crate) fn events(name: &'static str) -> ConsumerSpec {
    ConsumerSpec {
        name,
        stream: Stream::Events,
        queue: None,
        lease: Duration::from_mins(1),
        max_in_flight: 1000,
    }
}

/// Returns the consumer of a job queue.
pub(crate) fn jobs(queue: &'static str) -> ConsumerSpec {
    ConsumerSpec { name: queue, stream: Stream::Jobs, queue: Some(queue), ..events(queue) }
}

pub(crate) fn with_lease(mut spec: ConsumerSpec, lease: Duration) -> ConsumerSpec {
    spec.lease = lease;
    spec
}

pub(crate) fn message(subject: &str, id: &str) -> Outgoing {
    let payload = format!(r#"{{"id":"{id}","text":"早安 “{id}”"}}"#);
    Outgoing {
        subject: subject.to_owned(),
        id: id.to_owned(),
        payload: payload.into(),
        trace: None,
    }
}

pub(crate) fn event(id: impl AsRef<str>) -> Outgoing {
    message("event.line.7", id.as_ref())
}

pub(crate) async fn publish(bus: &Bus, ids: &[&str]) {
    bus.publish(ids.iter().map(event).collect()).await.unwrap();
}

/// Publishes that many events at once, `e0` first.
pub(crate) async fn publish_many(bus: &Bus, count: usize) {
    bus.publish((0..count).map(|n| event(format!("e{n}"))).collect()).await.unwrap();
}

/// Fetches until there are `count` messages.
pub(crate) async fn gather(consumer: &mut Consumer, count: usize) -> Vec<Delivery> {
    let deadline = Instant::now() + TIMEOUT;
    let mut all = Vec::new();
    while all.len() < count {
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "only {} of {count} messages: {:?}", all.len(), ids(&all));
        all.extend(consumer.fetch(count - all.len(), left).await.unwrap());
    }
    all
}

/// Returns the one message that must come.
pub(crate) async fn one(consumer: &mut Consumer) -> Delivery {
    gather(consumer, 1).await.remove(0)
}

/// Asserts that no message comes for a while.
pub(crate) async fn nothing(consumer: &mut Consumer) {
    let come = consumer.fetch(10, WATCH).await.unwrap();
    assert!(come.is_empty(), "unexpected: {:?}", ids(&come));
}

pub(crate) async fn ack_all(deliveries: Vec<Delivery>) {
    for delivery in deliveries {
        delivery.ack().await.unwrap();
    }
}

pub(crate) fn ids(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| delivery.id.as_str()).collect()
}

pub(crate) fn set(deliveries: &[Delivery]) -> BTreeSet<String> {
    deliveries.iter().map(|delivery| delivery.id.clone()).collect()
}

/// Waits until the consumer has that many pending messages.
pub(crate) async fn until_backlog(bus: &Bus, spec: &ConsumerSpec, expected: u64) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let backlog = bus.backlog(spec).await.unwrap();
        if backlog == expected {
            return;
        }
        assert!(Instant::now() < deadline, "the backlog stays at {backlog}, not {expected}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
