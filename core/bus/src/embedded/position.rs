//! Position of one consumer of the embedded bus. Pure bookkeeping, without database or clock.
//!
//! A message is *held* from its delivery until it is acknowledged, and *postponed* after a retry
//! until its time; the consumer is *through* with everything else up to its cursor.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::time::Timestamp;
use tokio::sync::{Mutex, Notify};
use tokio::time::Instant;

use super::delays::{DelayChanges, Delays, Postponed};
use super::leases::Leases;
use crate::{ConsumerSpec, Stream};

/// Poll interval for rows that another process wrote (`chatkeep dead retry`).
const POLL: Duration = Duration::from_secs(1);

/// State shared by the members of one consumer in this process.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Held while messages are read, so that two members do not read the same ones.
    pub(super) reading: Mutex<()>,
    /// Notified when a message becomes deliverable or there is room for more.
    pub(super) wake: Notify,
}

/// Messages that a fetch reads next.
#[derive(Debug)]
pub(super) struct FetchPlan {
    /// Messages to deliver again.
    pub(super) again: Vec<i64>,
    /// Scan for new messages; `None` without room or without new messages.
    pub(super) scan: Option<Scan>,
}

/// Scan of up to `limit` messages after `cursor`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan {
    pub(super) cursor: i64,
    pub(super) limit: usize,
}

/// Position as read from the file.
#[derive(Debug)]
pub(super) struct StoredPosition {
    pub(super) name: String,
    pub(super) stream: Stream,
    pub(super) queue: Option<String>,
    pub(super) cursor: i64,
    pub(super) held: Leases,
    pub(super) postponed: Delays,
}

/// Position as written to the file.
#[derive(Debug)]
pub(super) struct SavedPosition {
    pub(super) name: String,
    pub(super) stream: Stream,
    pub(super) queue: Option<String>,
    pub(super) cursor: i64,
    /// Sequence number and attempts.
    pub(super) held: Vec<(i64, u32)>,
    pub(super) postponed: DelayChanges,
}

#[derive(Debug)]
pub(super) struct Position {
    name: String,
    stream: Stream,
    queue: Option<String>,
    lease: Duration,
    max_in_flight: usize,
    slot: Arc<Slot>,
    cursor: i64,
    held: Leases,
    postponed: Delays,
    /// `true` if the file is behind.
    changed: bool,
    /// Number of deliveries that must be written before they are handed out.
    careful: usize,
    polled_at: Option<Instant>,
    /// `true` once removed from the file.
    removed: bool,
}

impl Position {
    /// Creates a new consumer, positioned before all retained messages.
    pub(super) fn new(spec: &ConsumerSpec) -> Self {
        let queue = spec.queue.filter(|_| spec.stream == Stream::Jobs);
        let mut new = Self::restored(StoredPosition {
            name: spec.name.to_owned(),
            stream: spec.stream,
            queue: queue.map(str::to_owned),
            cursor: 0,
            held: Leases::default(),
            postponed: Delays::default(),
        });
        new.changed = true;
        new
    }

    /// Restores a consumer from the file.
    pub(super) fn restored(stored: StoredPosition) -> Self {
        let StoredPosition { name, stream, queue, cursor, held, postponed } = stored;
        Self {
            name,
            stream,
            queue,
            lease: Duration::ZERO,
            max_in_flight: 0,
            slot: Arc::default(),
            cursor,
            held,
            postponed,
            changed: false,
            careful: 0,
            polled_at: None,
            removed: false,
        }
    }

    /// Applies the properties that may change from start to start.
    ///
    /// Attempts are written a moment after the delivery, with the next group. A message that kills
    /// the process at once would never be counted; so after an unclean end the first deliveries
    /// are written before they are handed out.
    pub(super) fn configure(&mut self, spec: &ConsumerSpec, unclean: bool) {
        self.lease = spec.lease;
        self.max_in_flight = usize::try_from(spec.max_in_flight).unwrap_or(usize::MAX).max(1);
        self.careful = if unclean { self.max_in_flight.saturating_mul(2) } else { 0 };
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed
    }

    pub(super) fn remove(&mut self) {
        self.removed = true;
    }

    pub(super) fn stream(&self) -> Stream {
        self.stream
    }

    pub(super) fn queue(&self) -> Option<&str> {
        self.queue.as_deref()
    }

    pub(super) fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.slot)
    }

    pub(super) fn cursor(&self) -> i64 {
        self.cursor
    }

    /// Held and postponed messages.
    pub(super) fn outstanding(&self) -> usize {
        self.held.len() + self.postponed.len()
    }

    /// Returns the smallest sequence number of the held and postponed messages.
    pub(super) fn first_outstanding(&self) -> Option<i64> {
        self.held.first().into_iter().chain(self.postponed.first()).min()
    }

    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    /// Returns `true` if the consumer will never see this message again.
    pub(super) fn is_through(&self, seq: i64) -> bool {
        seq <= self.cursor && !self.held.contains(seq) && !self.postponed.contains(seq)
    }

    /// Plans the reads for at most `max` deliveries; `high` is the last sequence number written.
    pub(super) fn plan(
        &mut self,
        max: usize,
        now: Instant,
        clock: Timestamp,
        high: i64,
    ) -> FetchPlan {
        self.held.expire(now);
        self.recall(max, clock);
        let again = self.held.redeliverable(max);
        let room = self.max_in_flight.saturating_sub(self.held.len());
        let limit = room.min(max - again.len());
        let poll = self.polled_at.is_none_or(|at| now.duration_since(at) >= POLL);
        let cursor = self.cursor;
        let scan = (limit > 0 && (cursor < high || poll)).then_some(Scan { cursor, limit });
        if scan.is_some() {
            self.polled_at = Some(now);
        }
        FetchPlan { again, scan }
    }

    /// Recalls due postponed messages, as many as there is room for.
    fn recall(&mut self, max: usize, clock: Timestamp) {
        while self.held.waiting() < max && self.held.len() < self.max_in_flight {
            let Some((seq, entry)) = self.postponed.take_due(clock) else {
                break;
            };
            self.held.give_back(seq, entry.attempts, entry.only);
            self.changed = true;
        }
    }

    /// Leases a message of [`FetchPlan::again`]; returns the attempt, or `None` when the message
    /// was acknowledged in the meantime.
    pub(super) fn lease_again(&mut self, seq: i64, only: bool, now: Instant) -> Option<u32> {
        let attempt = self.held.lease_again(seq, only, now + self.lease)?;
        self.changed = true;
        Some(attempt)
    }

    /// Leases a message that the scan returned, for its first attempt.
    pub(super) fn lease_new(&mut self, seq: i64, only: bool, now: Instant) {
        self.held.lease_new(seq, only, now + self.lease);
        self.advance(seq);
    }

    /// Advances the cursor: everything up to `seq` was read.
    pub(super) fn advance(&mut self, seq: i64) {
        if seq > self.cursor {
            self.cursor = seq;
            self.changed = true;
        }
    }

    /// Returns `true` if these deliveries must be written before they are handed out.
    pub(super) fn is_careful(&mut self, deliveries: usize) -> bool {
        let careful = self.careful > 0;
        self.careful = self.careful.saturating_sub(deliveries);
        careful
    }

    /// Ends a message, whoever holds it. Returns `true` if it was for this consumer alone, or
    /// `None` when it had ended before.
    pub(super) fn finish(&mut self, seq: i64) -> Option<bool> {
        let only = match self.held.remove(seq) {
            Some(held) => held.only,
            // Its lease expired, the next holder requested a retry, and now the first one is done.
            None => self.postponed.take(seq)?.only,
        };
        self.changed = true;
        self.slot.wake.notify_waiters();
        Some(only)
    }

    /// Redelivers the message at `not_before`. `false` when the lease was lost to another holder.
    pub(super) fn postpone(&mut self, seq: i64, attempt: u32, not_before: Timestamp) -> bool {
        let Some(held) = self.held.remove_attempt(seq, attempt) else {
            return false;
        };
        let (attempts, only) = (held.attempts, held.only);
        self.postponed.set(seq, Postponed { attempts, not_before, only });
        self.changed = true;
        self.slot.wake.notify_waiters();
        true
    }

    /// Renews the lease.
    pub(super) fn extend(&mut self, seq: i64, attempt: u32, now: Instant) {
        self.held.extend(seq, attempt, now + self.lease);
    }

    /// Time until an empty fetch should read again unless it is notified before.
    pub(super) fn idle(&self, now: Instant, clock: Timestamp) -> Duration {
        let expiry = self.held.next_expiry().map(|at| at.saturating_duration_since(now));
        let room = self.held.len() < self.max_in_flight;
        let due = self.postponed.next().filter(|_| room).map(|at| at.since(clock));
        expiry.into_iter().chain(due).fold(POLL, Duration::min)
    }

    /// Takes the unsaved position; it must be given back when writing fails.
    pub(super) fn save(&mut self) -> SavedPosition {
        self.changed = false;
        SavedPosition {
            name: self.name.clone(),
            stream: self.stream,
            queue: self.queue.clone(),
            cursor: self.cursor,
            held: self.held.save(),
            postponed: self.postponed.save(),
        }
    }

    /// Restores a position that could not be written.
    pub(super) fn unsave(&mut self, saved: SavedPosition) {
        self.changed = true;
        self.postponed.restore_unsaved(saved.postponed);
    }
}

#[cfg(test)]
#[path = "position_edge_tests.rs"]
mod edge_tests;
