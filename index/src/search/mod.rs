//! Finding messages: an index of chat messages on tantivy, its query language and highlights.
//!
//! What a person types is found where it occurs: as the beginning of words in scripts with spaces,
//! as a substring in scripts without (see [`query`]). The index is a cache of the store: it holds
//! no text to be read back, is thrown away when its version changes, and remembers in its own
//! commit how far it has got. All calls block.

mod collect;
mod compile;
mod directory;
mod highlight;
mod phrase;
pub mod query;
mod schema;
mod units;
mod writer;

use std::path::Path;

use tantivy::schema::Value;
use tantivy::{DocAddress, Index, IndexReader, ReloadPolicy, Searcher, TantivyDocument};

pub use collect::{BadCursor, Cursor};
pub use directory::Opened;
pub use highlight::{Snippet, highlight, snippet};
pub use query::{Query, QueryError};
pub use writer::{MessageWriter, WriterOptions};

use collect::{Best, Rank};
use compile::Compiler;
use schema::Fields;

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
    pub cursor: Option<Cursor>,
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
    /// How well it fits (BM25); 0 when sorted by time.
    pub score: f32,
}

/// A page of results.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPage {
    /// The hits, in order.
    pub hits: Vec<SearchHit>,
    /// How many messages match, on all pages together; exact.
    pub total: usize,
    /// Where the next page begins; `None` after the last.
    pub next: Option<Cursor>,
}

/// An index of chat messages. Clones share one index.
#[derive(Clone)]
pub struct MessageIndex {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    opened: Opened,
}

impl MessageIndex {
    /// Opens the index in the folder `dir`, which is made if it is not there. An index of another
    /// version, or one that cannot be read, is thrown away: [`MessageIndex::opened`] tells.
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        let (index, opened) = directory::open(dir)?;
        Self::new(index, opened)
    }

    /// Opens the index in the folder `dir` to search it, while another process writes it. `None`
    /// if there is none, if another version wrote it, or if it has never been committed; nothing
    /// is made or thrown away.
    pub fn open_existing(dir: &Path) -> Result<Option<Self>, IndexError> {
        let Some(index) = directory::open_existing(dir)? else {
            return Ok(None);
        };
        let index = Self::new(index, Opened::Kept)?;
        Ok(index.progress()?.is_some().then_some(index))
    }

    /// An empty index that lives in memory only.
    pub fn in_memory() -> Result<Self, IndexError> {
        let index = Index::builder()
            .schema(schema::schema().0)
            .tokenizers(schema::tokenizers())
            .create_in_ram()?;
        Self::new(index, Opened::Created)
    }

    fn new(index: Index, opened: Opened) -> Result<Self, IndexError> {
        // By hand: the writer here knows when, and a watching thread would only guess.
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { index, reader, fields: schema::schema().1, opened })
    }

    /// What was found when the index was opened; anything but [`Opened::Kept`] means that it is
    /// empty and wants to be built.
    pub fn opened(&self) -> Opened {
        self.opened
    }

    /// The one writer of the index.
    pub fn writer(&self, options: WriterOptions) -> Result<MessageWriter, IndexError> {
        MessageWriter::new(self.clone(), options)
    }

    /// Makes commits of a writer in another process visible here. A writer's own process sees them
    /// at once.
    pub fn refresh(&self) -> Result<(), IndexError> {
        Ok(self.reader.reload()?)
    }

    /// What the last commit said about its progress; `None` if the index was never committed.
    pub fn progress(&self) -> Result<Option<String>, IndexError> {
        Ok(self.index.load_metas()?.payload)
    }

    /// The number of messages in the index.
    pub fn doc_count(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Searches.
    pub fn search(&self, request: &SearchRequest<'_>) -> Result<SearchPage, IndexError> {
        let searcher = self.reader.searcher();
        let compiled = Compiler { fields: self.fields }.compile(request);
        // One more than asked for tells whether there is another page.
        let collector = Best {
            by_score: request.sort == Sort::Relevance && !request.query.text.wanted.is_empty(),
            after: request.cursor.map(|Cursor(rank)| rank),
            limit: request.limit.saturating_add(1),
        };
        let mut found = searcher.search(compiled.as_ref(), &collector)?;
        let is_last = found.best.len() <= request.limit;
        found.best.truncate(request.limit);
        let last = found.best.last().map(|&(rank, _)| Cursor(rank));
        let hits = found.best.iter().map(|&(rank, address)| self.hit(&searcher, rank, address));
        Ok(SearchPage {
            hits: hits.collect::<Result<_, _>>()?,
            total: found.total,
            next: last.filter(|_| !is_last),
        })
    }

    fn hit(
        &self,
        searcher: &Searcher,
        rank: Rank,
        address: DocAddress,
    ) -> Result<SearchHit, IndexError> {
        let document: TantivyDocument = searcher.doc(address)?;
        let key = document.get_first(self.fields.key);
        let ids = key.as_ref().and_then(Value::as_str).and_then(schema::split_key);
        let (channel_id, message_id) = ids.ok_or(IndexError::NoKey)?;
        Ok(SearchHit {
            channel_id: channel_id.to_owned(),
            message_id: message_id.to_owned(),
            sent_at: rank.sent_at,
            score: rank.score,
        })
    }
}

#[cfg(test)]
mod tests;
