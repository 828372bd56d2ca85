//! Waits of a stage for its dependencies. A long wait is a problem of the process: shown in
//! `/readyz`, in the metrics and in the log until it is over.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chatkeep_core::health::Health;
use tokio::time::Instant;

/// Waits of one stage.
#[derive(Debug)]
pub(super) struct Waits {
    health: Health,
    part: String,
    /// Duration from which a wait is a problem.
    long: Duration,
    /// Number of waits that are a problem now.
    late: Mutex<usize>,
}

/// One wait, or the time before it begins. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Wait<'a> {
    waits: &'a Waits,
    since: Option<Instant>,
    late: bool,
}

impl Waits {
    pub(super) fn new(health: Health, stage: &str, long: Duration) -> Self {
        Self { health, part: format!("stage:{stage}"), long, late: Mutex::new(0) }
    }

    pub(super) const fn watch(&self) -> Wait<'_> {
        Wait { waits: self, since: None, late: false }
    }

    /// Counts one more or one less; the problem is raised as long as any wait is late. Both happen
    /// under one lock, so that no problem stays behind.
    fn count(&self, add: bool, reason: &str) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        *late = if add { *late + 1 } else { late.saturating_sub(1) };
        if add {
            self.health.raise(&self.part, reason);
        } else if *late == 0 {
            self.health.clear(&self.part);
        }
    }
}

impl Wait<'_> {
    /// Records that it waits, since the first of these calls.
    pub(super) fn goes_on(&mut self, reason: &str) {
        let since = *self.since.get_or_insert_with(Instant::now);
        if !self.late && since.elapsed() >= self.waits.long {
            self.late = true;
            self.waits.count(true, &format!("waiting: {reason}"));
        }
    }

    /// Records that the wait is over.
    pub(super) fn is_over(&mut self) {
        self.since = None;
        if std::mem::take(&mut self.late) {
            self.waits.count(false, "");
        }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.is_over();
    }
}
