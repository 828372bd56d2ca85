//! The runner: pulls messages for a stage, hands them over, and does to each what the stage said.

mod chunk;
mod waits;
mod work;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bus::{Bus, Consumer, Delivery};
use chatkeep_core::health::Health;
use chatkeep_core::log_reason;
use chatkeep_core::outage::Failure;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use self::chunk::Chunk;
use self::waits::{Wait, Waits};
use crate::outcome::Outcome;
use crate::stages::StageName;
use crate::tap::Tap;

/// How long a pull waits for messages before it is made again.
const PULL: Duration = Duration::from_secs(5);
/// A stage that takes longer than this for one call has failed, unless it says otherwise.
const HANDLE: Duration = Duration::from_mins(2);
/// First and longest pause while something a stage needs is down.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// A stage: what it reads and what it does.
pub trait Stage: Send + Sync + 'static {
    /// What one message of its stream is decoded to.
    type Item: Send + Sync;

    /// Which stage it is.
    fn name(&self) -> StageName;

    /// Most messages one call of [`Stage::handle`] is given.
    fn chunk(&self) -> usize;

    /// Most calls at once.
    fn parallel(&self) -> usize;

    /// How long one call of [`Stage::handle`] may take; one that takes longer has failed.
    fn patience(&self) -> Duration {
        HANDLE
    }

    /// What has to be done before the first message, in a process that does other work meanwhile;
    /// begun again until it is done.
    ///
    /// # Errors
    /// The reason, for the log.
    fn prepare(&self) -> impl Future<Output = Result<(), String>> + Send + '_ {
        std::future::ready(Ok(()))
    }

    /// Reads a message; `Err` says why it can never be read.
    ///
    /// # Errors
    /// The reason, which goes to the dead letters with the message. No message text in it.
    fn decode(&self, payload: &[u8]) -> Result<Self::Item, String>;

    /// Handles messages, and says of each what comes next, in order. Must be idempotent and
    /// commutative (architecture, rule 1): what is to be dropped or tried again is handed over
    /// once more in halves, until it is known which message of the call is to blame.
    fn handle<'a>(
        &'a self,
        items: &'a [Self::Item],
    ) -> impl Future<Output = Vec<Outcome>> + Send + 'a;

    /// Hears that a message which could be read goes to the dead letters.
    fn gave_up<'a>(
        &'a self,
        _item: &'a Self::Item,
        _reason: &'a str,
    ) -> impl Future<Output = ()> + Send + 'a {
        std::future::ready(())
    }
}

/// What the runner is told by the configuration.
#[derive(Clone, Debug)]
pub struct RunnerSettings {
    /// How long a message is leased; it is extended while its stage works on it.
    pub lease: Duration,
    /// Deliveries after which a message that fails goes to the dead letters; three times as many
    /// when its process died each time.
    pub max_attempts: u32,
    /// How long the stage may wait for what it needs before that is a problem of the process.
    pub long_wait: Duration,
}

/// The usual [`RunnerSettings::long_wait`].
pub const LONG_WAIT: Duration = Duration::from_mins(1);

/// Drives one stage until it is told to stop.
#[derive(Debug)]
pub struct Runner<S> {
    stage: Arc<S>,
    bus: Bus,
    settings: RunnerSettings,
    tap: Tap,
    waits: Waits,
    stop: CancellationToken,
}

impl<S: Stage> Runner<S> {
    /// A runner of `stage`. Cancelling `stop` makes it finish what it has and return.
    pub fn new(
        stage: S,
        bus: Bus,
        settings: RunnerSettings,
        tap: Tap,
        health: Health,
        stop: CancellationToken,
    ) -> Self {
        let waits = Waits::new(health, stage.name().name(), settings.long_wait);
        Self { stage: Arc::new(stage), bus, settings, tap, waits, stop }
    }

    /// Runs until stopped: then pulls no more, waits for what is being handled, and returns.
    pub async fn run(self) {
        let name = self.stage.name();
        let runner = Arc::new(self);
        let tasks = TaskTracker::new();
        let permits = Arc::new(Semaphore::new(runner.stage.parallel()));
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

    /// Prepares the stage, or is told to stop.
    async fn prepare(&self) {
        let stage = self.stage.name();
        let mut wait = self.waits.watch();
        while let Some(Err(reason)) = self.stop.run_until_cancelled(self.stage.prepare()).await {
            let failure = Failure::from(reason);
            wait.goes_on(&failure);
            log_reason!(warn, failure, %stage, "the stage cannot begin yet");
            let _ = self.rest(PAUSE.1).await;
        }
    }

    /// Joins the consumer, however long the bus takes to come back; `None` when told to stop.
    async fn join_consumer(&self, away: &mut Wait<'_>) -> Option<Consumer> {
        let spec = self.stage.name().consumer(self.settings.lease);
        let mut pause = PAUSE.0;
        loop {
            match self.bus.consume(&spec).await {
                Ok(consumer) => return Some(consumer),
                Err(error) => {
                    let failure = Failure::of(&error);
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

    /// Waits; `None` when told to stop meanwhile.
    async fn rest(&self, pause: Duration) -> Option<()> {
        self.stop.run_until_cancelled(tokio::time::sleep(pause)).await
    }

    /// Pulls and hands out until told to stop, or until the bus fails.
    async fn pull(
        self: &Arc<Self>,
        mut consumer: Consumer,
        permits: &Arc<Semaphore>,
        tasks: &TaskTracker,
        away: &mut Wait<'_>,
    ) {
        // The process before may have died of the very first message: begin with that one alone.
        let mut attempt = u32::MAX;
        loop {
            // Room first, messages second: what is leased is worked on at once.
            let stop = self.stop.clone();
            let permit = stop.run_until_cancelled(Arc::clone(permits).acquire_owned()).await;
            let Some(Ok(permit)) = permit else { return };
            let room = self.stage.chunk() * (1 + permits.available_permits());
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
                    let (stage, failure) = (self.stage.name(), Failure::of(&error));
                    away.goes_on(&failure);
                    log_reason!(warn, failure, %stage, "pulling failed");
                    let _ = self.rest(PAUSE.1.min(Duration::from_secs(1))).await;
                    return;
                }
            }
        }
    }

    /// Waits until every call that is under way has ended.
    async fn idle(&self, permits: &Semaphore) {
        let all = u32::try_from(self.stage.parallel()).unwrap_or(u32::MAX);
        // Closed only when the runner is gone.
        let _ = permits.acquire_many(all).await;
    }

    /// Reads messages and groups them. What was delivered before goes alone, so that one poisonous
    /// message does not take its neighbours with it.
    async fn chunks(&self, deliveries: Vec<Delivery>) -> Vec<Chunk<S::Item>> {
        let mut chunk = Chunk::new();
        let mut chunks = Vec::new();
        for delivery in deliveries {
            let again = delivery.attempt > 1;
            let Some((delivery, item)) = self.admit(delivery).await else {
                continue;
            };
            if again {
                let mut alone = Chunk::new();
                alone.push(delivery, item);
                chunks.push(alone);
                continue;
            }
            chunk.push(delivery, item);
            if chunk.len() == self.stage.chunk() {
                chunks.push(std::mem::replace(&mut chunk, Chunk::new()));
            }
        }
        if !chunk.is_empty() {
            chunks.push(chunk);
        }
        chunks
    }

    /// Spawns one task a chunk.
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
            tasks.spawn(async move {
                runner.work(chunk).await;
                drop(permit);
            });
        }
    }
}

#[cfg(test)]
mod tests;

/// How many messages to lease at once, after one that was delivered for the `attempt`th time.
///
/// When the process dies, everything it had leased counts one more attempt. So the more often a
/// message was tried, the fewer are leased beside it: the one that kills the process soon stands
/// alone, and its neighbours do not end in the dead letters with it.
fn lease_size(room: usize, attempt: u32) -> usize {
    (room >> (3 * attempt.saturating_sub(1).min(10))).max(1)
}
