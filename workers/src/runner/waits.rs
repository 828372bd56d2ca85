//! Waits of a stage for its dependencies. A long wait is a problem of the process: shown in
//! `/readyz`, in the metrics and in the log until it is over.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chatkeep_core::health::Health;
use chatkeep_core::outage::Failure;
use tokio::time::Instant;

/// Waits of one stage.
#[derive(Debug)]
pub(super) struct DependencyWaits {
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
    waits: &'a DependencyWaits,
    since: Option<Instant>,
    late: bool,
}

impl DependencyWaits {
    pub(super) fn new(health: Health, stage: &str, long: Duration) -> Self {
        Self { health, part: format!("stage:{stage}"), long, late: Mutex::new(0) }
    }

    pub(super) const fn watch(&self) -> Wait<'_> {
        Wait { waits: self, since: None, late: false }
    }

    /// Counts one more or one less; the problem is raised as long as any wait is late. Both happen
    /// under one lock, so that no problem stays behind.
    fn count(&self, add: Option<Failure>) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        *late = if add.is_some() { *late + 1 } else { late.saturating_sub(1) };
        if let Some(failure) = add {
            self.health.raise(&self.part, failure);
        } else if *late == 0 {
            self.health.clear(&self.part);
        }
    }
}

impl Wait<'_> {
    /// Records that it waits, since the first of these calls.
    pub(super) fn goes_on(&mut self, failure: &Failure) {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < self.waits.long {
            return;
        }
        let Failure { text, is_explained } = failure;
        let failure = Failure { text: format!("waiting: {text}"), is_explained: *is_explained };
        if std::mem::replace(&mut self.late, true) {
            // What it waits for may be another thing by now.
            self.waits.health.raise(&self.waits.part, failure);
        } else {
            self.waits.count(Some(failure));
        }
    }

    /// Records that the wait is over.
    pub(super) fn is_over(&mut self) {
        self.since = None;
        if std::mem::take(&mut self.late) {
            self.waits.count(None);
        }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.is_over();
    }
}
