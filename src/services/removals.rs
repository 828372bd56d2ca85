//! Worker for erasures and deletions of many messages, which are jobs in the store.
//!
//! It runs in every process with the worker role. Each job is worked on for a time slice and then
//! released, so that a large one delays no small one, and several processes share the queue. A
//! process that dies half-way loses its claim, and another one continues. No job is given up: one that
//! fails, or ends its process, again and again is tried later and later.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use chatkeep_core::metric;
use chatkeep_core::random;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{ChannelJob, JobBatch, Store, StoreError};
use chatkeep_workers::log_failure;
use chatkeep_workers::periodic::{JobFailure, JobScope, PeriodicJob};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::claim_renewal::renewing;

/// Poll interval of jobs.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Batch size: messages removed in one transaction while others wait for the database.
const BATCH: u32 = 500;
/// Batch size while a caller waits for the response.
const LARGE_BATCH: u32 = 2_000;
/// Maximum pause between two batches: as long as the batch took, so that others have their turn.
const PAUSE: Duration = Duration::from_millis(250);
/// Time slice of a job before others have their turn.
const SLICE: Duration = Duration::from_secs(2);
/// Least retry delay of a job that failed, or whose database is down.
const RETRY_DELAY: Duration = Duration::from_secs(5);
/// Retention of finished jobs.
const RETENTION: Duration = Duration::from_hours(30 * 24);
/// Error text of a job that fails again and again, for its caller.
const FAILED: &str =
    "The messages could not be removed so far; it is tried again, and the service's log says why";
/// Error text of a job that ends its process again and again, for its caller.
const INTERRUPTED: &str = "Removing the messages has ended the service's process several times; it \
                           is tried again, and the service's log says why";

/// Worker with its resources. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RemovalWorker {
    store: Store,
    clock: SharedClock,
    /// Name of this worker's claims.
    worker: String,
}

impl RemovalWorker {
    /// Creates a worker with a unique name, so that no other has its claims.
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock, worker: random::text(16) }
    }

    /// Returns the name of this worker's claims.
    pub fn worker(&self) -> &str {
        &self.worker
    }

    /// Processes waiting jobs until `stop` is cancelled.
    #[boxed]
    pub async fn run(self, stop: CancellationToken) {
        // After a panic this runs again: a claim of before it is that of another worker.
        let worker = Self { worker: random::text(16), ..self };
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => while !stop.is_cancelled() && worker.turn(&stop).await {},
            }
        }
    }

    /// Finishes a job that the caller has claimed for this worker, if it is as small as estimated;
    /// otherwise the rest is left to others.
    ///
    /// # Errors
    /// Returns an error if the store fails; the job is retried later.
    #[boxed]
    pub async fn finish(&self, mut job: ChannelJob) -> Result<ChannelJob, StoreError> {
        let until = Instant::now() + SLICE;
        while !job.status.is_over() && Instant::now() < until {
            match self.batch(&job, LARGE_BATCH).await {
                Ok(Some(next)) => job = next,
                Ok(None) => return Ok(job),
                Err(error) => {
                    self.put_back(&job, &error).await;
                    return Err(error);
                }
            }
        }
        if !job.status.is_over() {
            self.store.jobs().release_job(&job, &self.worker, self.clock.now()).await?;
        }
        Ok(job)
    }

    /// Works on one job for a time slice. Returns true if there was one.
    async fn turn(&self, stop: &CancellationToken) -> bool {
        let (jobs, now) = (self.store.jobs(), self.clock.now());
        let job = match jobs.claim_job(&self.worker, INTERRUPTED, now).await {
            Ok(Some(job)) => job,
            Ok(None) => return false,
            Err(error) => {
                failed(&error, "cannot claim a job");
                return false;
            }
        };
        let until = Instant::now() + SLICE;
        let mut present = job.clone();
        while !stop.is_cancelled() && Instant::now() < until {
            let begun = Instant::now();
            match self.batch(&present, BATCH).await {
                Ok(Some(next)) if next.status.is_over() => return true,
                Ok(Some(next)) => present = next,
                Ok(None) => return true,
                Err(error) => {
                    self.put_back(&present, &error).await;
                    return true;
                }
            }
            stop.run_until_cancelled(tokio::time::sleep(begun.elapsed().min(PAUSE))).await;
        }
        if let Err(error) =
            self.store.jobs().release_job(&present, &self.worker, self.clock.now()).await
        {
            failed(&error, "cannot release a job");
        }
        true
    }

    /// Removes a batch; `None` when another worker has claimed the job by now.
    async fn batch(&self, job: &ChannelJob, limit: u32) -> Result<Option<ChannelJob>, StoreError> {
        let Some(done) = self.remove(job, limit).await? else {
            return Ok(None);
        };
        metric::REMOVED_MESSAGES.add([], done.removed.messages.len() as u64);
        let job = done.job;
        if job.status.is_over() {
            let (id, messages, bytes) = (&job.id, job.done, job.freed_bytes);
            info!(job = id, channel = %job.channel, messages, bytes, "removal finished");
        }
        Ok(Some(job))
    }

    /// Removes a batch while the claim is renewed.
    async fn remove(&self, job: &ChannelJob, limit: u32) -> Result<Option<JobBatch>, StoreError> {
        let jobs = self.store.jobs();
        let renew = || async {
            if let Err(error) = jobs.renew_job(job, &self.worker, self.clock.now()).await {
                failed(&error, "cannot renew the claim of a job");
            }
        };
        renewing(renew, jobs.work_on_job(job, &self.worker, limit, self.clock.as_ref())).await
    }

    /// Releases a failed job for a later retry. An outage of the database is waited for; after a
    /// permanent error the retry is the later the more of them there were.
    async fn put_back(&self, job: &ChannelJob, cause: &StoreError) {
        failed(cause, "messages cannot be removed now");
        let next = self.clock.now().plus(RETRY_DELAY);
        let put = if cause.is_transient() {
            self.store.jobs().release_job(job, &self.worker, next).await
        } else {
            self.store.jobs().put_off_job(job, &self.worker, FAILED, next).await
        };
        if let Err(error) = put {
            failed(&error, "cannot release a job");
        }
    }
}

/// Purges finished jobs.
#[derive(Debug)]
pub struct JobPurge(pub RemovalWorker);

impl PeriodicJob for JobPurge {
    const NAME: &'static str = "channel_job_purge";
    const PERIOD: Duration = Duration::from_hours(1);
    const FAILURE: &'static str = "cannot purge old jobs";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let Self(RemovalWorker { store, clock, .. }) = self;
        let before = clock.now().minus(RETENTION);
        while !stop.is_cancelled() && store.jobs().purge_jobs(before).await? > 0 {}
        Ok(())
    }
}

fn failed(error: &StoreError, what: &'static str) {
    log_failure!(warn, error, "{what}");
}
