//! Frame of periodic work: each job names itself and its period, and the frame runs it.
//!
//! The frame spreads runs over time (ten percent of the period, and a moment before the first
//! one, so that processes that start together do not work together), measures them, restarts a
//! job that panics (see [`crate::supervisor`]), logs failures, and lets some jobs run in one
//! process of the deployment at a time. A process has one list of its jobs, in its assembly.
//!
//! Loops that are woken up for new work are no jobs: they run under the supervisor as they are.

use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::outage::Failure;
use chatkeep_core::time::SharedClock;
use chatkeep_core::{log_reason, metric};
use chatkeep_store::Store;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::lease::{LEASE, LostLease, extend_lease};
use crate::log_failure;
use crate::outcome::Unfinished;
use crate::supervisor::Supervisor;

/// Jitter of a period: a part of it, up or down.
const JITTER: u32 = 10;
/// Maximum delay of a job's first run.
const FIRST: Duration = Duration::from_secs(1);
/// Maximum delay of the first run of a job that is to run later: a process that is restarted every
/// hour runs its hourly jobs, too.
const LATER: Duration = Duration::from_mins(10);

/// Interval at which a job that waits for the right time asks for it.
const UNCONFIRMED: Duration = Duration::from_millis(500);

/// Processes of a deployment that may run a job at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobScope {
    /// Every process, as for what it has in memory or on its disk.
    Process,
    /// One process at a time.
    Deployment,
}

/// Time of a job's first run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstRun {
    /// At once.
    Now,
    /// Within a moment of random length.
    Soon,
    /// After one period, or after ten minutes where the period is longer.
    Later,
}

/// Failure of a run, made of any error.
#[derive(Clone, Debug)]
pub struct JobFailure(Failure);

impl<E: Error + 'static> From<E> for JobFailure {
    fn from(error: E) -> Self {
        Self(crate::failure::of(&error))
    }
}

impl From<Unfinished> for JobFailure {
    fn from(unfinished: Unfinished) -> Self {
        Self(match unfinished {
            Unfinished::Unavailable(failure)
            | Unfinished::Cancelled(failure)
            | Unfinished::Hold(failure)
            | Unfinished::Retry(failure) => failure,
            Unfinished::Drop(reason) => reason.into(),
        })
    }
}

/// Work that is done again and again.
pub trait PeriodicJob: Send + Sync + 'static {
    /// Name in logs, metrics and leases, unique in the program: `snake_case`.
    const NAME: &'static str;
    /// Time from the start of a run to the start of the next.
    const PERIOD: Duration;
    /// Message of a failed run in the log.
    const FAILURE: &'static str;
    /// Processes that may run it at the same moment. Even a job of one process at a time must do no
    /// harm in two: a process that stalls loses its lease.
    const SCOPE: JobScope = JobScope::Process;
    /// Time of the first run.
    const FIRST_RUN: FirstRun = FirstRun::Soon;
    /// `true` for a job that removes or ends something by its age: it waits until the time is known to
    /// be right.
    const GOES_BY_AGE: bool = false;

    /// Runs the job once. One that takes long ends early when `stop` is cancelled. After a panic
    /// the job is run again, so it must not be left half changed by one.
    ///
    /// # Errors
    /// The failure, for the log; the next run is due after the usual period.
    fn run<'a>(
        &'a self,
        stop: &'a CancellationToken,
    ) -> impl Future<Output = Result<(), JobFailure>> + Send + 'a;
}

/// A job without its type, so that the frame is compiled once and not once a job.
#[derive(Clone)]
struct Job {
    name: &'static str,
    period: Duration,
    failure: &'static str,
    scope: JobScope,
    goes_by_age: bool,
    work: Arc<dyn Work>,
}

/// Work of a [`Job`].
trait Work: Send + Sync {
    fn run<'a>(&'a self, stop: &'a CancellationToken) -> BoxFuture<'a, Result<(), JobFailure>>;
}

impl<J: PeriodicJob> Work for J {
    fn run<'a>(&'a self, stop: &'a CancellationToken) -> BoxFuture<'a, Result<(), JobFailure>> {
        Box::pin(PeriodicJob::run(self, stop))
    }
}

/// Periodic jobs of one process. Clones share them.
#[derive(Clone, Debug)]
pub struct PeriodicJobs {
    supervisor: Supervisor,
    store: Store,
    clock: SharedClock,
    /// Id of this process as a holder of leases.
    process: String,
}

impl PeriodicJobs {
    /// Creates an empty list of jobs of the process with the id `process`, whose leases are in
    /// `store`.
    pub const fn new(
        supervisor: Supervisor,
        store: Store,
        clock: SharedClock,
        process: String,
    ) -> Self {
        Self { supervisor, store, clock, process }
    }

    /// Adds a job, and starts it.
    pub fn add<J: PeriodicJob>(&self, job: J) {
        let job = Job {
            name: J::NAME,
            period: J::PERIOD,
            failure: J::FAILURE,
            scope: J::SCOPE,
            goes_by_age: J::GOES_BY_AGE,
            work: Arc::new(job),
        };
        self.start(job, J::FIRST_RUN);
    }

    fn start(&self, job: Job, first_run: FirstRun) {
        // So that the first run, and the first failure, show as a rise.
        metric::JOB_RUNS.add([job.name.into()], 0);
        metric::JOB_FAILURES.add([job.name.into()], 0);
        let jobs = self.clone();
        let mut delay = Some(first_delay(first_run, job.period));
        self.supervisor.run(format!("job:{}", job.name), move |stop| {
            let (job, jobs) = (job.clone(), jobs.clone());
            let delay = delay.take().unwrap_or_default();
            async move { jobs.repeat(&job, delay, &stop).await }
        });
    }

    async fn repeat(&self, job: &Job, delay: Duration, stop: &CancellationToken) {
        let mut next = Instant::now() + delay;
        loop {
            let goes_on = stop.run_until_cancelled(sleep_until(next)).await.is_some();
            next = Instant::now() + jittered(job.period, random());
            if !goes_on || !self.confirmed_time(job, stop).await {
                return;
            }
            self.run_leased(job, next, stop).await;
        }
    }

    /// Waits until the time is known to be right, for a job that needs it. Returns `false` when
    /// `stop` is cancelled before.
    async fn confirmed_time(&self, job: &Job, stop: &CancellationToken) -> bool {
        while job.goes_by_age && !self.clock.is_confirmed() {
            if stop.run_until_cancelled(sleep(UNCONFIRMED)).await.is_none() {
                return false;
            }
        }
        true
    }

    /// Runs a job, unless another process does right now; also when that one dies before the `next`
    /// run is due.
    async fn run_leased(&self, job: &Job, next: Instant, stop: &CancellationToken) {
        // An embedded database has no other process.
        if job.scope == JobScope::Process || self.store.is_embedded() {
            return self.watched(job, stop).await;
        }
        let Some(taken_at) = self.take_lease(job, next, stop).await else { return };
        let stop = stop.child_token();
        tokio::select! {
            () = self.watched(job, &stop) => {}
            never = self.extend(job.name, taken_at, &stop) => match never {},
        }
        if let Err(error) = self.store.jobs().release_job_lease(job.name, &self.process).await {
            debug!(%error, job = job.name, "the lease of a job ends later");
        }
    }

    /// Takes the lease of a job, and returns the time at which it was valid already. While another
    /// process has it, waits until that one releases it, which ends in `None`, or loses it.
    async fn take_lease(
        &self,
        job: &Job,
        next: Instant,
        stop: &CancellationToken,
    ) -> Option<Instant> {
        let jobs = self.store.jobs();
        let mut asked_at = Instant::now();
        let mut taken = jobs.take_job_lease(job.name, &self.process, LEASE).await;
        loop {
            match taken {
                Ok(true) => return Some(asked_at),
                Ok(false) => debug!(job = job.name, "another process runs the job"),
                Err(error) => {
                    metric::JOB_FAILURES.add([job.name.into()], 1);
                    log_failure!(warn, &error, job = job.name, "{}", job.failure);
                    return None;
                }
            }
            if asked_at + LEASE >= next {
                return None;
            }
            stop.run_until_cancelled(sleep_until(asked_at + LEASE)).await?;
            asked_at = Instant::now();
            taken = jobs.take_over_job_lease(job.name, &self.process, LEASE).await;
        }
    }

    /// Extends the lease of a job while it runs; once it is lost, the run is to end.
    async fn extend(&self, job: &str, taken_at: Instant, stop: &CancellationToken) -> Infallible {
        match extend_lease(&self.store, job, &self.process, taken_at).await {
            LostLease::Taken => debug!(job, "another process has taken over the job"),
            LostLease::Ended(error) => {
                log_failure!(warn, &error, job, "the lease of a job ended while it ran");
            }
        }
        stop.cancel();
        pending().await
    }

    /// Runs a job; one that goes by age is to end once the time is not known any more.
    async fn watched(&self, job: &Job, stop: &CancellationToken) {
        if !job.goes_by_age {
            return self.measured(job, stop).await;
        }
        let stop = stop.child_token();
        let watch = async {
            while self.clock.is_confirmed() {
                sleep(UNCONFIRMED).await;
            }
            debug!(job = job.name, "the clock was set, so the job waits for the right time");
            stop.cancel();
            pending().await
        };
        tokio::select! {
            biased;
            never = watch => match never {},
            () = self.measured(job, &stop) => {}
        }
    }

    async fn measured(&self, job: &Job, stop: &CancellationToken) {
        let mut run = Run { job: job.name, started: Instant::now(), has_succeeded: false };
        match job.work.run(stop).await {
            Ok(()) => {
                run.has_succeeded = true;
                #[expect(clippy::cast_precision_loss, reason = "a gauge is an f64")]
                let seconds = self.clock.now().millis() as f64 / 1_000.0;
                metric::JOB_LAST_SUCCESS.set([job.name.into()], seconds);
            }
            Err(JobFailure(failure)) => {
                log_reason!(warn, failure, job = job.name, "{}", job.failure);
            }
        }
    }
}

/// A run under way, recorded when it ends, by a panic too.
struct Run {
    job: &'static str,
    started: Instant,
    has_succeeded: bool,
}

impl Drop for Run {
    fn drop(&mut self) {
        metric::JOB_RUNS.add([self.job.into()], 1);
        metric::JOB_SECONDS.record([self.job.into()], self.started.elapsed());
        if !self.has_succeeded {
            metric::JOB_FAILURES.add([self.job.into()], 1);
        }
    }
}

/// Returns the time until the first run of a job with a period.
fn first_delay(first_run: FirstRun, period: Duration) -> Duration {
    match first_run {
        FirstRun::Now => Duration::ZERO,
        FirstRun::Soon => FIRST.min(period / JITTER).mul_f64(random()),
        FirstRun::Later => jittered(period.min(LATER), random()),
    }
}

/// Returns the period, shortened or lengthened by at most a tenth, as `random` decides (0 to 1).
fn jittered(period: Duration, random: f64) -> Duration {
    period.mul_f64((2.0 * random - 1.0).mul_add(1.0 / f64::from(JITTER), 1.0))
}

/// Returns a random number from 0 to 1; a half if the system has none.
fn random() -> f64 {
    getrandom::u32().map_or(0.5, |random| f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests;
