//! Messages held by one consumer: leased until a time, or ready for redelivery.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(super) struct LeasedMessage {
    pub(super) attempts: u32,
    /// End of the lease; `None`: ready for redelivery.
    until: Option<Instant>,
    /// The message is for this consumer alone.
    pub(super) only: bool,
}

#[derive(Debug, Default)]
pub(super) struct Leases {
    held: BTreeMap<i64, LeasedMessage>,
    /// Messages of `held` that are ready for redelivery.
    again: BTreeSet<i64>,
    /// Lower bound of all lease expiries.
    next_expiry: Option<Instant>,
}

impl Leases {
    /// Restores the messages from the file (sequence number, attempts), all ready for redelivery,
    /// for their leases did not outlive the process.
    pub(super) fn restored(rows: &[(i64, u32)]) -> Self {
        let mut leases = Self::default();
        for &(seq, attempts) in rows {
            leases.give_back(seq, attempts, false);
        }
        leases
    }

    /// Returns the messages as they are written to the file.
    pub(super) fn save(&self) -> Vec<(i64, u32)> {
        self.held.iter().map(|(&seq, held)| (seq, held.attempts)).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Returns the smallest sequence number.
    pub(super) fn first(&self) -> Option<i64> {
        self.held.first_key_value().map(|(&seq, _)| seq)
    }

    pub(super) fn contains(&self, seq: i64) -> bool {
        self.held.contains_key(&seq)
    }

    /// Number of messages ready for redelivery.
    pub(super) fn waiting(&self) -> usize {
        self.again.len()
    }

    /// Returns the first `max` messages ready for redelivery.
    pub(super) fn redeliverable(&self, max: usize) -> Vec<i64> {
        self.again.iter().copied().take(max).collect()
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.next_expiry
    }

    /// Ends the expired leases.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.next_expiry.is_none_or(|at| now < at) {
            return;
        }
        for (&seq, held) in &mut self.held {
            if held.until.is_some_and(|until| until <= now) {
                held.until = None;
                self.again.insert(seq);
            }
        }
        self.next_expiry = self.held.values().filter_map(|held| held.until).min();
    }

    /// Adds a message that is ready for redelivery.
    pub(super) fn give_back(&mut self, seq: i64, attempts: u32, only: bool) {
        let until = None;
        let held = LeasedMessage { attempts, until, only };
        self.held.insert(seq, held);
        self.again.insert(seq);
    }

    /// Leases a message for its first attempt.
    pub(super) fn lease_new(&mut self, seq: i64, only: bool, until: Instant) {
        let attempts = 1;
        let held = LeasedMessage { attempts, until: Some(until), only };
        self.held.insert(seq, held);
        self.expects(until);
    }

    /// Leases a message for redelivery; returns the attempt, or `None` when the message has ended
    /// in the meantime.
    pub(super) fn lease_again(&mut self, seq: i64, only: bool, until: Instant) -> Option<u32> {
        if !self.again.remove(&seq) {
            return None;
        }
        let held = self.held.get_mut(&seq)?;
        held.attempts = held.attempts.saturating_add(1);
        held.until = Some(until);
        held.only = only;
        let attempts = held.attempts;
        self.expects(until);
        Some(attempts)
    }

    /// Renews the lease of an attempt, even an expired one if nobody took the message.
    pub(super) fn extend(&mut self, seq: i64, attempt: u32, until: Instant) {
        if let Some(held) = self.held.get_mut(&seq)
            && held.attempts == attempt
        {
            held.until = Some(until);
            self.again.remove(&seq);
            self.expects(until);
        }
    }

    pub(super) fn remove(&mut self, seq: i64) -> Option<LeasedMessage> {
        self.again.remove(&seq);
        self.held.remove(&seq)
    }

    /// Removes a message unless a later attempt has it.
    pub(super) fn remove_attempt(&mut self, seq: i64, attempt: u32) -> Option<LeasedMessage> {
        self.held.get(&seq).filter(|held| held.attempts == attempt)?;
        self.remove(seq)
    }

    fn expects(&mut self, until: Instant) {
        self.next_expiry = Some(self.next_expiry.map_or(until, |at| at.min(until)));
    }
}
