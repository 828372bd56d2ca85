//! Supervisor of a process' long-lived parts: one that panics, or ends though nobody stopped it, is
//! restarted after a pause. One that keeps failing is a problem in `/readyz`, until it works again.
//!
//! Everything that runs as long as the process is started here (`clippy.toml` refuses plain
//! spawning elsewhere), so no part can end unnoticed. Work that ends by itself is spawned with
//! [`track`] or [`panics::spawn`].

use std::future::Future;
use std::time::Duration;

use chatkeep_core::backoff::Backoff;
use chatkeep_core::health::Health;
use chatkeep_core::outage::Failure;
use chatkeep_core::panics::{self, Panicked};
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

/// Pauses before a part is restarted.
const RESTART: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_mins(1) };
/// Time without a failure after which a part counts as working again.
const GOOD: Duration = Duration::from_mins(1);
/// Number of failures, without such a time between them, that are a problem of the process.
const FAILURES: u32 = 3;

type Work = BoxFuture<'static, ()>;

/// Starts the long-lived parts of a process, and restarts them. Clones share its tasks.
#[derive(Clone, Debug)]
pub struct Supervisor {
    tasks: TaskTracker,
    stop: CancellationToken,
    health: Health,
}

impl Supervisor {
    /// Creates a supervisor of parts that run until `stop` is cancelled.
    pub fn new(health: Health, stop: CancellationToken) -> Self {
        Self { tasks: TaskTracker::new(), stop, health }
    }

    /// Returns the tracker of its tasks, for work that has to be finished before the process ends.
    pub const fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// Returns the token that stops its parts.
    pub const fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Runs a part until the process stops: `start` makes its work, which ends soon after the token
    /// that it gets is cancelled. If it ends earlier, it is made again.
    pub fn run<W>(
        &self,
        part: impl Into<String>,
        mut start: impl FnMut(CancellationToken) -> W + Send + 'static,
    ) where
        W: Future<Output = ()> + Send + 'static,
    {
        self.supervise(part.into(), false, Box::new(move |stop| Box::pin(start(stop))));
    }

    /// Does the same for a part that may end when its work is done.
    pub fn run_to_end<W>(
        &self,
        part: impl Into<String>,
        mut start: impl FnMut(CancellationToken) -> W + Send + 'static,
    ) where
        W: Future<Output = ()> + Send + 'static,
    {
        self.supervise(part.into(), true, Box::new(move |stop| Box::pin(start(stop))));
    }

    /// Does the same as [`Supervisor::run`] for a part that first needs something, such as a
    /// subscription. It has that when this returns; for each restart it is prepared anew.
    ///
    /// # Errors
    /// Returns the error of the first preparation; the part is not started then. A later one counts
    /// as a failure of the part.
    pub async fn run_prepared<P, W, E>(
        &self,
        part: impl Into<String>,
        mut prepare: impl FnMut(CancellationToken) -> P + Send + 'static,
    ) -> Result<(), E>
    where
        P: Future<Output = Result<W, E>> + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
        E: std::error::Error + Send + 'static,
    {
        let mut first = Some(prepare(self.stop.clone()).await?);
        let part = part.into();
        let name = part.clone();
        self.run(part, move |stop| {
            let (part, first) = (name.clone(), first.take());
            let prepared = first.is_none().then(|| prepare(stop));
            async move {
                if let Some(work) = first {
                    return work.await;
                }
                let Some(prepared) = prepared else { return };
                match prepared.await {
                    Ok(work) => work.await,
                    Err(error) => {
                        crate::log_failure!(warn, &error, part, "a part cannot start");
                    }
                }
            }
        });
        Ok(())
    }

    fn supervise(
        &self,
        part: String,
        may_end: bool,
        start: Box<dyn FnMut(CancellationToken) -> Work + Send>,
    ) {
        let stop = self.stop.clone();
        let part = Part { name: part, health: self.health.clone(), stop, failures: 0 };
        spawn_on(&self.tasks, part.run(may_end, start));
    }
}

/// Spawns work that ends by itself, and that `tasks` wait for.
pub fn track<T: Send + 'static>(
    tasks: &TaskTracker,
    part: &'static str,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<Result<T, Panicked>> {
    // Boxed, so that the code of a task is compiled for each output and not for each future.
    let work: BoxFuture<'static, T> = Box::pin(work);
    spawn_on(tasks, panics::catch(part, work))
}

#[expect(clippy::disallowed_methods, reason = "the one place: the work catches its panics")]
fn spawn_on<T: Send + 'static>(
    tasks: &TaskTracker,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    tasks.spawn(work)
}

/// A supervised part.
struct Part {
    name: String,
    health: Health,
    stop: CancellationToken,
    /// Failures since the last good time.
    failures: u32,
}

impl Part {
    async fn run(
        mut self,
        may_end: bool,
        mut start: Box<dyn FnMut(CancellationToken) -> Work + Send>,
    ) {
        loop {
            let (name, stop) = (self.name.clone(), self.stop.clone());
            let work = panics::catch(&name, async { start(stop).await });
            let ended = self.watch(work).await;
            if self.stop.is_cancelled() || (may_end && ended.is_ok()) {
                return self.clear();
            }
            let reason = match ended {
                Ok(()) => {
                    warn!(part = name, "a part ended unexpectedly");
                    "it ended unexpectedly".to_owned()
                }
                Err(panicked) => panicked.to_string(),
            };
            let pause = self.fail(&reason);
            if self.stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return self.clear();
            }
            info!(part = name, "restarting a part");
        }
    }

    /// Waits for the end of the part's work; a good time without it clears its problem.
    async fn watch<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            ended = &mut work => return ended,
            () = sleep(GOOD) => {}
        }
        self.failures = 0;
        self.clear();
        work.await
    }

    /// Counts a failure; returns the pause before the restart.
    fn fail(&mut self, reason: &str) -> Duration {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURES {
            let reason = format!("{} keeps failing: {reason}", self.name);
            self.health.raise(&self.problem(), Failure::from(reason));
        }
        RESTART.after_many(self.failures - 1)
    }

    fn clear(&self) {
        self.health.clear(&self.problem());
    }

    /// Returns the name of its problem, which is none of those that the part raises itself.
    fn problem(&self) -> String {
        format!("task:{}", self.name)
    }
}

#[cfg(test)]
mod tests;
