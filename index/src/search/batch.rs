//! Pending changes of a writer since its last commit.

use std::time::Duration;

use super::journal;
use super::writer::BatchLimits;

/// The changes since the last commit.
#[derive(Default)]
pub(super) struct Batch {
    /// Touched messages, in the format of a rebuild's journal.
    touched: String,
    changes: usize,
    /// Size of text and ids, in bytes.
    bytes: usize,
}

impl Batch {
    /// Records that a message was put or erased, or all of a channel (`message_id` is `None`)
    /// erased, with `text` bytes of text.
    pub(super) fn touch(&mut self, channel_id: &str, message_id: Option<&str>, text: usize) {
        self.changes += 1;
        self.bytes += text + channel_id.len() + message_id.map_or(0, str::len);
        journal::push(&mut self.touched, channel_id, message_id);
    }

    pub(super) fn touched(&self) -> &str {
        &self.touched
    }

    /// Returns the number of changes.
    pub(super) fn changes(&self) -> usize {
        self.changes
    }

    /// Returns whether a limit is reached `waited` after the first change.
    pub(super) fn is_due(&self, limits: BatchLimits, waited: Duration) -> bool {
        self.changes >= limits.changes
            || self.bytes >= limits.bytes
            || (self.changes > 0 && waited >= limits.wait)
    }

    /// Starts a new batch.
    pub(super) fn clear(&mut self) {
        self.touched.clear();
        (self.changes, self.bytes) = (0, 0);
    }
}
