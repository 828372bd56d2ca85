//! Bus on NATS JetStream, for many processes. Needs nats-server 2.10 or later; runs with 2.9, which
//! may lose acknowledged events when it is stopped.
//!
//! `EVENTS` retains a message until every consumer has acknowledged it, `JOBS` until its one
//! consumer has, `DEAD` until someone decides. This process can set up again what it has set up
//! when a server comes back empty (`topology`).

mod connect;
mod consumer;
mod consumers;
mod dead;
mod owner;
mod publish;
mod pubsub;
mod refusal;
mod size;
mod topology;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State;
use async_nats::jetstream::Context;
use async_recursion::async_recursion as boxed;
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;
use tracing::warn;

use self::connect::Credentials;
pub use self::consumer::{NatsConsumer, NatsLease};
pub(super) use self::pubsub::{NatsReply, Requests};
use self::refusal::LastRefusal;
use super::{BusError, BusLimits, ConsumerSpec, DeadLetter, Outgoing};
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::public;
use chatkeep_core::outage::Availability;
use chatkeep_core::time::SharedClock;

/// Timeout for a confirmation; then the bus counts as unavailable.
const CONFIRM: Duration = Duration::from_secs(5);

/// Timeout for the round trip of the readiness check.
const READY: Duration = Duration::from_secs(2);

/// Header with the only consumer of a message, when it is for one alone.
const ONLY: &str = "Chatkeep-Only";

/// Header with the message's own id, where `Nats-Msg-Id` must be another.
const ID: &str = "Chatkeep-Id";

/// Bus on NATS JetStream. Cheap to clone.
#[derive(Clone)]
pub struct NatsBus {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    credentials: Credentials,
    context: Context,
    /// State of the connection, to end waits early.
    connected: watch::Receiver<bool>,
    replicas: usize,
    limits: BusLimits,
    clock: SharedClock,
    /// Consumers that this process has requested; locked while streams are set up.
    specs: Mutex<Vec<ConsumerSpec>>,
    closed: AtomicBool,
    /// Text of the owner that this process has claimed the streams for.
    owner: std::sync::Mutex<Option<String>>,
    /// Whose the streams are, while they are not this process's.
    foreign: std::sync::Mutex<Option<&'static str>>,
    availability: Availability,
    refused: LastRefusal,
}

/// Omits the connection, whose options hold credentials.
impl fmt::Debug for NatsBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsBus").finish_non_exhaustive()
    }
}

impl NatsBus {
    /// Connects to `nats://[user:password@|token@]host[:port][,host[:port]…]` with one copy of
    /// each stream.
    ///
    /// # Errors
    /// [`BusError::Config`] for an invalid address, [`BusError::Unavailable`] when no server
    /// responds within five seconds, or the streams cannot be set up within half a minute. Once
    /// connected, outages heal by themselves.
    #[boxed]
    pub async fn connect(
        servers: &str,
        limits: BusLimits,
        clock: SharedClock,
    ) -> Result<Self, BusError> {
        Self::connect_replicated(servers, 1, limits, clock).await
    }

    /// Like [`NatsBus::connect`], with `replicas` copies of each stream (a cluster's 3 or 5).
    ///
    /// # Errors
    /// As [`NatsBus::connect`].
    #[boxed]
    pub async fn connect_replicated(
        servers: &str,
        replicas: usize,
        limits: BusLimits,
        clock: SharedClock,
    ) -> Result<Self, BusError> {
        let bus = Self::open(servers, replicas, limits, clock).await?;
        let server = bus.inner.client.server_info();
        if replicas == 1 && server.connect_urls.len() > 1 {
            warn!(
                "each event is on one server of this NATS cluster only, and is lost with its disk: \
                 set bus_limits.replicas (CHATKEEP_BUS_LIMITS_REPLICAS) to 3 or 5"
            );
        }
        if drops_on_stop(&server.version) {
            warn!(
                server = server.version,
                "this nats-server loses events that it acknowledges while it is stopped or restarted: \
                 use 2.10 or later, or stop chatkeep before it"
            );
        }
        if replicas > 1 && replicates_badly(&server.version) {
            warn!(
                server = server.version,
                "this nats-server may lose acknowledged events when one of the cluster crashes: \
                 replicas need 2.10 or later"
            );
        }
        bus.set_up_streams().await?;
        Ok(bus)
    }

    /// Connects to a bus that another process has set up, without changing it.
    ///
    /// # Errors
    /// [`BusError::Missing`] when no process has, else as [`NatsBus::connect`].
    #[boxed]
    pub async fn attach(
        servers: &str,
        limits: BusLimits,
        clock: SharedClock,
    ) -> Result<Self, BusError> {
        let bus = Self::open(servers, 1, limits, clock).await?;
        if !bus.confirmed(bus.is_set_up()).await? {
            return Err(BusError::Missing("on this NATS server".into()));
        }
        Ok(bus)
    }

    async fn open(
        servers: &str,
        replicas: usize,
        limits: BusLimits,
        clock: SharedClock,
    ) -> Result<Self, BusError> {
        let availability = Availability::new("bus", public(servers), "CHATKEEP_BUS");
        let credentials = Credentials::default();
        let (client, context, connected) =
            connect::connect(servers, &credentials, &availability).await?;
        let inner = Inner {
            client,
            credentials,
            context,
            connected,
            replicas,
            limits,
            clock,
            specs: Mutex::default(),
            closed: AtomicBool::new(false),
            owner: std::sync::Mutex::default(),
            foreign: std::sync::Mutex::default(),
            availability,
            refused: LastRefusal::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(super) fn replace_credentials(&self, servers: &str) -> Result<(), BusError> {
        self.inner.credentials.replace(servers)
    }

    pub(super) fn availability(&self) -> &Availability {
        &self.inner.availability
    }

    pub(super) async fn publish(&self, messages: Vec<Outgoing>) -> Result<(), BusError> {
        self.publish_all(&messages).await
    }

    pub(super) async fn ensure(&self, spec: &ConsumerSpec) -> Result<(), BusError> {
        self.set_up_consumer(spec).await.map(drop)
    }

    pub(super) async fn consume(&self, spec: &ConsumerSpec) -> Result<NatsConsumer, BusError> {
        let consumer = self.set_up_consumer(spec).await?;
        NatsConsumer::new(self.clone(), spec.name, consumer).await
    }

    pub(super) async fn ready(&self) -> Result<(), BusError> {
        self.check()?;
        match timeout(READY, self.is_set_up()).await {
            // A server whose disk is full answers as if nothing were.
            Ok(Ok(true)) => self.inner.refused.check(),
            // A server that came back empty is usable again as soon as it is set up.
            Ok(Ok(false)) => self.set_up_again().await,
            Ok(Err(error)) => Err(error),
            Err(_) => Err(BusError::Unavailable("JetStream does not respond".into())),
        }
    }

    pub(super) async fn backlog(&self, spec: &ConsumerSpec) -> Result<u64, BusError> {
        self.check()?;
        let consumer = self.consumer_info(spec).await?;
        Ok(consumer.num_pending + consumer.num_ack_pending as u64)
    }

    pub(super) async fn dead_letters(
        &self,
        consumer: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, BusError> {
        // No letter has a non-numeric id, so an unparsable cursor means "from the start".
        let after = after.and_then(|id| id.parse().ok()).unwrap_or(0);
        self.list_dead(consumer, after, limit).await
    }

    pub(super) async fn count_dead_letters(&self) -> Result<u64, BusError> {
        self.count_dead().await
    }

    pub(super) async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, BusError> {
        match id.parse() {
            Ok(seq) => self.find_dead(seq).await,
            Err(_) => Ok(None),
        }
    }

    pub(super) async fn retry_dead_letter(&self, id: &str) -> Result<bool, BusError> {
        match id.parse() {
            Ok(seq) => self.revive(seq).await,
            Err(_) => Ok(false),
        }
    }

    pub(super) async fn drop_dead_letter(&self, id: &str) -> Result<bool, BusError> {
        match id.parse() {
            Ok(seq) => self.delete_dead(seq).await,
            Err(_) => Ok(false),
        }
    }

    pub(super) async fn close(&self) {
        self.inner.closed.store(true, Ordering::Release);
        // Acknowledgements still on their way; without a connection there is nothing to wait for.
        if self.inner.client.connection_state() == State::Connected {
            timeout(READY, self.inner.client.flush()).await.ok();
        }
        self.inner.client.drain().await.ok();
    }

    /// Checks that a connection stands; without one the client would queue the message and the
    /// caller would not know.
    fn check(&self) -> Result<(), BusError> {
        self.check_owner()?;
        self.check_connection()
    }

    fn check_connection(&self) -> Result<(), BusError> {
        self.check_open()?;
        match self.inner.client.connection_state() {
            State::Connected => Ok(()),
            State::Pending | State::Disconnected => Err(disconnected()),
        }
    }

    fn check_open(&self) -> Result<(), BusError> {
        if self.inner.closed.load(Ordering::Acquire) {
            return Err(BusError::Unavailable("the bus is closed".into()));
        }
        Ok(())
    }

    /// Runs `work` until it is done, the connection breaks or the timeout [`CONFIRM`] is over.
    fn confirmed<T>(
        &self,
        work: impl Future<Output = Result<T, BusError>>,
    ) -> impl Future<Output = Result<T, BusError>> {
        self.confirmed_within(CONFIRM, work)
    }

    /// Like [`NatsBus::confirmed`], with another timeout.
    async fn confirmed_within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, BusError>>,
    ) -> Result<T, BusError> {
        self.check()?;
        let mut connected = self.inner.connected.clone();
        tokio::select! {
            result = timeout(limit, work) => result
                .unwrap_or_else(|_| Err(BusError::Unavailable("no confirmation in time".into()))),
            _ = connected.wait_for(|connected| !connected) => Err(disconnected()),
        }
    }
}

/// Returns `true` for the versions of nats-server whose replicas of a consumer do not agree on what was
/// acknowledged after one of them was killed (seen with 2.9.10, and not with 2.10.25).
fn replicates_badly(version: &str) -> bool {
    is_before(version, [2, 10, 0])
}

/// Returns `true` for the versions of nats-server that, while they stop in order, forget the consumers
/// of a stream before they stop taking messages: with interest retention these are acknowledged and
/// dropped, and stored ones are deleted once one consumer has acknowledged them (seen with 2.9.10, and
/// not with 2.10.26; mended in 2.9.16).
fn drops_on_stop(version: &str) -> bool {
    is_before(version, [2, 9, 16])
}

/// Returns whether a version is known, and earlier than that one; a pre-release counts as its release.
fn is_before(version: &str, release: [u32; 3]) -> bool {
    let version = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Result<Vec<u32>, _> = version.split('.').map(str::parse).collect();
    numbers.is_ok_and(|numbers| numbers.as_slice() < release.as_slice())
}

fn disconnected() -> BusError {
    BusError::Unavailable("not connected to NATS".into())
}

/// Converts any failure of a request, with the causes in one line.
fn unavailable(error: &(dyn std::error::Error + 'static)) -> BusError {
    BusError::Unavailable(with_causes(error))
}

#[cfg(test)]
mod tests {
    use super::{drops_on_stop, replicates_badly};

    #[test]
    fn servers_with_faults_are_told_from_later_ones() {
        for (version, badly, drops) in [
            ("2.9.10", true, true),
            ("2.9.15", true, true),
            ("2.9.16", true, false),
            ("2.9.25", true, false),
            ("1.4.1", true, true),
            ("2.10.0", false, false),
            ("2.15.1", false, false),
            ("3.0.0", false, false),
            ("2.10.0-beta.1", false, false),
            ("", false, false),
            ("unknown", false, false),
        ] {
            assert_eq!(replicates_badly(version), badly, "{version}");
            assert_eq!(drops_on_stop(version), drops, "{version}");
        }
    }
}
