//! Pending files without a job: the bot's token was refused, a job was lost with the bus' own
//! folder, or never published because its process died.

use std::time::Duration;

use chatkeep_bus::Bus;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::Store;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::jobs::media_jobs;
use crate::outcome::Unfinished;
use crate::periodic::{JobFailure, JobScope, PeriodicJob};

/// Age at which a pending file may need a new job; also the interval between two of them.
const OLD: Duration = Duration::from_mins(15);
/// Batch size of jobs.
const BATCH: u32 = 500;

/// Publishes jobs for files that are pending for too long.
#[derive(Debug)]
pub struct PendingMediaJob {
    /// Store of the pending files.
    pub store: Store,
    /// Bus of the jobs.
    pub bus: Bus,
    /// Clock for the age of the files.
    pub clock: SharedClock,
}

impl PeriodicJob for PendingMediaJob {
    const NAME: &'static str = "pending_media";
    const PERIOD: Duration = Duration::from_mins(5);
    const FAILURE: &'static str = "cannot look for files that are waited for";
    const SCOPE: JobScope = JobScope::Deployment;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        match self.remind().await? {
            0 => {}
            files => info!(files, "requested files again that have been pending for a long time"),
        }
        Ok(())
    }
}

impl PendingMediaJob {
    /// Publishes a job for each of a batch of them, the next batch each time: some wait for long, and
    /// nobody waits behind them. For a while it is the same job every time, which the bus
    /// deduplicates as long as it remembers it.
    async fn remind(&self) -> Result<usize, Unfinished> {
        let now = self.clock.now().millis();
        let age = i64::try_from(OLD.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp::from_millis(now.saturating_sub(age));
        let batch = i64::from(BATCH);
        let batches = self.store.media().count_pending_media().await?;
        let batches = ((batches + batch - 1) / batch).max(1);
        let round = now / i64::try_from(Self::PERIOD.as_millis()).unwrap_or(i64::MAX);
        let skip = round.rem_euclid(batches) * batch;
        let pending = self.store.media().pending_media(before, BATCH, skip).await?;
        let files = pending.len();
        let keys = pending.into_iter().map(|item| (item.channel, item.message));
        let jobs = media_jobs(keys, &format!("again:{}", now / age));
        if !jobs.is_empty() {
            self.bus.publish(jobs).await?;
        }
        Ok(files)
    }
}
