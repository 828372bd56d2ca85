//! Consumer of the embedded bus: reads messages in order, leases and settles them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_core::time::Timestamp;
use chatkeep_core::trace::TraceContext;
use tokio::sync::watch;
use tokio::time::Instant;

use super::Inner;
use super::position::{FetchPlan, Slot};
use super::read::{Filter, Row, read_again};
use super::state::{PendingDeadLetter, State};
use crate::{BusError, DeadLetterRequest, Delivery, Lease, Stream, subject};

/// One member of a consumer; members of the same name share its messages.
#[derive(Debug)]
pub struct EmbeddedConsumer {
    bus: Arc<Inner>,
    key: usize,
    slot: Arc<Slot>,
    high: watch::Receiver<i64>,
    filter: Filter,
}

/// Lease of one delivery.
#[derive(Debug)]
pub struct EmbeddedLease {
    bus: Arc<Inner>,
    key: usize,
    seq: i64,
    attempt: u32,
}

impl EmbeddedConsumer {
    pub(super) fn new(bus: Arc<Inner>, key: usize) -> Self {
        let mut state = bus.shared.state();
        let position = state.position(key);
        let slot = position.slot();
        let filter = Filter::of(position);
        drop(state);
        let high = bus.shared.high.subscribe();
        Self { bus, key, slot, high, filter }
    }

    pub(crate) async fn fetch(
        &mut self,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, BusError> {
        let deadline = Instant::now() + wait;
        let slot = Arc::clone(&self.slot);
        loop {
            // Subscribe before reading, so that no wake-up is missed in between.
            let mut wake = std::pin::pin!(slot.wake.notified());
            wake.as_mut().enable();
            let high = *self.high.borrow_and_update();
            let deliveries = self.take(max, high).await?;
            let now = Instant::now();
            if !deliveries.is_empty() || max == 0 || now >= deadline {
                return Ok(deliveries);
            }
            let clock = self.bus.shared.clock.now();
            let idle = self.bus.shared.state().position(self.key).idle(now, clock);
            tokio::select! {
                () = wake => {}
                changed = self.high.changed() => changed.map_err(|_| super::closed())?,
                () = tokio::time::sleep_until(deadline.min(now + idle)) => {}
            }
        }
    }

    /// Leases the messages that are available now.
    async fn take(&self, max: usize, high: i64) -> Result<Vec<Delivery>, BusError> {
        self.bus.check_open()?;
        let reading = self.slot.reading.lock().await;
        let clock = self.bus.shared.clock.now();
        let plan =
            self.bus.shared.state().position(self.key).plan(max, Instant::now(), clock, high);
        if plan.again.is_empty() && plan.scan.is_none() {
            return Ok(Vec::new());
        }
        let again = match plan.again.as_slice() {
            [] => (Vec::new(), true),
            seqs => read_again(&self.bus.readers, seqs).await?,
        };
        let new = match plan.scan {
            Some(scan) => self.filter.read(&self.bus.readers, scan).await?,
            None => (Vec::new(), false),
        };
        // A fetch that is cancelled before this has leased nothing. One that is cancelled in the
        // flush has: these messages are delivered again when their lease ends.
        let (deliveries, careful) = self.lease(&plan, again, new, high);
        drop(reading);
        if careful {
            self.bus.flush().await?;
        }
        Ok(deliveries)
    }

    fn lease(
        &self,
        plan: &FetchPlan,
        (again, all_again): (Vec<Row>, bool),
        (new, all): (Vec<Row>, bool),
        high: i64,
    ) -> (Vec<Delivery>, bool) {
        let now = Instant::now();
        let mut deliveries = Vec::with_capacity(again.len() + new.len());
        let careful = self.bus.shared.change(|state| {
            if all_again && again.len() < plan.again.len() {
                self.finish_missing_rows(state, plan, &again);
            }
            let position = state.position(self.key);
            for row in again {
                if let Some(attempt) = position.lease_again(row.0, row.5, now) {
                    deliveries.push(self.delivery(row, attempt));
                }
            }
            for row in new {
                position.lease_new(row.0, row.5, now);
                deliveries.push(self.delivery(row, 1));
            }
            if all {
                // Up to here there was nothing else for this consumer.
                position.advance(high);
            }
            !deliveries.is_empty() && position.is_careful(deliveries.len())
        });
        (deliveries, careful)
    }

    /// Ends messages without a row. A sound file has none; but one could never be delivered and
    /// would be read again without end.
    fn finish_missing_rows(&self, state: &mut State, plan: &FetchPlan, rows: &[Row]) {
        for &seq in &plan.again {
            // One that was acknowledged late, after the plan, has ended already.
            if rows.iter().all(|row| row.0 != seq) && state.finish(self.key, seq) {
                tracing::error!(seq, consumer = %self.filter.name, "the bus lost a message");
            }
        }
    }

    fn delivery(&self, row: Row, attempt: u32) -> Delivery {
        let (seq, subject, id, payload, published_at, _, trace) = row;
        let lease = EmbeddedLease { bus: Arc::clone(&self.bus), key: self.key, seq, attempt };
        Delivery {
            subject,
            id,
            payload: Bytes::from(payload),
            attempt,
            published_at: Timestamp::from_millis(published_at),
            trace: trace.as_deref().and_then(TraceContext::parse),
            lease: Lease::Embedded(lease),
        }
    }
}

impl EmbeddedLease {
    /// Records the acknowledgement in memory only: the file follows with the next group, and a
    /// crash before that costs a redelivery.
    pub(crate) fn ack(self) -> Result<(), BusError> {
        self.bus.check_open()?;
        self.bus.shared.change(|state| state.finish(self.key, self.seq));
        Ok(())
    }

    pub(crate) async fn retry(self, after: Duration) -> Result<(), BusError> {
        self.bus.check_open()?;
        let not_before = self.bus.shared.clock.now().plus(after);
        let held = self
            .bus
            .shared
            .change(|state| state.position(self.key).postpone(self.seq, self.attempt, not_before));
        if held { self.bus.flush().await } else { Ok(()) }
    }

    pub(crate) async fn dead_letter(self, letter: DeadLetterRequest<'_>) -> Result<(), BusError> {
        self.bus.check_open()?;
        let (stream, queue) = subject::parse(&letter.subject)?;
        let queue = if stream == Stream::Jobs { queue } else { "" }.to_owned();
        let died_at = self.bus.shared.clock.now();
        self.bus.shared.change(|state| {
            let letter = PendingDeadLetter {
                consumer: state.position(self.key).name().to_owned(),
                stream,
                queue,
                subject: letter.subject,
                message_id: letter.message_id,
                reason: letter.reason.to_owned(),
                attempts: letter.attempts,
                died_at,
                payload: letter.payload,
            };
            state.dead_letter(self.key, self.seq, letter);
        });
        self.bus.flush().await
    }

    pub(crate) fn progress(&self) -> Result<(), BusError> {
        self.bus.check_open()?;
        let mut state = self.bus.shared.state();
        state.position(self.key).extend(self.seq, self.attempt, Instant::now());
        Ok(())
    }
}
