//! Messages that were pulled: read, handed to their stage, and done with as it said.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use chatkeep_core::bus::{BusError, Delivery};
use futures_util::FutureExt as _;
use metrics::{counter, histogram};
use tracing::{Instrument as _, debug, error, warn};

use super::{PAUSE, Runner, Stage};
use crate::outcome::{Outcome, described};

/// First and longest delay before a failed event is delivered again.
const DELAY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// Times as many deliveries may end without any outcome. Processes die for reasons of their own,
/// and often in a row, with whatever they had leased at that moment.
const DEATHS: u32 = 3;

/// Messages of one call, with their leases.
pub(super) type Chunk<T> = Vec<(Delivery, T)>;

impl<S: Stage> Runner<S> {
    /// Reads a message; one that cannot be read, or that was delivered too often, is buried.
    pub(super) async fn admit(&self, delivery: Delivery) -> Option<(Delivery, S::Item)> {
        if delivery.attempt > self.settings.max_attempts.saturating_mul(DEATHS) {
            let reason = format!("no outcome after {} deliveries", delivery.attempt - 1);
            if let Ok(item) = self.stage.decode(&delivery.payload) {
                self.stage.gave_up(&item, "no_outcome").await;
            }
            self.bury(delivery, &reason).await;
            return None;
        }
        match self.stage.decode(&delivery.payload) {
            Ok(item) => Some((delivery, item)),
            Err(reason) => {
                self.bury(delivery, &reason).await;
                None
            }
        }
    }

    /// Works on a chunk until everything in it has an outcome other than waiting.
    pub(super) async fn work(&self, chunk: Chunk<S::Item>) {
        let (mut deliveries, mut items): (Vec<_>, Vec<_>) = chunk.into_iter().unzip();
        let mut pause = PAUSE.0;
        loop {
            let outcomes = self.handle(&deliveries, &items).await;
            let mut waiting = (Vec::new(), Vec::new());
            for ((delivery, item), outcome) in deliveries.into_iter().zip(items).zip(outcomes) {
                if let Outcome::Wait(reason) = &outcome {
                    if waiting.0.is_empty() {
                        warn!(stage = %self.stage.name(), reason, "waiting");
                    }
                    waiting.0.push(delivery);
                    waiting.1.push(item);
                } else {
                    self.settle(delivery, &item, outcome).await;
                }
            }
            (deliveries, items) = waiting;
            if deliveries.is_empty() {
                return;
            }
            for delivery in &deliveries {
                let _ = delivery.progress().await;
            }
            // Told to stop: what waits is delivered again after the restart.
            if self.rest(pause).await.is_none() {
                return;
            }
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    /// Calls the stage, extending the leases while it works.
    async fn handle(&self, deliveries: &[Delivery], items: &[S::Item]) -> Vec<Outcome> {
        let started = Instant::now();
        let stage = self.stage.name();
        let span = match deliveries {
            [one] => tracing::info_span!("event", id = %one.id, stage = %stage),
            many => tracing::debug_span!("events", count = many.len(), stage = %stage),
        };
        let call = AssertUnwindSafe(self.stage.handle(items)).catch_unwind().instrument(span);
        let mut call = std::pin::pin!(tokio::time::timeout(self.stage.patience(), call));
        let mut extend = tokio::time::interval(self.settings.lease / 3);
        extend.tick().await;
        let done = loop {
            tokio::select! {
                done = &mut call => break done,
                _ = extend.tick() => {
                    for delivery in deliveries {
                        let _ = delivery.progress().await;
                    }
                }
            }
        };
        histogram!("chatkeep_stage_seconds", "stage" => stage.name()).record(started.elapsed());
        let failed = |why: &str| vec![Outcome::Retry(why.to_owned()); items.len()];
        match done {
            Ok(Ok(outcomes)) if outcomes.len() == items.len() => outcomes,
            Ok(Ok(_)) => failed("the stage lost count of its events"),
            Ok(Err(_panic)) => failed("the stage panicked"),
            Err(_elapsed) => failed("the stage took too long"),
        }
    }

    /// Does to a message what the stage said.
    async fn settle(&self, delivery: Delivery, item: &S::Item, outcome: Outcome) {
        let (stage, id) = (self.stage.name(), delivery.id.clone());
        counter!("chatkeep_events_total", "stage" => stage.name(), "outcome" => outcome.name())
            .increment(1);
        self.tap.tell(stage.name(), &id, outcome.name());
        let settled = match outcome {
            Outcome::Done => {
                debug!(stage = %stage, id, "done");
                delivery.ack().await
            }
            Outcome::Retry(reason) if delivery.attempt >= self.settings.max_attempts => {
                self.stage.gave_up(item, &reason).await;
                self.bury(delivery, &reason).await;
                Ok(())
            }
            Outcome::Retry(reason) | Outcome::Wait(reason) => {
                let after = delay(delivery.attempt);
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                warn!(stage = %stage, id, attempt = delivery.attempt, after_ms, reason, "retrying");
                delivery.retry(after).await
            }
            Outcome::Drop(reason) => {
                self.bury(delivery, &reason).await;
                Ok(())
            }
        };
        if let Err(error) = settled {
            self.unsettled(&id, &error);
        }
    }

    async fn bury(&self, delivery: Delivery, reason: &str) {
        let (stage, id) = (self.stage.name(), delivery.id.clone());
        error!(stage = %stage, id, attempts = delivery.attempt, reason, "moved to the dead letters");
        counter!("chatkeep_dead_letters_total", "stage" => stage.name()).increment(1);
        self.tap.tell(stage.name(), &id, "dead");
        if let Err(error) = delivery.bury(reason).await {
            self.unsettled(&id, &error);
        }
    }

    fn unsettled(&self, id: &str, error: &BusError) {
        let stage = self.stage.name();
        warn!(stage = %stage, id, error = described(error), "will be delivered again");
    }
}

/// 1 s, 2 s, 4 s … at most 5 min.
fn delay(attempt: u32) -> Duration {
    DELAY.0.saturating_mul(1_u32 << attempt.saturating_sub(1).min(16)).min(DELAY.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_five_minutes() {
        let seconds: Vec<_> = [1, 2, 3, 9, 10, 40].map(|n| delay(n).as_secs()).to_vec();
        assert_eq!(seconds, [1, 2, 4, 256, 300, 300]);
    }
}
