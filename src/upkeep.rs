//! What a process does on the side: saying that it is alive, removing what is too old.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::log_failure;
use chatkeep_core::store::{Store, StoreError};
use chatkeep_core::time::{SharedClock, Timestamp};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

/// How often an ingress says that it takes events; a few missed times are no outage yet.
const BEAT: Duration = Duration::from_secs(30);
/// How often old rows are looked for.
const PURGE: Duration = Duration::from_mins(10);
/// How often replies that a dead process left behind are looked for.
const SWEEP: Duration = Duration::from_mins(1);
/// How often it is looked for keys that ended, whose webhooks end with them.
const END: Duration = Duration::from_secs(30);
/// Keys removed in one transaction.
const KEYS: u32 = 500;
/// What was replied is known for so long: longer than a backtest looks back, and than any platform
/// delivers an event again.
const REPLIES: Duration = Duration::from_hours(24 * 400);
/// Usage notices are known for so long.
const NOTICES: Duration = Duration::from_hours(24 * 400);
/// That the platform was asked about a person is known for so long, twice the time after which it
/// is asked again.
const CHECKS: Duration = Duration::from_hours(48);
/// A reply that has been going out for longer than this will never be finished.
const ABANDONED: Duration = Duration::from_mins(5);

/// How often it is written when keys and sessions were used.
const WRITE_USES: Duration = Duration::from_secs(5);

/// Runs such tasks until the process stops.
#[derive(Debug)]
pub(crate) struct Upkeep<'a> {
    pub(crate) store: &'a Store,
    pub(crate) clock: &'a SharedClock,
    pub(crate) tasks: &'a TaskTracker,
    pub(crate) stop: &'a CancellationToken,
}

impl Upkeep<'_> {
    /// An ingress: what passes between two of its beats is known to be covered.
    pub(crate) fn beat(&self) {
        self.every(BEAT, "cannot say that events are taken", |store, now| async move {
            store.beat(now).await
        });
    }

    /// Answers to repeated requests that are too old.
    pub(crate) fn purge_answers(&self) {
        self.every(PURGE, "cannot remove old answers", |store, now| async move {
            while store.purge_idempotency(now).await? > 0 {}
            Ok(())
        });
    }

    /// When keys and sessions were used; once more before the process ends.
    pub(crate) fn write_uses(&self) {
        let (store, stop) = (self.store.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            let mut due = tokio::time::interval(WRITE_USES);
            loop {
                let running = stop.run_until_cancelled(due.tick()).await.is_some();
                if let Err(error) = store.write_uses().await {
                    log_failure!(warn, &error, "cannot write when keys and sessions were used");
                }
                if !running {
                    return;
                }
            }
        });
    }

    /// What happened longer than `age` ago.
    pub(crate) fn purge_happenings(&self, age: Duration) {
        self.every(PURGE, "cannot remove old happenings", move |store, now| async move {
            while store.purge_happenings(earlier(now, age)).await? > 0 {}
            Ok(())
        });
    }

    /// Webhooks whose key ended.
    pub(crate) fn end_webhooks(&self) {
        self.every(END, "cannot look for webhooks whose key ended", |store, now| async move {
            loop {
                let ended = store.end_webhooks(now).await?;
                if ended.is_empty() {
                    return Ok(());
                }
                info!(?ended, "webhooks were disabled: their keys ended");
            }
        });
    }

    /// Rows that only served for a while: ended keys, replies, notices, questions to the platform.
    pub(crate) fn purge_rows(&self) {
        self.every(PURGE, "cannot remove old rows", |store, now| async move {
            while store.purge_keys(KEYS, now).await? > 0 {}
            while store.purge_replies(earlier(now, REPLIES)).await? > 0 {}
            while store.purge_notices(earlier(now, NOTICES)).await? > 0 {}
            while store.purge_membership_checks(earlier(now, CHECKS)).await? > 0 {}
            Ok(())
        });
    }

    /// Replies that a dead process left behind.
    pub(crate) fn sweep_replies(&self) {
        self.every(SWEEP, "cannot look for interrupted replies", |store, now| async move {
            let replies = store.interrupt_replies(earlier(now, ABANDONED), now).await?;
            if replies > 0 {
                info!(replies, "replies were interrupted by a crash");
            }
            Ok(())
        });
    }

    /// What was taken back, in the files of an embedded database.
    pub(crate) fn scrub(&self) {
        self.every(SWEEP, "cannot scrub the database's files", |store, _| async move {
            store.scrub().await
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
