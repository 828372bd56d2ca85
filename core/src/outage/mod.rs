//! Availability of what the process depends on (database, bus, media store, platform, identity
//! provider, search), and its outages in the log: one line when something goes away, with address,
//! setting and error, one when it is back, with how long it was away, and in between nothing above
//! debug.
//!
//! Each dependency has one [`Availability`], which the adapter that talks to it keeps: everything
//! that the dependency answers or fails to answer passes there. Whoever is given the error
//! afterwards hands it to [`log_reason!`](crate::log_reason), which logs it at debug level when
//! it belongs to an outage.

mod failure;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;
use tracing::{debug, info, warn};

pub use failure::Failure;

use crate::{metric, panics};

/// For how long something must answer without a failure before it is said to be back.
const SETTLE: Duration = Duration::from_secs(5);
/// The longest such time. It doubles with each outage that begins soon after the one before.
const MAX_SETTLE: Duration = Duration::from_mins(1);
/// An outage that begins within this time of the one before is taken for the same trouble.
const CALM: Duration = Duration::from_mins(1);
/// Time without a failure after which a dependency that only refused changes counts as available
/// again: perhaps nobody has anything to change.
const UNSURE: Duration = Duration::from_mins(1);

/// Everything that the process depends on, for the metrics.
static DEPENDENCIES: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

/// A kind of work that something fails to do, or does. What takes changes can also be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Answering at all.
    Reading,
    /// Taking changes: a full disk can still be read.
    Writing,
}

/// The availability of one thing that the process depends on. Clones are the same one.
#[derive(Clone)]
pub struct Availability(Arc<Inner>);

struct Inner {
    name: String,
    address: String,
    setting: String,
    /// An outage is open: its end has not been logged.
    troubled: AtomicBool,
    /// The process closed the dependency itself.
    closed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    outage: Option<Outage>,
    /// Time at which the end of the last outage was logged, and its settling time.
    last: Option<(Instant, Duration)>,
}

#[derive(Debug)]
struct Outage {
    since: Instant,
    failed_at: Instant,
    /// The most demanding work that failed.
    work: Work,
    /// Since when it answers again without a failure.
    back_since: Option<Instant>,
    settle: Duration,
}

impl fmt::Debug for Availability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { name, address, .. } = &*self.0;
        f.debug_struct("Availability").field("name", name).field("address", address).finish()
    }
}

impl Availability {
    /// Creates the availability of a dependency: its name as an operator calls it (`database`), its
    /// address without credentials, and the setting that names it.
    pub fn new(
        name: impl Into<String>,
        address: impl Into<String>,
        setting: impl Into<String>,
    ) -> Self {
        let this = Arc::new(Inner {
            name: name.into(),
            address: address.into(),
            setting: setting.into(),
            troubled: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            state: Mutex::default(),
        });
        let mut dependencies = DEPENDENCIES.lock().unwrap_or_else(PoisonError::into_inner);
        dependencies.retain(|one| one.strong_count() > 0);
        dependencies.push(Arc::downgrade(&this));
        Self(this)
    }

    /// Notes that it failed to do `work`, and why. The first failure of an outage is logged as a
    /// warning.
    pub fn fails(&self, work: Work, error: &str) {
        if self.0.closed.load(Ordering::Acquire) {
            return;
        }
        let now = Instant::now();
        let Inner { name, address, setting, troubled, .. } = &*self.0;
        let mut state = self.lock();
        if let Some(outage) = &mut state.outage {
            outage.failed_at = now;
            outage.work = outage.work.max(work);
            outage.back_since = None;
            debug!(address, error, "the {name} is still unavailable");
        } else {
            let settle = state.settle(now);
            let (since, failed_at, back_since) = (now, now, None);
            state.outage = Some(Outage { since, failed_at, work, back_since, settle });
            troubled.store(true, Ordering::Release);
            warn!(address, setting, error, "the {name} is unavailable");
        }
        self.show(false);
    }

    /// Notes that it did `work`. Logged once it has gone on for some seconds, after an outage.
    pub fn works(&self, work: Work) {
        // The usual case costs next to nothing.
        if !self.0.troubled.load(Ordering::Acquire) {
            return;
        }
        let now = Instant::now();
        let mut state = self.lock();
        let Some(outage) = &mut state.outage else { return };
        let doubtful = work < outage.work && now - outage.failed_at < UNSURE;
        if outage.back_since.is_some() || doubtful {
            return;
        }
        outage.back_since = Some(now);
        let settle = outage.settle;
        self.show(true);
        match Handle::try_current() {
            Ok(runtime) => {
                let this = self.clone();
                panics::spawn_on(&runtime, "availability", async move {
                    tokio::time::sleep_until(now + settle).await;
                    this.settle(now);
                });
            }
            Err(_no_runtime) => {
                drop(state);
                self.settle(now);
            }
        }
    }

    /// Ends the outage unless it failed again after `back_since`.
    fn settle(&self, back_since: Instant) {
        let mut state = self.lock();
        let Some(outage) = state.outage.take_if(|outage| outage.back_since == Some(back_since))
        else {
            return;
        };
        self.0.troubled.store(false, Ordering::Release);
        state.last = Some((Instant::now(), outage.settle));
        let away = back_since - outage.since;
        let away_ms = u64::try_from(away.as_millis()).unwrap_or(u64::MAX);
        if !self.0.closed.load(Ordering::Acquire) {
            let Inner { name, address, .. } = &*self.0;
            info!(address, away_ms, "the {name} is available again");
        }
    }

    /// Returns its address, without credentials.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// Returns whether it did not answer when it was last asked.
    pub fn is_away(&self) -> bool {
        self.0.troubled.load(Ordering::Acquire)
            && self.lock().outage.as_ref().is_some_and(|outage| outage.back_since.is_none())
    }

    /// Returns whether there is an outage that has not been said to be over: what needs it may not
    /// have found its way back yet.
    pub fn is_troubled(&self) -> bool {
        self.0.troubled.load(Ordering::Acquire)
    }

    /// Ignores later failures, because the process is closing the dependency.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
    }

    fn show(&self, up: bool) {
        let labels = [self.0.name.clone().into(), self.0.address.clone().into()];
        metric::DEPENDENCY_UP.flag(labels, up);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets `chatkeep_dependency_up` of everything that the process depends on, as it is now.
pub fn show_all() {
    let dependencies = DEPENDENCIES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for availability in dependencies.iter().filter_map(Weak::upgrade).map(Availability) {
        availability.show(!availability.is_away());
    }
}

impl State {
    /// Returns how long an outage that begins now has to settle.
    fn settle(&self, now: Instant) -> Duration {
        match self.last {
            Some((ended, settle)) if now - ended < CALM => (settle * 2).min(MAX_SETTLE),
            _ => SETTLE,
        }
    }
}

#[cfg(test)]
mod edge_tests;
#[cfg(test)]
mod tests;
