//! Finding messages: an index of chat messages on tantivy, its query language and highlights.
//!
//! What a person types is found where it occurs: as the beginning of words in scripts with spaces,
//! as a substring in scripts without (see [`query`]); a question finds what holds much of it (see
//! [`SearchPage`]). The index is a cache of the store: it holds no text to be read back, is thrown
//! away when its version changes, and remembers in its own commit how far it has got. All calls
//! block.

mod batch;
mod collect;
mod compile;
mod cursor;
mod directory;
mod engine;
mod find;
mod generation;
mod highlight;
mod index;
mod join;
mod journal;
mod keys;
mod phrase;
pub mod query;
mod rebuild;
mod related;
mod schema;
mod statistics;
mod steady;
mod units;
mod writer;

pub use cursor::{BadCursor, Cursor};
pub use directory::Opened;
pub use highlight::{Snippet, highlight, snippet};
pub use index::MessageIndex;
pub use journal::Touched;
pub use keys::IndexedKey;
pub use query::{Query, QueryError};
pub use rebuild::Rebuild;
pub use writer::{BatchLimits, MessageWriter, WriterOptions};

use crate::fold::han::simplified;

/// Why the index could not do something.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// tantivy failed.
    #[error("the message index failed")]
    Engine(#[from] tantivy::TantivyError),
    /// The folder could not be read or written.
    #[error("cannot use the folder of the message index")]
    Folder(#[from] std::io::Error),
    /// Another writer, here or in another process, holds the index.
    #[error("the message index has a writer already")]
    WriterBusy,
    /// A rebuilt index has taken the place of the one that this writer writes: open another one
    /// and apply again what was not committed.
    #[error("the message index was rebuilt meanwhile")]
    Superseded,
    /// A rebuild is under way already, here or in another process.
    #[error("the message index is being rebuilt already")]
    RebuildBusy,
    /// An index that lives in memory only cannot be rebuilt beside itself.
    #[error("the message index has no folder")]
    NoFolder,
    /// A document in the index is not one of ours.
    #[error("a document of the message index has no key")]
    NoKey,
}

/// A message to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDoc {
    /// The channel's id.
    pub channel_id: String,
    /// The message's id, unique in its channel.
    pub message_id: String,
    /// The sender's id.
    pub sender_id: Option<String>,
    /// The message type, one of [`query::MESSAGE_TYPES`].
    pub kind: String,
    /// When it was sent, in milliseconds since 1970.
    pub sent_at: i64,
    /// What can be found in it: its text, a file name, an address, …
    pub text: String,
}

/// A change to the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexChange {
    /// Adds a message, or replaces it if it is there.
    Put(IndexDoc),
    /// Takes a message out; nothing happens if it is not there.
    Erase {
        /// The channel's id.
        channel_id: String,
        /// The message's id.
        message_id: String,
    },
    /// Takes all messages of a channel out, those put before this change; with the channel's
    /// messages put again and one commit after, the channel is rebuilt in place.
    EraseChannel {
        /// The channel's id.
        channel_id: String,
    },
}

/// What an index makes of text. An index with other options than it is opened with is another
/// version: it is thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// Whether text in Traditional characters is found by Simplified ones and the other way round.
    pub han_variants: bool,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { han_variants: true }
    }
}

impl IndexOptions {
    /// A folded character as an index with these options has it.
    #[inline]
    fn fold_char(self, c: char) -> char {
        if self.han_variants { simplified(c) } else { c }
    }
}

/// The order of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// What fits best first; of equal fit, the newest.
    #[default]
    Relevance,
    /// The newest first.
    Newest,
}

/// What is searched for. Every limit given here holds beside those of the query itself.
#[derive(Clone, Copy, Debug)]
pub struct SearchRequest<'a> {
    /// The query.
    pub query: &'a Query,
    /// Only these channels; all if `None`, no results at all if empty.
    pub channels: Option<&'a [&'a str]>,
    /// Only from these senders.
    pub senders: Option<&'a [&'a str]>,
    /// Only this message type.
    pub kind: Option<&'a str>,
    /// Sent at this moment or later, in milliseconds since 1970.
    pub from: Option<i64>,
    /// Sent before this moment, in milliseconds since 1970.
    pub to: Option<i64>,
    /// The order of results.
    pub sort: Sort,
    /// The most hits on a page.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<&'a Cursor>,
}

impl<'a> SearchRequest<'a> {
    /// A search in all channels without limits, best first, 50 hits a page.
    pub fn new(query: &'a Query) -> Self {
        Self {
            query,
            channels: None,
            senders: None,
            kind: None,
            from: None,
            to: None,
            sort: Sort::Relevance,
            limit: 50,
            cursor: None,
        }
    }
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The channel's id.
    pub channel_id: String,
    /// The message's id.
    pub message_id: String,
    /// When it was sent, in milliseconds since 1970.
    pub sent_at: i64,
    /// How well it fits (BM25); 0 when sorted by time. Scores of exact and of related messages
    /// are not to be compared.
    pub score: f32,
    /// Whether it holds all that was asked for; otherwise it is a related message.
    pub is_exact: bool,
}

/// A page of results.
///
/// Listed are the messages that hold everything asked for: every word, in any order. If there is
/// none, or if the query asks a question (a word ends in a question mark), *related* messages
/// follow: those that hold at least a tenth of the unquoted words and pairs of characters, rare
/// ones counting more. Phrases in quotes, words with `-` and all filters hold for related messages
/// too. `total` counts exactly what is listed on all pages. Whether there are related messages is
/// decided on the first page, and its cursor also carries the word frequencies that rank the
/// result, so later pages go on where the first ended, whatever is indexed, merged or erased
/// meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPage {
    /// The hits, in order.
    pub hits: Vec<SearchHit>,
    /// How many messages match, on all pages together; exact.
    pub total: usize,
    /// Where the next page begins; `None` after the last.
    pub next: Option<Cursor>,
}

#[cfg(test)]
mod tests;
