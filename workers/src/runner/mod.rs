//! The runner: pulls messages for a stage, hands them over, and carries out their outcomes.

mod batch;
mod waits;
mod work;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::{Bus, Consumer, Delivery};
use chatkeep_core::health::Health;
use chatkeep_core::log_reason;
use chatkeep_core::outage::Failure;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use self::batch::Batch;
use self::waits::{DependencyWaits, Wait};
use crate::outcome::Outcome;
use crate::stages::StageName;
use crate::supervisor::track;
use crate::tap::Tap;

/// Timeout of a pull before it is repeated.
const PULL: Duration = Duration::from_secs(5);
/// Default timeout of one call of a stage.
const HANDLE: Duration = Duration::from_mins(2);
/// First and longest pause while a dependency of a stage is unavailable.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// A stage: its input and its work.
pub trait Stage: Send + Sync + 'static {
    /// Decoded message of its stream.
    type Item: Send + Sync;

    /// Returns the name of the stage.
    fn name(&self) -> StageName;

    /// Returns the batch size: the maximum number of messages of one call of [`Stage::handle`].
    fn batch_size(&self) -> usize;

    /// Returns the concurrency: the maximum number of calls at once.
    fn concurrency(&self) -> usize;

    /// Returns the timeout of one call of [`Stage::handle`]; one that takes longer has failed.
    fn timeout(&self) -> Duration {
        HANDLE
    }

    /// Prepares the stage before the first message, in a process that does other work meanwhile;
    /// repeated until it succeeds.
    ///
    /// # Errors
    /// The reason, for the log.
    fn prepare(&self) -> impl Future<Output = Result<(), String>> + Send + '_ {
        std::future::ready(Ok(()))
    }

    /// Decodes a message; `Err` is the reason why it can never be decoded.
    ///
    /// # Errors
    /// The reason, which is stored with the message in the dead letters. No message text in it.
    fn decode(&self, payload: &[u8]) -> Result<Self::Item, String>;

    /// Handles messages, and returns an outcome for each, in order. Must be idempotent and
    /// commutative (docs/architecture.md#rule-1): messages to be dropped or retried are handed over
    /// once more in halves, until the failing message of the call is known.
    fn handle<'a>(
        &'a self,
        items: &'a [Self::Item],
    ) -> impl Future<Output = Vec<Outcome>> + Send + 'a;

    /// Called when a message that could be decoded becomes a dead letter.
    fn on_dead_letter<'a>(
        &'a self,
        _item: &'a Self::Item,
        _reason: &'a str,
    ) -> impl Future<Output = ()> + Send + 'a {
        std::future::ready(())
    }
}

/// Settings of the runner.
#[derive(Clone, Debug)]
pub struct RunnerSettings {
    /// Duration of a message's lease; extended while its stage works on it.
    pub lease: Duration,
    /// Number of deliveries after which a failing message becomes a dead letter; three times as
    /// many if its process died each time.
    pub max_attempts: u32,
    /// Time that the stage may wait for a dependency before that is a problem of the process.
    pub long_wait: Duration,
}

/// Default of [`RunnerSettings::long_wait`].
pub const LONG_WAIT: Duration = Duration::from_mins(1);

/// Runs one stage until it is stopped. Clones run the same stage.
#[derive(Debug)]
pub struct Runner<S> {
    stage: Arc<S>,
    bus: Bus,
    settings: RunnerSettings,
    tap: Tap,
    waits: Arc<DependencyWaits>,
    stop: CancellationToken,
}

impl<S> Clone for Runner<S> {
    fn clone(&self) -> Self {
        Self {
            stage: Arc::clone(&self.stage),
            bus: self.bus.clone(),
            settings: self.settings.clone(),
            tap: self.tap.clone(),
            waits: Arc::clone(&self.waits),
            stop: self.stop.clone(),
        }
    }
}

impl<S: Stage> Runner<S> {
    /// Creates a runner of `stage`. Cancelling `stop` makes it finish its work and return.
    pub fn new(
        stage: S,
        bus: Bus,
        settings: RunnerSettings,
        tap: Tap,
        health: Health,
        stop: CancellationToken,
    ) -> Self {
        let waits = DependencyWaits::new(health, stage.name().name(), settings.long_wait);
        let waits = Arc::new(waits);
        Self { stage: Arc::new(stage), bus, settings, tap, waits, stop }
    }

    /// Runs until stopped: then pulls no more, waits for the calls under way, and returns.
    pub async fn run(self) {
        let name = self.stage.name();
        let runner = Arc::new(self);
        let tasks = TaskTracker::new();
        let permits = Arc::new(Semaphore::new(runner.stage.concurrency()));
        info!(stage = %name, "stage started");
        runner.prepare().await;
        let mut away = runner.waits.watch();
        while let Some(consumer) = runner.join_consumer(&mut away).await {
            runner.pull(consumer, &permits, &tasks, &mut away).await;
            if runner.stop.is_cancelled() {
                break;
            }
        }
        tasks.close();
        tasks.wait().await;
        info!(stage = %name, "stage stopped");
    }

    /// Prepares the stage until it succeeds or is stopped.
    async fn prepare(&self) {
        let stage = self.stage.name();
        let mut wait = self.waits.watch();
        while let Some(Err(reason)) = self.stop.run_until_cancelled(self.stage.prepare()).await {
            let failure = Failure::from(reason);
            wait.goes_on(&failure);
            log_reason!(warn, failure, %stage, "the stage cannot start yet");
            let _ = self.rest(PAUSE.1).await;
        }
    }

    /// Joins the consumer, however long the bus takes to come back; `None` if stopped.
    async fn join_consumer(&self, away: &mut Wait<'_>) -> Option<Consumer> {
        let spec = self.stage.name().consumer(self.settings.lease);
        let mut pause = PAUSE.0;
        loop {
            match self.bus.consume(&spec).await {
                Ok(consumer) => return Some(consumer),
                Err(error) => {
                    let failure = crate::failure::of(&error);
                    away.goes_on(&failure);
                    log_reason!(
                        warn,
                        failure,
                        stage = spec.name,
                        "the stage cannot join its consumer"
                    );
                }
            }
            self.rest(pause).await?;
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    /// Pauses; `None` if stopped meanwhile.
    async fn rest(&self, pause: Duration) -> Option<()> {
        self.stop.run_until_cancelled(tokio::time::sleep(pause)).await
    }

    /// Pulls and hands out until stopped, or until the bus fails.
    async fn pull(
        self: &Arc<Self>,
        mut consumer: Consumer,
        permits: &Arc<Semaphore>,
        tasks: &TaskTracker,
        away: &mut Wait<'_>,
    ) {
        // The previous process may have died of the very first message: begin with that one alone.
        let mut attempt = u32::MAX;
        loop {
            // Permit first, messages second: leased messages are worked on at once.
            let stop = self.stop.clone();
            let permit = stop.run_until_cancelled(Arc::clone(permits).acquire_owned()).await;
            let Some(Ok(permit)) = permit else { return };
            let room = self.stage.batch_size() * (1 + permits.available_permits());
            let pulled = consumer.fetch(lease_size(room, attempt), PULL);
            let pulled = stop.run_until_cancelled(pulled).await;
            match pulled {
                None => return,
                Some(Ok(deliveries)) => {
                    away.is_over();
                    attempt = deliveries.iter().map(|d| d.attempt).max().unwrap_or(1);
                    self.hand_out(deliveries, permit, permits, tasks).await;
                    if attempt > 1 {
                        self.idle(permits).await;
                    }
                }
                Some(Err(error)) => {
                    let (stage, failure) = (self.stage.name(), crate::failure::of(&error));
                    away.goes_on(&failure);
                    log_reason!(warn, failure, %stage, "cannot pull messages from the bus");
                    let _ = self.rest(PAUSE.1.min(Duration::from_secs(1))).await;
                    return;
                }
            }
        }
    }

    /// Waits until every call that is under way has ended.
    async fn idle(&self, permits: &Semaphore) {
        let all = u32::try_from(self.stage.concurrency()).unwrap_or(u32::MAX);
        // Closed only when the runner is gone.
        let _ = permits.acquire_many(all).await;
    }

    /// Decodes messages and groups them. Redelivered ones go alone, so that one poisonous message
    /// does not take its neighbours with it.
    async fn chunks(&self, deliveries: Vec<Delivery>) -> Vec<Batch<S::Item>> {
        let mut chunk = Batch::new();
        let mut chunks = Vec::new();
        for delivery in deliveries {
            let again = delivery.attempt > 1;
            let Some((delivery, item)) = self.admit(delivery).await else {
                continue;
            };
            if again {
                let mut alone = Batch::new();
                alone.push(delivery, item);
                chunks.push(alone);
                continue;
            }
            chunk.push(delivery, item);
            if chunk.len() == self.stage.batch_size() {
                chunks.push(std::mem::replace(&mut chunk, Batch::new()));
            }
        }
        if !chunk.is_empty() {
            chunks.push(chunk);
        }
        chunks
    }

    /// Spawns one task per batch.
    async fn hand_out(
        self: &Arc<Self>,
        deliveries: Vec<Delivery>,
        permit: OwnedSemaphorePermit,
        permits: &Arc<Semaphore>,
        tasks: &TaskTracker,
    ) {
        let mut free = Some(permit);
        for chunk in self.chunks(deliveries).await {
            let permit = match free.take() {
                Some(permit) => permit,
                // Closed only when the runner is gone.
                None => match Arc::clone(permits).acquire_owned().await {
                    Ok(permit) => permit,
                    Err(_) => return,
                },
            };
            let runner = Arc::clone(self);
            track(tasks, runner.stage.name().part(), async move {
                runner.work(chunk).await;
                drop(permit);
            });
        }
    }
}

#[cfg(test)]
mod tests;

/// Returns the number of messages to lease at once, after one with that delivery attempt.
///
/// If the process dies, everything it had leased counts one more attempt. So the more often a
/// message was tried, the fewer are leased beside it: the one that kills the process is soon leased
/// alone, and its neighbours do not become dead letters with it.
fn lease_size(room: usize, attempt: u32) -> usize {
    (room >> (3 * attempt.saturating_sub(1).min(10))).max(1)
}
