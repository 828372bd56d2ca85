//! Periodic maintenance of a process: presence of the ingress, removal of old rows.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::log_failure;
use chatkeep_core::store::{Store, StoreError};
use chatkeep_core::time::{SharedClock, Timestamp};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

/// Interval between presence records of an ingress; a few missed ones are no outage yet.
const BEAT: Duration = Duration::from_secs(30);
/// Interval between purges of old rows.
const PURGE: Duration = Duration::from_mins(10);
/// Interval between sweeps of replies that a dead process left behind.
const SWEEP: Duration = Duration::from_mins(1);
/// Interval between checks for expired keys, whose webhooks end with them.
const END: Duration = Duration::from_secs(30);
/// Maximum number of keys removed in one transaction.
const KEYS: u32 = 500;
/// Retention of replies: longer than a backtest looks back, and than any platform delivers an event
/// again.
const REPLIES: Duration = Duration::from_hours(24 * 400);
/// Retention of usage notices.
const NOTICES: Duration = Duration::from_hours(24 * 400);
/// Retention of membership checks with the platform, twice the interval between two of a person.
const CHECKS: Duration = Duration::from_hours(48);
/// Age after which a reply that is still being sent counts as abandoned.
const ABANDONED: Duration = Duration::from_mins(5);

/// Interval between writes of the last use of keys and sessions.
const WRITE_USES: Duration = Duration::from_secs(5);

/// Maintenance tasks, run until the process stops.
#[derive(Debug)]
pub(crate) struct Maintenance<'a> {
    pub(crate) store: &'a Store,
    pub(crate) clock: &'a SharedClock,
    pub(crate) tasks: &'a TaskTracker,
    pub(crate) stop: &'a CancellationToken,
}

impl Maintenance<'_> {
    /// Records the presence of an ingress: the time between two records counts as covered.
    pub(crate) fn beat(&self) {
        self.every(BEAT, "cannot record the presence of the ingress", |store, now| async move {
            store.record_alive(now).await
        });
    }

    /// Purges old responses to requests with idempotency keys.
    pub(crate) fn purge_answers(&self) {
        self.every(PURGE, "cannot purge old responses", |store, now| async move {
            while store.purge_idempotency(now).await? > 0 {}
            Ok(())
        });
    }

    /// Writes the last use of keys and sessions; once more before the process ends.
    pub(crate) fn write_uses(&self) {
        let (store, stop) = (self.store.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            let mut due = tokio::time::interval(WRITE_USES);
            loop {
                let running = stop.run_until_cancelled(due.tick()).await.is_some();
                if let Err(error) = store.write_uses().await {
                    log_failure!(warn, &error, "cannot store the last use of keys and sessions");
                }
                if !running {
                    return;
                }
            }
        });
    }

    /// Purges outbox events older than `age`.
    pub(crate) fn purge_outbox_events(&self, age: Duration) {
        self.every(PURGE, "cannot purge old events", move |store, now| async move {
            while store.purge_outbox_events(earlier(now, age)).await? > 0 {}
            Ok(())
        });
    }

    /// Disables webhooks whose key expired.
    pub(crate) fn end_webhooks(&self) {
        self.every(END, "cannot find webhooks of expired keys", |store, now| async move {
            loop {
                let ended = store.end_webhooks(now).await?;
                if ended.is_empty() {
                    return Ok(());
                }
                info!(?ended, "webhooks disabled: their keys expired");
            }
        });
    }

    /// Purges temporary rows: expired keys, replies, notices, membership checks.
    pub(crate) fn purge_rows(&self) {
        self.every(PURGE, "cannot purge old rows", |store, now| async move {
            while store.purge_keys(KEYS, now).await? > 0 {}
            while store.purge_replies(earlier(now, REPLIES)).await? > 0 {}
            while store.purge_notices(earlier(now, NOTICES)).await? > 0 {}
            while store.purge_membership_checks(earlier(now, CHECKS)).await? > 0 {}
            Ok(())
        });
    }

    /// Sweeps replies that a dead process left behind.
    pub(crate) fn sweep_replies(&self) {
        self.every(SWEEP, "cannot find interrupted replies", |store, now| async move {
            let replies = store.interrupt_replies(earlier(now, ABANDONED), now).await?;
            if replies > 0 {
                info!(replies, "marked replies that a crash had interrupted");
            }
            Ok(())
        });
    }

    /// Checkpoints the WAL of an embedded database, which removes deleted content from its files.
    pub(crate) fn checkpoint_wal(&self) {
        self.every(SWEEP, "cannot checkpoint the database", |store, _| async move {
            store.checkpoint_wal().await
        });
    }

    fn every<Work, Done>(&self, period: Duration, failed: &'static str, work: Work)
    where
        Work: Fn(Store, Timestamp) -> Done + Send + 'static,
        Done: Future<Output = Result<(), StoreError>> + Send,
    {
        let (store, clock) = (self.store.clone(), Arc::clone(self.clock));
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let mut due = tokio::time::interval(period);
            while stop.run_until_cancelled(due.tick()).await.is_some() {
                if let Err(error) = work(store.clone(), clock.now()).await {
                    log_failure!(warn, &error, "{failed}");
                }
            }
        });
    }
}

fn earlier(now: Timestamp, age: Duration) -> Timestamp {
    Timestamp::from_millis(now.millis() - i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}
