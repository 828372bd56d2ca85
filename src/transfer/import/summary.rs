//! What an import tells: while it runs, and in the end.

use serde::Serialize;

/// Lines that are shown when they are not understood.
const SHOWN: usize = 5;
/// How much of each, in characters.
const WIDTH: usize = 80;

/// What came of an import.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// Messages that are kept now and were not before.
    pub(crate) stored: u64,
    /// Messages that were known already.
    pub(crate) known: u64,
    /// Media files that are stored now and were not before.
    pub(crate) files: u64,
    /// Media files that are larger than this service keeps.
    pub(crate) files_too_large: u64,
    /// Messages that were erased once, or whose sender was.
    pub(crate) erased: u64,
    /// Lines that tell what happened in the chat instead of what somebody said.
    pub(crate) happened: u64,
    /// Lines that were not understood.
    pub(crate) not_understood: u64,
    /// The first of them.
    pub(crate) lines: Vec<Unknown>,
    /// Whether every subscriber's quota is full.
    pub(crate) full: bool,
    /// Messages that were left out because of that.
    pub(crate) left: u64,
}

/// A line that was not understood.
#[derive(Debug, Serialize)]
pub(crate) struct Unknown {
    /// Its number, from 1.
    pub(crate) line: u64,
    /// Why, where there is more to say than that.
    pub(crate) why: Option<String>,
    /// Its beginning.
    pub(crate) text: String,
}

/// How far an import is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Bytes read.
    pub(crate) read: u64,
    /// Bytes there are.
    pub(crate) total: u64,
    /// Messages dealt with.
    pub(crate) messages: u64,
}

impl Summary {
    /// Takes note of a line that was not understood.
    pub(super) fn unknown(&mut self, line: u64, why: Option<String>, text: &str) {
        self.not_understood += 1;
        if self.lines.len() < SHOWN {
            let mut short: String = text.chars().take(WIDTH).collect();
            if short.len() < text.len() {
                short.push('…');
            }
            self.lines.push(Unknown { line, why, text: short });
        }
    }
}
