//! Delayed messages of one consumer, in memory by time, and those of their changes that the file
//! does not have yet.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chatkeep_core::time::Timestamp;

/// Maximum time for which anything is postponed: several times the longest pause between attempts.
const LONGEST: Duration = Duration::from_hours(1);

/// Message that is not delivered before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Postponed {
    pub(super) attempts: u32,
    pub(super) not_before: Timestamp,
    /// The message is for this consumer alone.
    pub(super) only: bool,
}

/// Unsaved changes by sequence number; `None`: no longer delayed.
pub(super) type DelayChanges = BTreeMap<i64, Option<Postponed>>;

#[derive(Debug, Default)]
pub(super) struct Delays {
    entries: BTreeMap<i64, Postponed>,
    due: BTreeSet<(Timestamp, i64)>,
    unsaved: DelayChanges,
}

impl Delays {
    /// Restores the delays from the file: sequence number, attempts, time in milliseconds.
    pub(super) fn restored(rows: &[(i64, u32, i64)]) -> Self {
        let mut delays = Self::default();
        for &(seq, attempts, at) in rows {
            let not_before = Timestamp::from_millis(at);
            let entry = Postponed { attempts, not_before, only: false };
            delays.set(seq, entry);
        }
        delays.unsaved.clear();
        delays
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the smallest sequence number.
    pub(super) fn first(&self) -> Option<i64> {
        self.entries.first_key_value().map(|(&seq, _)| seq)
    }

    pub(super) fn contains(&self, seq: i64) -> bool {
        self.entries.contains_key(&seq)
    }

    pub(super) fn set(&mut self, seq: i64, entry: Postponed) {
        self.entries.insert(seq, entry);
        self.due.insert((entry.not_before, seq));
        self.unsaved.insert(seq, Some(entry));
    }

    pub(super) fn take(&mut self, seq: i64) -> Option<Postponed> {
        let entry = self.entries.remove(&seq)?;
        self.due.remove(&(entry.not_before, seq));
        self.unsaved.insert(seq, None);
        Some(entry)
    }

    /// Removes and returns the message that has been due the longest. One whose time is too far in
    /// the future was postponed by a wrong clock, and is due.
    pub(super) fn take_due(&mut self, clock: Timestamp) -> Option<(i64, Postponed)> {
        let is_due = |at: Timestamp| at <= clock || at.since(clock) > LONGEST;
        let &(_, seq) = self.due.first().filter(|(at, _)| is_due(*at))?;
        self.take(seq).map(|entry| (seq, entry))
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        self.due.first().map(|&(at, _)| at)
    }

    /// Takes the unsaved changes; they must be given back when writing fails.
    pub(super) fn save(&mut self) -> DelayChanges {
        std::mem::take(&mut self.unsaved)
    }

    /// Restores changes that could not be written; later changes win.
    pub(super) fn restore_unsaved(&mut self, changes: DelayChanges) {
        for (seq, entry) in changes {
            self.unsaved.entry(seq).or_insert(entry);
        }
    }
}
