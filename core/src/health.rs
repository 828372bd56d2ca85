//! Current problems of a process: raised by its parts, shown in `/readyz` and the metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tracing::{debug, info};

use crate::outage::Failure;
use crate::time::{SharedClock, Timestamp};
use crate::{log_reason, metric};

/// A condition that keeps a part of the process from doing its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The part, such as `stage:backup`. At most one problem a part.
    pub part: String,
    /// Description for the operator. Never holds a secret or message text.
    pub reason: String,
    /// Time at which it was first noticed.
    pub since: Timestamp,
}

/// A problem, and whether it was logged as one of its own.
#[derive(Clone, Debug)]
struct Noticed {
    problem: Problem,
    is_logged: bool,
}

/// Current problems of one process. Clones share them.
#[derive(Clone)]
pub struct Health {
    clock: SharedClock,
    problems: Arc<Mutex<BTreeMap<String, Noticed>>>,
}

impl std::fmt::Debug for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Health").field("problems", &*self.lock()).finish_non_exhaustive()
    }
}

impl Health {
    /// Creates the health state of a process without problems.
    pub fn new(clock: SharedClock) -> Self {
        Self { clock, problems: Arc::default() }
    }

    /// Raises a problem of `part`. A problem that is already raised keeps its time and gets the new
    /// reason. `chatkeep_problem{part}` is 1 until [`Health::clear`].
    ///
    /// A problem that the log explains elsewhere, as by an outage, is logged at debug level.
    pub fn raise(&self, part: &str, reason: impl Into<Failure>) {
        let reason = reason.into();
        let mut problems = self.lock();
        let is_logged = problems.get(part).is_some_and(|known| known.is_logged);
        if !is_logged {
            log_reason!(warn, reason, part, "a part of the process has a problem");
        }
        metric::PROBLEM.flag([part.to_owned().into()], true);
        let since = problems.get(part).map_or_else(|| self.clock.now(), |old| old.problem.since);
        let is_logged = is_logged || !reason.is_explained;
        let problem = Problem { part: part.to_owned(), reason: reason.text, since };
        problems.insert(part.to_owned(), Noticed { problem, is_logged });
    }

    /// Clears the problem of `part`.
    pub fn clear(&self, part: &str) {
        let mut problems = self.lock();
        let Some(noticed) = problems.remove(part) else { return };
        // Before somebody raises it anew.
        metric::PROBLEM.flag([part.to_owned().into()], false);
        drop(problems);
        if noticed.is_logged {
            info!(part, "a part of the process works again");
        } else {
            debug!(part, "a part of the process works again");
        }
    }

    /// Returns the current problems by part.
    pub fn problems(&self) -> Vec<Problem> {
        self.lock().values().map(|noticed| noticed.problem.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Noticed>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "health_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::ManualClock;

    #[test]
    fn a_problem_keeps_its_time_until_it_is_cleared() {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(5)));
        let health = Health::new(clock.clone());
        health.raise("stage:backup", "the database is full");
        clock.advance(std::time::Duration::from_secs(1));
        health.raise("stage:backup", "the database is still full");
        let problems = health.problems();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].reason, "the database is still full");
        assert_eq!(problems[0].since, Timestamp::from_millis(5));
        health.clear("stage:backup");
        assert!(health.problems().is_empty());
    }

    #[test]
    fn what_an_outage_explains_is_logged_once_something_else_is_wrong() {
        let health = Health::new(Arc::new(ManualClock::new(Timestamp::from_millis(5))));
        let is_logged = || health.lock()["stage:backup"].is_logged;
        health.raise("stage:backup", Failure { text: "gone".to_owned(), is_explained: true });
        assert!(!is_logged());
        assert_eq!(health.problems()[0].reason, "gone", "readiness tells it all the time");
        health.raise("stage:backup", "permission denied");
        assert!(is_logged());
        health.raise("stage:backup", Failure { text: "gone".to_owned(), is_explained: true });
        assert!(is_logged(), "its end is logged, too");
    }
}
