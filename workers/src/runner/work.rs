//! Processing of pulled messages: decoded, handed to their stage, and settled by their outcome.

use std::collections::BTreeMap;
use std::time::Instant;

use chatkeep_bus::{BusError, Delivery};
use chatkeep_core::{log_reason, metric, panics};
use tracing::field::Empty;
use tracing::{Instrument as _, debug, error};

use super::attempts::delay;
use super::batch::Batch;
use super::traces::CallSpans;
use super::{BACKOFF, Runner, Stage};
use crate::log_failure;
use crate::outcome::{Outcome, Unfinished, name_of};
use crate::stages::StageName;
use crate::tap::EventStep;

/// Reason for the dead letter of a message whose decoding panicked.
const PANICKED: &str = "panicked while it was decoded";

/// Factor of the deliveries that may end without any outcome. Processes die for reasons of their
/// own, and often in a row, with whatever they had leased at that moment.
const CRASH_FACTOR: u32 = 3;

/// Numbers of messages that were settled, by the names of their outcomes.
#[derive(Debug, Default)]
struct Settled(BTreeMap<&'static str, u64>);

impl Settled {
    fn add(&mut self, outcome: &'static str) {
        *self.0.entry(outcome).or_default() += 1;
    }

    /// Counts them at once: to find a counter takes longer than to count.
    fn count(self, stage: StageName) {
        for (outcome, messages) in self.0 {
            metric::EVENTS.add([stage.name().into(), outcome.into()], messages);
        }
    }
}

impl<S: Stage> Runner<S> {
    /// Decodes a message; one that cannot be decoded, or was delivered too often, becomes a dead
    /// letter.
    pub(super) async fn admit(&self, delivery: Delivery) -> Option<(Delivery, S::Item)> {
        let most = self.settings.max_attempts.saturating_mul(CRASH_FACTOR);
        if delivery.attempt > most.saturating_add(self.held.most()) {
            let reason = format!("no outcome after {} deliveries", delivery.attempt - 1);
            if let Ok(item) = self.decode(&delivery) {
                self.give_up(&item, "no_outcome").await;
            }
            self.dead_letter(delivery, &reason).await;
            return None;
        }
        match self.decode(&delivery) {
            Ok(item) => Some((delivery, item)),
            Err(reason) => {
                self.dead_letter(delivery, &reason).await;
                None
            }
        }
    }

    /// Decodes a message. It would panic at each delivery, so a panic is a reason like others.
    fn decode(&self, delivery: &Delivery) -> Result<S::Item, String> {
        let decoded =
            panics::catch_sync(self.stage.name().part(), || self.stage.decode(&delivery.payload));
        decoded.unwrap_or_else(|_panicked| Err(PANICKED.to_owned()))
    }

    /// Lets the stage know of a dead letter. It becomes one whatever the stage makes of it.
    async fn give_up(&self, item: &S::Item, reason: &str) {
        let call = self.stage.on_dead_letter(item, reason);
        let _ = panics::catch(self.stage.name().part(), call).await;
    }

    /// Works on a batch until everything in it has its own outcome other than waiting: messages
    /// that failed together are retried in halves, so that the failure falls on the poisonous
    /// message alone.
    pub(super) async fn work(&self, chunk: Batch<S::Item>) {
        let mut parts = vec![chunk];
        while let Some(part) = parts.pop() {
            match self.work_on(part, &parts).await {
                Some(failed) => parts.extend(failed.halves()),
                // Stopped: the rest is redelivered after the restart.
                None => return,
            }
        }
    }

    /// Works on a part until nothing in it waits, while `others` keep their leases. Returns the
    /// messages that failed together with others; `None` if stopped.
    async fn work_on(
        &self,
        mut part: Batch<S::Item>,
        others: &[Batch<S::Item>],
    ) -> Option<Batch<S::Item>> {
        let (mut failed, mut pause, mut wait) = (Batch::new(), BACKOFF.first, self.waits.watch());
        loop {
            let (outcomes, divisible) = self.handle(&part, others).await;
            let divide = divisible && part.len() > 1;
            let (mut waiting, mut settled) = (Batch::new(), Settled::default());
            for ((delivery, item), outcome) in part.into_pairs().zip(outcomes) {
                match outcome {
                    Err(Unfinished::Retry(_) | Unfinished::Drop(_) | Unfinished::Cancelled(_))
                        if divide =>
                    {
                        failed.push(delivery, item);
                    }
                    Err(Unfinished::Unavailable(reason) | Unfinished::Cancelled(reason)) => {
                        if waiting.is_empty() {
                            log_reason!(warn, reason, stage = %self.stage.name(), "waiting");
                            wait.goes_on(&reason);
                        }
                        waiting.push(delivery, item);
                    }
                    outcome => {
                        settled.add(name_of(&outcome));
                        self.settle(delivery, &item, outcome).await;
                    }
                }
            }
            settled.count(self.stage.name());
            if waiting.is_empty() {
                return Some(failed);
            }
            part = waiting;
            for leased in others.iter().chain([&part, &failed]) {
                leased.extend().await;
            }
            self.rest(pause).await?;
            pause = BACKOFF.after(Some(pause));
        }
    }

    /// Calls the stage, extending the leases while it works. Returns, beside the outcomes, whether
    /// the same call with fewer messages may have other outcomes soon.
    async fn handle(
        &self,
        part: &Batch<S::Item>,
        others: &[Batch<S::Item>],
    ) -> (Vec<Outcome>, bool) {
        let started = Instant::now();
        let stage = self.stage.name();
        let spans = CallSpans::begin(stage, self.bus.system(), &part.deliveries);
        let span = match &part.deliveries[..] {
            [one] => {
                tracing::info_span!("event", id = %one.id, stage = %stage, trace_id = Empty)
            }
            many => tracing::debug_span!("events", count = many.len(), stage = %stage),
        };
        if let Some(id) = spans.trace_id() {
            span.record("trace_id", id);
        }
        // Made inside of it: an `async fn` of a trait may be a plain function that panics.
        let call = async { self.stage.handle(&part.items).await };
        let call = spans.run(panics::catch(stage.part(), call)).instrument(span);
        let call = tokio::time::timeout(self.stage.timeout(), call);
        let mut call = std::pin::pin!(call);
        let mut extend = tokio::time::interval(self.settings.lease / 3);
        extend.tick().await;
        let done = loop {
            tokio::select! {
                done = &mut call => break done,
                _ = extend.tick() => {
                    for leased in others.iter().chain([part]) {
                        leased.extend().await;
                    }
                }
            }
        };
        metric::STAGE_SECONDS.record([stage.name().into()], started.elapsed());
        let failed = |why: &str| vec![Err(Unfinished::Retry(why.into())); part.len()];
        let (outcomes, divisible) = match done {
            Ok(Ok(outcomes)) if outcomes.len() == part.len() => (outcomes, true),
            Ok(Ok(_)) => (failed("the stage lost count of its events"), true),
            Ok(Err(_panic)) => (failed("the stage panicked"), true),
            // Each half could take as long again.
            Err(_elapsed) => (failed("the stage took too long"), false),
        };
        spans.end(&outcomes);
        (outcomes, divisible)
    }

    /// Carries out the outcome of a message.
    async fn settle(&self, delivery: Delivery, item: &S::Item, outcome: Outcome) {
        let (stage, id) = (self.stage.name(), delivery.id.clone());
        self.tap.notify(stage.name(), &id, EventStep::from(&outcome));
        let settled = match outcome {
            Ok(()) => {
                debug!(stage = %stage, id, "done");
                delivery.ack().await
            }
            Err(Unfinished::Hold(reason)) => {
                let after = delay(delivery.attempt);
                debug!(stage = %stage, id, reason = reason.text, "held");
                self.held.note(&delivery);
                delivery.retry(after).await
            }
            Err(Unfinished::Retry(reason))
                if self.held.attempts(&delivery) >= self.settings.max_attempts =>
            {
                self.give_up(item, &reason.text).await;
                self.dead_letter(delivery, &reason.text).await;
                Ok(())
            }
            Err(
                Unfinished::Retry(reason)
                | Unfinished::Unavailable(reason)
                | Unfinished::Cancelled(reason),
            ) => {
                let after = delay(delivery.attempt);
                let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                let attempt = delivery.attempt;
                log_reason!(warn, reason, stage = %stage, id, attempt, after_ms, "retrying");
                delivery.retry(after).await
            }
            Err(Unfinished::Drop(reason)) => {
                self.give_up(item, &reason).await;
                self.dead_letter(delivery, &reason).await;
                Ok(())
            }
        };
        if let Err(error) = settled {
            self.unsettled(&id, &error);
        }
    }

    async fn dead_letter(&self, delivery: Delivery, reason: &str) {
        let (stage, id) = (self.stage.name(), delivery.id.clone());
        error!(stage = %stage, id, attempts = delivery.attempt, reason, "moved to the dead letters");
        metric::DEAD_LETTERS.add([stage.name().into()], 1);
        self.tap.notify(stage.name(), &id, EventStep::Dead);
        if let Err(error) = delivery.dead_letter(reason).await {
            self.unsettled(&id, &error);
        }
    }

    fn unsettled(&self, id: &str, error: &BusError) {
        let stage = self.stage.name();
        log_failure!(warn, error, stage = %stage, id, "will be delivered again");
    }
}
