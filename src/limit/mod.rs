//! How many requests a caller may make: a token bucket for each key, session or address, shared
//! by all processes that serve the API.
//!
//! Each process decides by itself, without asking anybody, and tells the others what it granted
//! (see [`chatkeep_core::bus::talk`]); they charge it to their own buckets, which may so go into
//! debt. So a caller who spreads over many processes gets a little more at first and less after
//! that, and over a minute about what one process alone would give.

pub mod address;
mod bucket;
mod gate;
mod news;
mod table;

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bus::Bus;
use chatkeep_core::config::RateLimitConfig;
use chatkeep_core::log_failure;
use chatkeep_core::time::SharedClock;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

pub use address::Address;
use bucket::Rate;
pub use bucket::Verdict;
pub use gate::{Entry, Gate, Lookup};
use news::Teller;
use table::{Caller, Table};

/// What grants are told under.
const TOPIC: &str = "limit";
/// What grants to users, over all their keys, are told under.
const USER_TOPIC: &str = "limit_user";

/// How long grants gather before they are told.
const GATHER: Duration = Duration::from_millis(100);

/// A caller who got this share of a burst since the last news is worth telling of at once.
const SHARE: u32 = 16;

/// The least time between two news, however hasty the callers are.
const PAUSE: Duration = Duration::from_millis(5);

/// Decides who may make another request. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Limiter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None`: no limit.
    table: Option<Table>,
    clock: SharedClock,
    /// Who this is to the others; `None` when there are no others.
    teller: Option<Teller>,
    /// Grants to be told.
    fresh: Notify,
    /// And soon.
    urgent: Notify,
    /// Grants to one caller that make it urgent.
    share: u32,
    topic: &'static str,
}

impl Limiter {
    /// A limit that all processes on the bus share. What they tell each other is handled until
    /// `stop`.
    pub fn new(
        config: RateLimitConfig,
        bus: Bus,
        clock: SharedClock,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self::on_topic(config, TOPIC, bus, clock, tasks, stop)
    }

    /// The same, told under `topic`.
    fn on_topic(
        config: RateLimitConfig,
        topic: &'static str,
        bus: Bus,
        clock: SharedClock,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let mut teller = Teller::default();
        let limiter = match getrandom::fill(&mut teller) {
            Ok(()) => Self::build(config, topic, clock, Some(teller)),
            Err(error) => {
                warn!(%error, "no random number: this process limits by itself");
                Self::build(config, topic, clock, None)
            }
        };
        if limiter.0.table.is_some() && limiter.0.teller.is_some() {
            tasks.spawn(limiter.clone().tell(bus.clone(), stop.clone()));
            tasks.spawn(limiter.clone().listen(bus, stop));
        }
        limiter
    }

    /// A limit of this process alone.
    pub fn alone(config: RateLimitConfig, clock: SharedClock) -> Self {
        Self::build(config, TOPIC, clock, None)
    }

    fn build(
        config: RateLimitConfig,
        topic: &'static str,
        clock: SharedClock,
        teller: Option<Teller>,
    ) -> Self {
        let rate = Rate::new(config);
        Self(Arc::new(Inner {
            table: rate.map(Table::new),
            clock,
            teller,
            fresh: Notify::new(),
            urgent: Notify::new(),
            share: rate.map_or(1, |rate| (rate.burst() / SHARE).max(1)),
            topic,
        }))
    }

    /// Takes one request of `caller`, whose name says what it is of (`key:…`, `session:…`,
    /// `address:…`), so that kinds never share a bucket. Never waits.
    pub fn take(&self, caller: &str) -> Verdict {
        self.take_bytes(caller.as_bytes())
    }

    /// The same for a name that is no text.
    fn take_bytes(&self, caller: &[u8]) -> Verdict {
        let Some(table) = &self.0.table else {
            return Verdict { allowed: true, limit: 0, remaining: 0, reset: 0, retry_after: 0 };
        };
        let caller = Caller::new(caller);
        let verdict = table.take(caller, self.0.clock.now());
        if verdict.allowed && self.0.teller.is_some() {
            let grants = table.note(caller);
            self.0.fresh.notify_one();
            if grants >= self.0.share {
                self.0.urgent.notify_one();
            }
        }
        verdict
    }

    /// Gives a request back that was taken of `caller`. Others may have heard of it already; they
    /// charge one too many then.
    fn give_back(&self, caller: &str) {
        if let Some(table) = &self.0.table {
            table.give_back(Caller::new(caller.as_bytes()), self.0.clock.now());
        }
    }

    /// Tells the others what was granted here.
    async fn tell(self, bus: Bus, stop: CancellationToken) {
        while stop.run_until_cancelled(self.0.fresh.notified()).await.is_some() {
            tokio::select! {
                () = tokio::time::sleep(GATHER) => {}
                () = self.0.urgent.notified() => {}
                () = stop.cancelled() => {}
            }
            for message in self.news() {
                // What cannot be told now is not told later: by then the tokens have flown back
                // here, and the others would charge them to a full bucket.
                if let Err(error) = bus.tell(self.0.topic, message).await {
                    debug!(%error, "the other processes do not learn of grants");
                }
            }
            stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
        }
    }

    fn news(&self) -> Vec<bytes::Bytes> {
        match (&self.0.table, self.0.teller) {
            (Some(table), Some(teller)) => news::encode(teller, &table.take_news()).collect(),
            _ => Vec::new(),
        }
    }

    /// Charges what the others granted.
    async fn listen(self, bus: Bus, stop: CancellationToken) {
        let mut listener = match bus.listen(self.0.topic).await {
            Ok(listener) => listener,
            Err(error) => {
                log_failure!(warn, &error, "this process does not learn of the others' grants");
                return;
            }
        };
        while let Some(Some(message)) = stop.run_until_cancelled(listener.next()).await {
            self.charge(&message);
        }
    }

    fn charge(&self, message: &[u8]) {
        let (Some(table), Some((teller, news))) = (&self.0.table, news::decode(message)) else {
            return;
        };
        if Some(teller) == self.0.teller {
            return;
        }
        let now = self.0.clock.now();
        for (caller, grants) in news {
            table.charge(caller, now, grants);
        }
    }
}

#[cfg(test)]
mod tests;
