//! Periodic maintenance of a process: presence of the ingress, removal of old rows.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{CLOCK_SKEW, Store, StoreError};
use chatkeep_workers::periodic::{FirstRun, JobFailure, JobScope, PeriodicJob};
use chatkeep_workers::{ItemFailures, log_failure};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::sessions::SessionService;

/// Interval between purges of old rows.
const PURGE: Duration = Duration::from_mins(10);
/// Interval between sweeps of replies that a dead process left behind.
const SWEEP: Duration = Duration::from_mins(1);
/// Maximum number of keys removed in one transaction.
const KEYS: u32 = 500;
/// Retention of replies: longer than a backtest looks back, and than any platform delivers an event
/// again.
const REPLIES: Duration = Duration::from_hours(24 * 400);
/// Retention of usage notices.
const NOTICES: Duration = Duration::from_hours(24 * 400);
/// Retention of users' usage by day: longer than the pages of the console look back.
const USAGE_DAYS: Duration = Duration::from_hours(24 * 400);
/// Retention of the activity log of channels.
const ACTIVITY: Duration = Duration::from_hours(24 * 180);
/// Maximum number of rows of one channel's activity log, of changes and of reads each.
const ACTIVITY_ROWS: i64 = 100_000;
/// Retention of membership checks with the platform, twice the interval between two of a person.
const CHECKS: Duration = Duration::from_hours(48);
/// Age after which a reply that is still being sent counts as abandoned.
const ABANDONED: Duration = Duration::from_mins(5);

/// Maximum time for which the presence of an ingress waits for the right time: less than what is
/// no outage yet.
const UNCONFIRMED: Duration = Duration::from_secs(20);

/// Resources of the maintenance jobs.
#[derive(Clone, Debug)]
pub struct Maintenance {
    pub store: Store,
    pub clock: SharedClock,
}

/// Records the presence of an ingress: the time between two records counts as covered.
pub struct IngressPresence(pub Maintenance);

/// Resets times that a wrong clock recorded in the future.
pub struct FutureTimes(pub Maintenance);

/// Purges old responses to requests with idempotency keys.
pub struct IdempotencyPurge(pub Maintenance);

/// Writes the last use of keys and sessions.
pub struct UseRecords(pub Maintenance);

/// Writes who read messages, for the activity log of their channel.
pub struct ReadRecords(pub Maintenance);

/// Purges the activity log of channels.
pub struct ActivityPurge(pub Maintenance);

/// Purges outbox events older than that age.
pub struct OutboxPurge(pub Maintenance, pub Duration);

/// Disables webhooks whose key expired.
pub struct ExpiredWebhooks(pub Maintenance);

/// Purges temporary rows: expired keys, replies, notices, membership checks.
pub struct RowPurge(pub Maintenance);

/// Sweeps replies that a dead process left behind.
pub struct InterruptedReplies(pub Maintenance);

impl PeriodicJob for IngressPresence {
    const NAME: &'static str = "ingress_presence";
    /// A few missed ones are no outage yet.
    const PERIOD: Duration = Duration::from_secs(30);
    const FAILURE: &'static str = "cannot record the presence of the ingress";
    const FIRST_RUN: FirstRun = FirstRun::Now;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        // A wrong clock would record an outage that never was. Without an answer of the platform
        // the clock has to do.
        let (clock, until) = (&self.0.clock, Instant::now() + UNCONFIRMED);
        while !clock.is_confirmed() && Instant::now() < until {
            if stop.run_until_cancelled(sleep(UNCONFIRMED / 100)).await.is_none() {
                return Ok(());
            }
        }
        Ok(self.0.store.messages().record_alive(clock.now()).await?)
    }
}

impl PeriodicJob for FutureTimes {
    const NAME: &'static str = "future_times";
    const PERIOD: Duration = Duration::from_hours(1);
    const FAILURE: &'static str = "cannot reset times that a wrong clock recorded";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let times = self.0.store.jobs().reset_future_times(self.0.clock.now()).await?;
        if times > 0 {
            warn!(times, "times that a wrong clock had recorded in the future are reset");
        }
        Ok(())
    }
}

impl PeriodicJob for IdempotencyPurge {
    const NAME: &'static str = "idempotency_purge";
    const PERIOD: Duration = PURGE;
    const FAILURE: &'static str = "cannot purge old responses";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let now = self.0.clock.now();
        while !stop.is_cancelled() && self.0.store.idempotency().purge_idempotency(now).await? > 0 {
        }
        Ok(())
    }
}

impl PeriodicJob for UseRecords {
    const NAME: &'static str = "use_records";
    const PERIOD: Duration = Duration::from_secs(5);
    const FAILURE: &'static str = "cannot write when keys and sessions were used";

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        self.0.store.keys().write_uses().await?;
        Ok(())
    }
}

impl PeriodicJob for ReadRecords {
    const NAME: &'static str = "read_records";
    const PERIOD: Duration = Duration::from_secs(3);
    const FAILURE: &'static str = "cannot write who read messages";

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        self.0.store.activity_log().write_reads().await?;
        Ok(())
    }
}

impl PeriodicJob for ActivityPurge {
    const NAME: &'static str = "activity_purge";
    const PERIOD: Duration = Duration::from_hours(1);
    const FAILURE: &'static str = "cannot purge the activity log";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let (activity, before) = (self.0.store.activity_log(), self.0.clock.now().minus(ACTIVITY));
        let mut failures = ItemFailures::of(Self::NAME);
        let purged = purge(stop, || activity.purge(before)).await;
        failures.isolate(&"rows of all channels", purged)?;
        // Counted once a run, and outside of a transaction: it reads the whole log.
        for full in activity.full(ACTIVITY_ROWS).await? {
            let cut = async {
                while !stop.is_cancelled() && activity.cut(&full).await? {}
                Ok::<_, StoreError>(())
            }
            .await;
            failures.isolate(full.channel(), cut)?;
        }
        Ok(failures.into_result()?)
    }
}

impl PeriodicJob for OutboxPurge {
    const NAME: &'static str = "outbox_purge";
    const PERIOD: Duration = PURGE;
    const FAILURE: &'static str = "cannot purge old events";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let (outbox, now) = (self.0.store.outbox(), self.0.clock.now());
        let (before, latest) = (now.minus(self.1), now.plus(CLOCK_SKEW));
        while !stop.is_cancelled() && outbox.purge_future_events(before, latest).await? > 0 {}
        while !stop.is_cancelled() && outbox.purge_outbox_events(before).await? > 0 {}
        Ok(())
    }
}

impl PeriodicJob for ExpiredWebhooks {
    const NAME: &'static str = "expired_webhooks";
    const PERIOD: Duration = Duration::from_secs(30);
    const FAILURE: &'static str = "cannot find webhooks of expired keys";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        while !stop.is_cancelled() {
            let ended = self.0.store.webhooks().end_webhooks(self.0.clock.now()).await?;
            if ended.is_empty() {
                break;
            }
            info!(?ended, "webhooks disabled: their keys expired");
        }
        Ok(())
    }
}

impl PeriodicJob for RowPurge {
    const NAME: &'static str = "row_purge";
    const PERIOD: Duration = PURGE;
    const FAILURE: &'static str = "cannot purge old rows";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let (store, now) = (&self.0.store, self.0.clock.now());
        let mut failures = ItemFailures::of(Self::NAME);
        let (keys, assistant) = (store.keys(), store.assistant());
        let purged = purge(stop, || keys.purge_keys(KEYS, now)).await;
        failures.isolate(&"expired keys", purged)?;
        let purged = purge(stop, || assistant.purge_replies(now.minus(REPLIES))).await;
        failures.isolate(&"replies", purged)?;
        let (accounts, members) = (store.accounts(), store.members());
        let purged = purge(stop, || accounts.purge_notices(now.minus(NOTICES))).await;
        failures.isolate(&"usage notices", purged)?;
        let purged = purge(stop, || accounts.purge_usage_days(now.minus(USAGE_DAYS))).await;
        failures.isolate(&"usage by day", purged)?;
        let purged = purge(stop, || members.purge_membership_checks(now.minus(CHECKS))).await;
        failures.isolate(&"membership checks", purged)?;
        Ok(failures.into_result()?)
    }
}

impl PeriodicJob for InterruptedReplies {
    const NAME: &'static str = "interrupted_replies";
    const PERIOD: Duration = SWEEP;
    const FAILURE: &'static str = "cannot find interrupted replies";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let now = self.0.clock.now();
        let replies = self.0.store.assistant().interrupt_replies(now.minus(ABANDONED), now).await?;
        if replies > 0 {
            info!(replies, "marked replies that a crash had interrupted");
        }
        Ok(())
    }
}

/// Purges rows batch by batch until none is left, or `stop` is cancelled.
async fn purge<F: Future<Output = Result<u64, StoreError>>>(
    stop: &CancellationToken,
    batch: impl Fn() -> F,
) -> Result<(), StoreError> {
    while !stop.is_cancelled() && batch().await? > 0 {}
    Ok(())
}

/// Writes what requests used and read until the very end. It is for a process whose requests have
/// all been answered.
#[boxed]
pub async fn last_records(store: &Store) {
    if let Err(error) = store.keys().write_uses().await {
        log_failure!(warn, &error, "{}", UseRecords::FAILURE);
    }
    if let Err(error) = store.activity_log().write_reads().await {
        log_failure!(warn, &error, "{}", ReadRecords::FAILURE);
    }
}

/// Purges old sessions, logins and consents.
#[derive(Debug)]
pub struct SessionPurge(pub SessionService);

impl PeriodicJob for SessionPurge {
    const NAME: &'static str = "session_purge";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot remove old sessions";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        while !stop.is_cancelled() && self.0.purge_batch().await? {}
        Ok(())
    }
}
