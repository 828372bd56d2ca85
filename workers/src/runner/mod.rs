//! The runner: pulls messages for a stage, hands them over, and carries out their outcomes.

mod attempts;
mod batch;
mod intake;
mod traces;
mod waits;
mod work;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_bus::{Bus, Consumer};
use chatkeep_core::backoff::Backoff;
use chatkeep_core::health::Health;
use chatkeep_core::log_reason;
use chatkeep_core::outage::Failure;
use tokio_util::sync::CancellationToken;
use tracing::info;

use self::attempts::HeldDeliveries;
use self::intake::Intake;
pub(crate) use self::traces::trace_of;
use self::waits::{DependencyWaits, Wait};
use crate::outcome::Outcome;
use crate::stages::StageName;
use crate::tap::Tap;

/// Default timeout of one call of a stage.
const HANDLE: Duration = Duration::from_mins(2);
/// Pauses while a dependency of a stage is unavailable.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(5) };

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

    /// Returns the longest time for which a message is held
    /// ([`Unfinished::Hold`](crate::outcome::Unfinished::Hold)).
    fn longest_hold(&self) -> Duration {
        Duration::ZERO
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
    /// many if its process died each time. Those at which it was held do not count.
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
    held: HeldDeliveries,
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
            held: self.held.clone(),
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
        let held = HeldDeliveries::new(stage.longest_hold());
        Self { stage: Arc::new(stage), bus, settings, tap, waits, held, stop }
    }

    /// Runs until stopped: then pulls no more, waits for the calls under way, and returns.
    #[boxed]
    pub async fn run(self) {
        let name = self.stage.name();
        let runner = Arc::new(self);
        info!(stage = %name, "stage started");
        runner.prepare().await;
        let mut away = runner.waits.watch();
        let mut intake: Option<Intake> = None;
        while let Some(consumer) = runner.join_consumer(&mut away).await {
            let intake = match &mut intake {
                Some(intake) => intake.rejoin(consumer),
                none => none.insert(Intake::new(consumer, runner.stage.concurrency())),
            };
            runner.pull(intake, &mut away).await;
            if runner.stop.is_cancelled() {
                break;
            }
        }
        if let Some(intake) = intake {
            intake.end().await;
        }
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
            let _ = self.rest(BACKOFF.longest).await;
        }
    }

    /// Joins the consumer, however long the bus takes to come back; `None` if stopped.
    async fn join_consumer(&self, away: &mut Wait<'_>) -> Option<Consumer> {
        let spec = self.stage.name().consumer(self.settings.lease);
        let mut pause = BACKOFF.first;
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
            pause = BACKOFF.after(Some(pause));
        }
    }

    /// Pauses; `None` if stopped meanwhile.
    async fn rest(&self, pause: Duration) -> Option<()> {
        self.stop.run_until_cancelled(tokio::time::sleep(pause)).await
    }
}

#[cfg(test)]
mod tests;
