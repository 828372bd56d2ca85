//! Intake of a running stage: pulls messages, decodes and groups them, and begins to work on them.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_bus::{BusError, Consumer, Delivery};
use chatkeep_core::log_reason;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Interval;
use tokio_util::task::TaskTracker;

use super::batch::Batch;
use super::waits::Wait;
use super::{BACKOFF, Runner, Stage};
use crate::supervisor::track;

/// Timeout of a pull before it is repeated.
const PULL: Duration = Duration::from_secs(5);

/// Consumer of a stage with its calls under way.
pub(super) struct Intake {
    pub(super) consumer: Consumer,
    /// Permits of concurrent calls.
    pub(super) permits: Arc<Semaphore>,
    pub(super) tasks: TaskTracker,
    /// Largest delivery attempt of the last pull.
    pub(super) attempt: u32,
}

impl Intake {
    /// Creates an intake for that many concurrent calls.
    pub(super) fn new(consumer: Consumer, concurrency: usize) -> Self {
        let permits = Arc::new(Semaphore::new(concurrency));
        // The previous process may have died of the very first message: begin with that one alone.
        Self { consumer, permits, tasks: TaskTracker::new(), attempt: u32::MAX }
    }

    /// Continues with another connection to the same consumer.
    pub(super) fn rejoin(&mut self, consumer: Consumer) -> &mut Self {
        (self.consumer, self.attempt) = (consumer, u32::MAX);
        self
    }

    /// Waits for the calls under way.
    pub(super) async fn end(self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl<S: Stage> Runner<S> {
    /// Pulls and hands out until stopped, or until the bus fails.
    pub(super) async fn pull(self: &Arc<Self>, intake: &mut Intake, away: &mut Wait<'_>) {
        loop {
            match self.step(intake, PULL, Some(away)).await {
                Ok(None) => return,
                Ok(Some(_)) => {}
                Err(error) => {
                    let (stage, failure) = (self.stage.name(), crate::failure::of(&error));
                    away.goes_on(&failure);
                    log_reason!(warn, failure, %stage, "cannot pull messages from the bus");
                    let _ = self.rest(BACKOFF.longest.min(Duration::from_secs(1))).await;
                    return;
                }
            }
        }
    }

    /// Pulls once, waiting up to `wait` for a message, and begins to work on what came; the wait
    /// for the bus, `away`, is over before that. Returns the number of messages; `None` if stopped.
    async fn step(
        self: &Arc<Self>,
        intake: &mut Intake,
        wait: Duration,
        away: Option<&mut Wait<'_>>,
    ) -> Result<Option<usize>, BusError> {
        // Permit first, messages second: leased messages are worked on at once.
        let permits = &intake.permits;
        let permit = self.stop.run_until_cancelled(Arc::clone(permits).acquire_owned()).await;
        let Some(Ok(permit)) = permit else { return Ok(None) };
        let room = self.stage.batch_size() * (1 + permits.available_permits());
        let pulled = intake.consumer.fetch(lease_size(room, intake.attempt), wait);
        let Some(deliveries) = self.stop.run_until_cancelled(pulled).await.transpose()? else {
            return Ok(None);
        };
        if let Some(away) = away {
            away.is_over();
        }
        let pulled = deliveries.len();
        intake.attempt = deliveries.iter().map(|d| d.attempt).max().unwrap_or(1);
        self.hand_out(deliveries, permit, permits, &intake.tasks).await;
        if intake.attempt > 1 {
            self.idle(permits).await;
        }
        Ok(Some(pulled))
    }

    /// Works on everything that can be delivered right now and returns the number of deliveries,
    /// once none is left and every call has ended. A message that is to be retried later stays on
    /// the bus. For tests of stages; [`Runner::run`] goes on until it is stopped.
    ///
    /// # Errors
    /// Fails when the bus fails. What was pulled before is worked on all the same.
    #[boxed]
    pub async fn drain(&self) -> Result<usize, BusError> {
        let runner = Arc::new(self.clone());
        let spec = self.stage.name().consumer(self.settings.lease);
        let consumer = self.bus.consume(&spec).await?;
        let mut intake = Intake::new(consumer, self.stage.concurrency());
        let mut deliveries = 0;
        let drained = loop {
            match runner.step(&mut intake, Duration::ZERO, None).await {
                Ok(Some(pulled)) if pulled > 0 => deliveries += pulled,
                Ok(_) => break Ok(deliveries),
                Err(error) => break Err(error),
            }
            // What is under way may be deliverable again.
            self.idle(&intake.permits).await;
        };
        intake.end().await;
        drained
    }

    /// Waits until every call that is under way has ended.
    async fn idle(&self, permits: &Semaphore) {
        let all = u32::try_from(self.stage.concurrency()).unwrap_or(u32::MAX);
        // Closed only when the runner is gone.
        let _ = permits.acquire_many(all).await;
    }

    /// Decodes messages and groups them by the number of their deliveries, so that one poisonous
    /// message does not take its neighbours with it.
    async fn chunks(&self, deliveries: Vec<Delivery>) -> Vec<Batch<S::Item>> {
        let mut admitted = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            let attempt = delivery.attempt;
            admitted.extend(self.admit(delivery).await.map(|pair| (attempt, pair)));
        }
        let chunks = grouped(admitted, self.stage.batch_size(), self.settings.max_attempts);
        chunks.into_iter().map(Batch::from).collect()
    }

    /// Spawns one task per batch. Batches that wait for a permit keep their leases.
    pub(super) async fn hand_out(
        self: &Arc<Self>,
        deliveries: Vec<Delivery>,
        permit: OwnedSemaphorePermit,
        permits: &Arc<Semaphore>,
        tasks: &TaskTracker,
    ) {
        let mut waiting = VecDeque::from(self.chunks(deliveries).await);
        // One for all of them: each may wait for less than a period.
        let mut extend = tokio::time::interval(self.settings.lease / 3);
        extend.tick().await;
        let mut free = Some(permit);
        loop {
            let permit = match free.take() {
                Some(permit) => permit,
                None => match permit_for(&waiting, permits, &mut extend).await {
                    Some(permit) => permit,
                    None => return,
                },
            };
            let Some(chunk) = waiting.pop_front() else { return };
            let runner = Arc::clone(self);
            track(tasks, runner.stage.name().part(), async move {
                runner.work(chunk).await;
                drop(permit);
            });
        }
    }
}

/// Waits for the permit of the next call, and extends the leases of what waits meanwhile: what was
/// never tried must not count an attempt. Returns `None` if nothing waits.
async fn permit_for<T>(
    waiting: &VecDeque<Batch<T>>,
    permits: &Arc<Semaphore>,
    extend: &mut Interval,
) -> Option<OwnedSemaphorePermit> {
    if waiting.is_empty() {
        return None;
    }
    let mut permit = pin!(Arc::clone(permits).acquire_owned());
    loop {
        tokio::select! {
            // Closed only when the runner is gone.
            permit = &mut permit => return permit.ok(),
            _ = extend.tick() => {
                for leased in waiting {
                    leased.extend().await;
                }
            }
        }
    }
}

/// Returns the number of messages to lease at once, after one with that delivery attempt.
///
/// If the process dies, everything it had leased counts one more attempt. So the more often a
/// message was tried, the fewer are leased beside it: the one that kills the process is soon leased
/// alone, and its neighbours do not become dead letters with it.
pub(super) fn lease_size(room: usize, attempt: u32) -> usize {
    (room >> (3 * attempt.saturating_sub(1).min(10))).max(1)
}

/// Groups messages, given with their delivery attempts, for the calls of a stage.
pub(super) fn grouped<T>(messages: Vec<(u32, T)>, batch: usize, max_attempts: u32) -> Vec<Vec<T>> {
    let (mut new, mut again, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for (attempt, message) in messages {
        let size = call_size(batch, attempt, max_attempts);
        if size == 1 {
            groups.push(vec![message]);
            continue;
        }
        let group = if attempt > 1 { &mut again } else { &mut new };
        group.push(message);
        if group.len() == size {
            groups.push(std::mem::take(group));
        }
    }
    groups.extend([new, again].into_iter().filter(|group| !group.is_empty()));
    groups
}

/// Returns the number of messages for one call of a stage, by their delivery attempt.
///
/// A process that dies leaves thousands of messages behind, nearly all of them sound: at the second
/// attempt some are handled together. At every later attempt, and at the last one, each is handled
/// alone: a call that takes too long fails for all of its messages.
pub(super) fn call_size(batch: usize, attempt: u32, max_attempts: u32) -> usize {
    match attempt {
        0 | 1 => batch,
        2 if max_attempts > 2 => lease_size(batch, attempt),
        _ => 1,
    }
}
