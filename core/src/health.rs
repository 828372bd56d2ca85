//! Current problems of a process: raised by its parts, shown in `/readyz` and the metrics.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tracing::{info, warn};

use crate::metric;
use crate::time::{SharedClock, Timestamp};

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

/// Current problems of one process. Clones share them.
#[derive(Clone)]
pub struct Health {
    clock: SharedClock,
    problems: Arc<Mutex<BTreeMap<String, Problem>>>,
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
    pub fn raise(&self, part: &str, reason: impl Into<String>) {
        let reason = reason.into();
        let mut problems = self.lock();
        if let Some(known) = problems.get_mut(part) {
            known.reason = reason;
            return;
        }
        warn!(part, reason, "a part of the process has a problem");
        metric::PROBLEM.flag([part.to_owned().into()], true);
        let since = self.clock.now();
        problems.insert(part.to_owned(), Problem { part: part.to_owned(), reason, since });
    }

    /// Clears the problem of `part`.
    pub fn clear(&self, part: &str) {
        if self.lock().remove(part).is_some() {
            info!(part, "a part of the process works again");
            metric::PROBLEM.flag([part.to_owned().into()], false);
        }
    }

    /// Returns the current problems by part.
    pub fn problems(&self) -> Vec<Problem> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Problem>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
}
