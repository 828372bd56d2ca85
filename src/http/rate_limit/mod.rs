//! Rate limits: a token bucket for each key, session or address, shared by all processes that serve
//! the API.
//!
//! Each process decides by itself, without asking the others, and broadcasts its grants to them
//! (see [`chatkeep_bus::pubsub`]); they charge these to their own buckets, which may so go into
//! debt. So a caller who spreads over many processes gets a little more at first and less after
//! that, and over a minute about the rate of a single process.

pub mod address;
mod bucket;
mod gate;
mod grant_broadcast;
mod table;

use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::Bus;
use chatkeep_core::config::RateLimitConfig;
use chatkeep_core::time::SharedClock;
use chatkeep_workers::log_failure;
use chatkeep_workers::supervisor::Supervisor;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

pub use address::Address;
use bucket::Rate;
pub use bucket::RateDecision;
pub use gate::{AdmittedRequest, Lookup, RateLimitGate, RequestClass};
use grant_broadcast::PeerId;
use table::{CallerHash, Table};

/// Topic of broadcast grants.
const TOPIC: &str = "limit";
/// Topic of broadcast grants to users, over all their keys.
const USER_TOPIC: &str = "limit_user";
/// Topics of the same grants for pictures and files of pages.
const FILE_TOPIC: &str = "limit_file";
const FILE_USER_TOPIC: &str = "limit_file_user";

/// Interval in which grants are collected before the broadcast.
const BROADCAST_INTERVAL: Duration = Duration::from_millis(100);

/// Grants to one caller since the last broadcast, as a divisor of the burst, that make the next one
/// urgent.
const SHARE: u32 = 16;

/// Minimum interval between two broadcasts, however fast the callers are.
const PAUSE: Duration = Duration::from_millis(5);

/// Rate limiter. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Limiter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Buckets; `None`: no limit.
    table: Option<Table>,
    clock: SharedClock,
    /// Id of this process for the others; `None` when there are no others.
    peer: Option<PeerId>,
    /// Signalled when there are grants to broadcast.
    fresh: Notify,
    /// Signalled when the broadcast is urgent.
    urgent: Notify,
    /// Grants to one caller that make the broadcast urgent.
    share: u32,
    topic: &'static str,
}

impl Limiter {
    /// Creates a limit that all processes on the bus share. Their broadcasts are handled
    /// until `supervisor` stops.
    pub fn new(
        config: RateLimitConfig,
        bus: Bus,
        clock: SharedClock,
        supervisor: &Supervisor,
    ) -> Self {
        Self::on_topic(config, TOPIC, bus, clock, supervisor)
    }

    /// Creates the same under `topic`.
    fn on_topic(
        config: RateLimitConfig,
        topic: &'static str,
        bus: Bus,
        clock: SharedClock,
        supervisor: &Supervisor,
    ) -> Self {
        let mut peer = PeerId::default();
        let limiter = match getrandom::fill(&mut peer) {
            Ok(()) => Self::build(config, topic, clock, Some(peer)),
            Err(error) => {
                warn!(%error, "no random number: rate limits are not shared with other processes");
                Self::build(config, topic, clock, None)
            }
        };
        if limiter.0.table.is_some() && limiter.0.peer.is_some() {
            let (own, own_bus) = (limiter.clone(), bus.clone());
            supervisor.run(format!("grants_sent:{topic}"), move |stop| {
                own.clone().broadcast(own_bus.clone(), stop)
            });
            let own = limiter.clone();
            supervisor.run(format!("grants_received:{topic}"), move |stop| {
                own.clone().listen(bus.clone(), stop)
            });
        }
        limiter
    }

    /// Creates a limit for this process alone.
    pub fn alone(config: RateLimitConfig, clock: SharedClock) -> Self {
        Self::build(config, TOPIC, clock, None)
    }

    fn build(
        config: RateLimitConfig,
        topic: &'static str,
        clock: SharedClock,
        peer: Option<PeerId>,
    ) -> Self {
        let rate = Rate::new(config);
        Self(Arc::new(Inner {
            table: rate.map(Table::new),
            clock,
            peer,
            fresh: Notify::new(),
            urgent: Notify::new(),
            share: rate.map_or(1, |rate| (rate.burst() / SHARE).max(1)),
            topic,
        }))
    }

    /// Takes one request of `caller`. Where callers are of several kinds, the name begins with its
    /// kind (`secret:…`, `address:…`), so that kinds never share a bucket. Never waits.
    pub fn take(&self, caller: &str) -> RateDecision {
        self.take_bytes(caller.as_bytes())
    }

    /// Does the same for a name that is no text.
    fn take_bytes(&self, caller: &[u8]) -> RateDecision {
        let Some(table) = &self.0.table else {
            return RateDecision {
                allowed: true,
                limit: 0,
                remaining: 0,
                reset: 0,
                retry_after: 0,
            };
        };
        let caller = CallerHash::new(caller);
        let verdict = table.take(caller, self.0.clock.now());
        if verdict.allowed && self.0.peer.is_some() {
            let grants = table.note(caller);
            self.0.fresh.notify_one();
            if grants >= self.0.share {
                self.0.urgent.notify_one();
            }
        }
        verdict
    }

    /// Returns a request that was taken of `caller`. Others may have received the grant already;
    /// they charge one too many then.
    fn give_back(&self, caller: &str) {
        self.give_back_bytes(caller.as_bytes());
    }

    /// Does the same for a name that is no text.
    fn give_back_bytes(&self, caller: &[u8]) {
        if let Some(table) = &self.0.table {
            table.give_back(CallerHash::new(caller), self.0.clock.now());
        }
    }

    /// Broadcasts the grants of this process.
    async fn broadcast(self, bus: Bus, stop: CancellationToken) {
        while stop.run_until_cancelled(self.0.fresh.notified()).await.is_some() {
            tokio::select! {
                () = tokio::time::sleep(BROADCAST_INTERVAL) => {}
                () = self.0.urgent.notified() => {}
                () = stop.cancelled() => {}
            }
            for message in self.take_messages() {
                // Grants that cannot be broadcast now are dropped: later, the tokens have been
                // refilled here, and the others would charge them to a full bucket.
                if let Err(error) = bus.broadcast(self.0.topic, message).await {
                    debug!(%error, "cannot broadcast grants to other processes");
                }
            }
            stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
        }
    }

    fn take_messages(&self) -> Vec<bytes::Bytes> {
        match (&self.0.table, self.0.peer) {
            (Some(table), Some(peer)) => {
                grant_broadcast::encode(peer, &table.take_grants()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Charges the grants of the others.
    async fn listen(self, bus: Bus, stop: CancellationToken) {
        let mut listener = match bus.subscribe(self.0.topic).await {
            Ok(listener) => listener,
            Err(error) => {
                log_failure!(warn, &error, "cannot receive rate limit grants of other processes");
                return;
            }
        };
        while let Some(Some(message)) = stop.run_until_cancelled(listener.next()).await {
            self.charge(&message);
        }
    }

    fn charge(&self, message: &[u8]) {
        let (Some(table), Some((peer, grants))) = (&self.0.table, grant_broadcast::decode(message))
        else {
            return;
        };
        if Some(peer) == self.0.peer {
            return;
        }
        let now = self.0.clock.now();
        for (caller, grants) in grants {
            table.charge(caller, now, grants);
        }
    }
}

#[cfg(test)]
mod tests;
