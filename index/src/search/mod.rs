//! Message search: an index of chat messages on tantivy, its query language and highlights.
//!
//! A search text matches where it occurs: as the beginning of words in scripts with spaces, as a
//! substring in scripts without (see [`query`]); a question also matches messages with much of it
//! (see [`SearchPage`]). The index is a cache of the store: it holds no text to be read back, is
//! deleted when its version changes, and stores in its own commit how far it has got. All calls
//! block.

mod asking;
mod bare;
mod batch;
mod beginnings;
mod clusters;
mod collect;
mod compile;
mod conditions;
mod cursor;
mod directory;
mod drive;
mod engine;
mod excerpt;
mod extent;
mod find;
mod generation;
mod habits;
mod highlight;
mod index;
mod join;
mod journal;
mod keys;
mod known;
mod match_batch;
mod order;
mod phrase;
mod posting_cursor;
mod posting_list;
pub mod query;
mod rebuild;
mod related;
mod related_scorer;
mod related_window;
mod runs;
mod schema;
mod shared;
mod statistics;
mod tokenizer;
mod union;
mod units;
mod writer;

pub use cursor::{BadCursor, Cursor};
pub use directory::Opened;
pub use habits::Habit;
pub use highlight::{Highlighter, Snippet};
pub use index::MessageIndex;
pub use journal::Touched;
pub use keys::IndexedKey;
pub use match_batch::MatchBatch;
pub use query::{HasFilter, MAX_QUERY, Query, QueryError};
pub use rebuild::Rebuild;
pub use shared::SharedIndex;
pub use writer::{BatchLimits, MessageWriter, WriterOptions};

use crate::fold::han::simplified;

/// Error of the index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// tantivy failed.
    #[error("the message index failed")]
    Engine(#[from] tantivy::TantivyError),
    /// The folder could not be read or written.
    #[error("cannot use the folder of the message index")]
    Folder(#[from] std::io::Error),
    /// Another writer, here or in another process, holds the index.
    #[error("the message index already has a writer")]
    WriterBusy,
    /// A rebuilt index has replaced the one that this writer writes: open another writer and apply
    /// uncommitted changes again.
    #[error("the message index was rebuilt in the meantime")]
    Superseded,
    /// A rebuild is under way already, here or in another process.
    #[error("the message index is already being rebuilt")]
    RebuildBusy,
    /// An index that lives in memory only cannot be rebuilt beside itself.
    #[error("the message index has no folder")]
    NoFolder,
    /// A document in the index has no valid key.
    #[error("a document of the message index has no key")]
    NoKey,
}

/// A message to be indexed.
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
    /// Time at which it was sent, in milliseconds since 1970.
    pub sent_at: i64,
    /// Searchable text: the message's text, a file name, an address, …
    pub text: String,
}

/// A change to the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexChange {
    /// Adds a message, or replaces it if it exists.
    Put(IndexDoc),
    /// Erases a message; does nothing if it does not exist.
    Erase {
        /// The channel's id.
        channel_id: String,
        /// The message's id.
        message_id: String,
    },
    /// Erases all messages of a channel that were put before this change; with the channel's
    /// messages put again and one commit after, the channel is rebuilt in place.
    EraseChannel {
        /// The channel's id.
        channel_id: String,
    },
}

/// Options of the folding of an index. An index with other options than it is opened with counts as
/// another version: it is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// `true` if Traditional characters match Simplified ones and the other way round.
    pub han_variants: bool,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { han_variants: true }
    }
}

impl IndexOptions {
    /// Folds a character for an index with these options.
    #[inline]
    fn fold_char(self, c: char) -> char {
        if self.han_variants { simplified(c) } else { c }
    }
}

/// The order of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Best match first; of equal score, the newest.
    #[default]
    Relevance,
    /// Newest first.
    Newest,
}

/// A search request. Every filter given here applies beside those of the query itself.
#[derive(Clone, Copy, Debug)]
pub struct IndexSearch<'a> {
    /// Parsed query.
    pub query: &'a Query,
    /// Channels to search; all if `None`, no results at all if empty.
    pub channels: Option<&'a [&'a str]>,
    /// Senders to search.
    pub senders: Option<&'a [&'a str]>,
    /// Message type to search.
    pub kind: Option<&'a str>,
    /// Minimum time of sending, in milliseconds since 1970.
    pub from: Option<i64>,
    /// Exclusive maximum time of sending, in milliseconds since 1970.
    pub to: Option<i64>,
    /// The order of results.
    pub sort: Sort,
    /// `true` to find no related messages unless the query asks a question, not even where nothing
    /// matches completely.
    pub exact_only: bool,
    /// Maximum number of hits on a page.
    pub limit: usize,
    /// End of the previous page.
    pub cursor: Option<&'a Cursor>,
}

impl<'a> IndexSearch<'a> {
    /// Creates a request in all channels without filters, best first, 50 hits a page.
    pub fn new(query: &'a Query) -> Self {
        Self {
            query,
            channels: None,
            senders: None,
            kind: None,
            from: None,
            to: None,
            sort: Sort::Relevance,
            exact_only: false,
            limit: 50,
            cursor: None,
        }
    }
}

/// A message in the results.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The channel's id.
    pub channel_id: String,
    /// The message's id.
    pub message_id: String,
    /// Time at which it was sent, in milliseconds since 1970.
    pub sent_at: i64,
    /// Score (BM25); 0 for messages in order of time. Scores of exact and of related messages
    /// cannot be compared.
    pub score: f32,
    /// `true` if it matches completely; otherwise it is a related message.
    pub is_exact: bool,
}

/// A page of results.
///
/// The results are the messages that contain every word, in any order. If there is none, or if the
/// query asks a question (a word ends in a question mark), *related* messages follow: those that
/// contain at least a tenth of the unquoted words and pairs of characters (in Thai and its
/// neighbours: of clusters, a consonant with its vowels and marks), rare ones counting more.
/// Phrases in quotes, words with `-` and all filters apply to related messages too.
///
/// By relevance, a word weighs as much as it is rare in the channels searched; no others are
/// counted. Of more than 10,000 complete matches the newest 10,000 are ranked; older ones
/// follow, the newest first. Of a question whose words are in very many messages, those without
/// any of its rarer words are left out.
///
/// The messages to rank, the presence of related ones and the total are decided on the
/// first page, and its cursor also carries the word frequencies that rank the results, so later
/// pages continue where the first ended, whatever is indexed, merged or erased meanwhile. They look
/// at no more than the newest 20,000 complete matches: if 10,000 arrive between two pages, ranked
/// ones may be left out.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPage {
    /// Hits, in order.
    pub hits: Vec<SearchHit>,
    /// Number of matching messages on all pages together, as of the first page.
    pub total: usize,
    /// Number of related messages among them.
    pub related: usize,
    /// `false` if there are more than `total`: counting ends at 10,000 complete matches and 1,000
    /// related messages where it would cost more than searching.
    pub is_total_exact: bool,
    /// Start of the next page; `None` after the last.
    pub next: Option<Cursor>,
}

#[cfg(test)]
mod tests;
