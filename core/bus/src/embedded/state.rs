//! In-memory state of the embedded bus: every consumer's position, the number of unfinished
//! messages, and the content of the next write to the file.
//!
//! Memory is ahead of the file by the acknowledgements of some milliseconds. One rule keeps the two
//! consistent: a message's row is deleted in the transaction that writes the positions which are
//! through with it.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use chatkeep_core::time::Timestamp;
use tokio::time::Instant;

use super::consumers::RemovedConsumer;
use super::position::{Position, SavedPosition};
use crate::{BusError, ConsumerSpec, Stream};

/// Interval over which acknowledgements gather when nothing else is written; a crash inside it
/// costs redeliveries, no losses. So does a power cut before the next commit that is synced.
pub(super) const FLUSH_INTERVAL: Duration = Duration::from_millis(20);

/// Dead letter to write.
#[derive(Clone, Debug)]
pub(super) struct PendingDeadLetter {
    pub(super) consumer: String,
    pub(super) stream: Stream,
    pub(super) queue: String,
    pub(super) subject: String,
    pub(super) message_id: String,
    pub(super) reason: String,
    pub(super) attempts: u32,
    pub(super) died_at: Timestamp,
    pub(super) payload: Bytes,
}

/// Changes written by one transaction.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) positions: Vec<(usize, SavedPosition)>,
    /// Messages that all consumers have finished.
    pub(super) finished: Vec<i64>,
    pub(super) dead_letters: Vec<PendingDeadLetter>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    consumers: Vec<Position>,
    waiting: [u64; 2],
    finished: Vec<i64>,
    dead_letters: Vec<PendingDeadLetter>,
    changed_at: Option<Instant>,
}

impl State {
    pub(super) fn add(&mut self, position: Position) -> usize {
        self.consumers.push(position);
        self.consumers.len() - 1
    }

    /// Consumers that were not removed.
    pub(super) fn consumers(&self) -> impl Iterator<Item = &Position> {
        self.consumers.iter().filter(|position| !position.is_removed())
    }

    /// Removes a consumer as it was removed from the file. Its key stays taken.
    ///
    /// Consumers went on meanwhile. What another one has finished since the file was looked at only
    /// waited for this one, and is finished now. What became finished before is counted already.
    pub(super) fn remove(&mut self, name: &str, removed: &RemovedConsumer) {
        if let Some(key) = self.find(name) {
            self.consumers[key].remove();
        }
        let counted: HashSet<i64> = self.finished.iter().copied().collect();
        let deleted = removed.deleted.iter().filter(|seq| !counted.contains(*seq)).count();
        let kept = removed.kept.iter().copied().filter(|seq| !counted.contains(seq));
        let finished: Vec<i64> = kept.filter(|seq| self.is_through(*seq)).collect();
        self.note_deleted(removed.stream, deleted + finished.len());
        self.finished.extend(finished);
    }

    /// Returns `true` if every consumer has finished an event.
    pub(super) fn is_through(&self, seq: i64) -> bool {
        self.of_events().all(|consumer| consumer.is_through(seq))
    }

    /// Returns `true` if every other consumer has finished an event.
    pub(super) fn is_through_but_for(&self, name: &str, seq: i64) -> bool {
        self.of_events().filter(|other| other.name() != name).all(|other| other.is_through(seq))
    }

    /// Returns the sequence number up to which every consumer has read the events; `None` without
    /// consumers.
    pub(super) fn read_by_all(&self) -> Option<i64> {
        self.of_events().map(Position::cursor).min()
    }

    fn of_events(&self) -> impl Iterator<Item = &Position> {
        self.consumers().filter(|consumer| consumer.stream() == Stream::Events)
    }

    /// Number of messages of a stream that some consumer has yet to finish.
    pub(super) fn waiting(&self, stream: Stream) -> u64 {
        self.waiting[stream.index()]
    }

    pub(super) fn add_waiting(&mut self, stream: Stream, count: u64) {
        self.waiting[stream.index()] += count;
    }

    /// Counts messages as finished. Another process may have added some that were not counted here.
    pub(super) fn note_deleted(&mut self, stream: Stream, count: usize) {
        let waiting = &mut self.waiting[stream.index()];
        *waiting = waiting.saturating_sub(count as u64);
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.consumers.iter().position(|position| position.name() == name && !position.is_removed())
    }

    pub(super) fn position(&mut self, key: usize) -> &mut Position {
        &mut self.consumers[key]
    }

    /// Adds the consumer if it is new; returns its key. It starts with the oldest retained message.
    pub(super) fn ensure(&mut self, spec: &ConsumerSpec, unclean: bool) -> Result<usize, BusError> {
        let new = Position::new(spec);
        let key = if let Some(key) = self.find(spec.name) {
            let old = &self.consumers[key];
            if old.stream() != new.stream() || old.queue() != new.queue() {
                let name = spec.name;
                let why = format!("consumer {name} exists on another stream or queue");
                return Err(BusError::Config(why));
            }
            key
        } else {
            if let Some(rival) = self.consumers().find(|other| overlap(other, &new)) {
                let (name, rival) = (spec.name, rival.name());
                let why = format!("consumers {name} and {rival} receive the same jobs");
                return Err(BusError::Config(why));
            }
            self.add(new)
        };
        self.consumers[key].configure(spec, unclean);
        Ok(key)
    }

    /// Marks memory as ahead of the file; `true` when it was not before.
    pub(super) fn touch(&mut self, now: Instant) -> bool {
        let first = self.changed_at.is_none();
        self.changed_at.get_or_insert(now);
        first
    }

    /// Deadline for writing the changes.
    pub(super) fn flush_at(&self) -> Option<Instant> {
        self.changed_at.map(|at| at + FLUSH_INTERVAL)
    }

    /// Ends a message for one consumer, and for good when all others have finished it. `false` when
    /// it had ended before.
    pub(super) fn finish(&mut self, key: usize, seq: i64) -> bool {
        let Some(only) = self.consumers[key].finish(seq) else {
            return false;
        };
        if self.consumers[key].is_removed() {
            // What it had yet to finish went with it.
            return false;
        }
        let stream = self.consumers[key].stream();
        // A job is for one consumer; so is an event retried from the dead letters.
        if only || stream == Stream::Jobs || self.is_through(seq) {
            self.finished.push(seq);
            self.note_deleted(stream, 1);
        }
        true
    }

    pub(super) fn dead_letter(&mut self, key: usize, seq: i64, letter: PendingDeadLetter) {
        if self.finish(key, seq) {
            self.dead_letters.push(letter);
        }
    }

    /// Takes all changes that the file does not have yet.
    pub(super) fn take_changes(&mut self) -> Changes {
        self.changed_at = None;
        Changes {
            positions: self
                .consumers
                .iter_mut()
                .enumerate()
                .filter(|(_, position)| position.is_changed() && !position.is_removed())
                .map(|(key, position)| (key, position.save()))
                .collect(),
            finished: std::mem::take(&mut self.finished),
            dead_letters: std::mem::take(&mut self.dead_letters),
        }
    }

    /// Restores changes that could not be written, for another attempt at `not_before`.
    pub(super) fn restore(&mut self, changes: Changes, not_before: Instant) {
        for (key, saved) in changes.positions {
            self.consumers[key].unsave(saved);
        }
        self.finished.extend(changes.finished);
        self.dead_letters.extend(changes.dead_letters);
        self.changed_at = Some(not_before);
    }
}

/// Returns `true` if two consumers would take each other's jobs.
fn overlap(one: &Position, other: &Position) -> bool {
    one.stream() == Stream::Jobs
        && other.stream() == Stream::Jobs
        && (one.queue().is_none() || other.queue().is_none() || one.queue() == other.queue())
}
