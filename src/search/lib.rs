//! Search service: searches in the replica of this process, in that of another one over the bus, or
//! in the data folder of another process.
//!
//! The index holds no text and no names. So the caller resolves the names in `from:`
//! (`ParsedQuery::people`) before, and loads the found messages (`ParsedQuery::look_up`)
//! afterwards.
//!
//! [`saved_searches`] compares new messages with saved searches.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod batch;
#[cfg(test)]
mod batch_tests;
mod local;
mod lookup;
mod masked;
pub mod names;
#[cfg(test)]
mod names_tests;
mod parsed_query;
#[cfg(test)]
mod queries_tests;
pub mod remote;
mod request;
pub mod saved_searches;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_bus::Bus;
use chatkeep_core::causes::with_causes;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::outage::{Availability, Work};
use chatkeep_core::time::Timestamp;
use chatkeep_index::search::SharedIndex;
use chatkeep_workers::replica::Replica;
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use self::local::{find_in, find_in_folder};
use self::remote::request_remote;
pub use batch::{BatchQuery, MessageBatch};
pub use lookup::{QueryPeople, QuerySenders, SearchResult, SenderNames, UnknownName};
pub use parsed_query::{Highlight, ParsedQuery, Snippet, SnippetGenerator};
pub use request::{SearchCursor, SearchRequest, Sort};

/// Maximum number of channels of a caller that are searched, and found by their names.
pub const REACH: u32 = 10_000;

/// Page of search results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchResults {
    /// Hits in order.
    pub hits: Vec<Hit>,
    /// Number of messages on all pages together, related ones included.
    pub total: usize,
    /// Number of related ones among them.
    #[serde(default)]
    pub related: usize,
    /// `false` if there may be more than that.
    pub is_total_exact: bool,
    /// Cursor of the next page; `None` on the last one.
    pub next: Option<SearchCursor>,
}

/// Search hit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Channel of the message.
    pub channel: ChannelId,
    /// Id of the message.
    pub message: MessageId,
    /// Time at which it was sent.
    pub sent_at: Timestamp,
    /// Relevance score; 0 when sorted by time.
    pub score: f32,
    /// `true` if it does not hold all of the query.
    pub related: bool,
}

/// Error of a search.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum SearchError {
    /// Invalid query; the text is for the user who typed it.
    #[error("{0}")]
    Query(String),
    /// No index is available right now; the text is for the operator.
    #[error("search is unavailable: {0}")]
    Unavailable(String),
}

/// Search service over the replica of this process, or an index elsewhere. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SearchService {
    /// Replica of this process.
    local: Option<Replica>,
    elsewhere: SearchFallback,
    available: Availability,
}

/// Fallback when this process has no replica that is ready.
#[derive(Clone, Debug)]
pub enum SearchFallback {
    /// No fallback.
    Nowhere,
    /// Replica of another process, requested over the bus.
    Bus(Bus),
    /// Index that another process on this machine updates.
    Folder(SharedIndex),
}

impl SearchFallback {
    /// Searches the index in a folder, which another process on this machine updates.
    pub fn folder(folder: PathBuf) -> Self {
        Self::Folder(SharedIndex::new(folder))
    }
}

impl SearchService {
    /// Creates a service that searches `local` when it is ready, else `elsewhere`.
    pub fn new(local: Option<Replica>, elsewhere: SearchFallback) -> Self {
        let (address, setting) = match &elsewhere {
            SearchFallback::Nowhere => ("this process".to_owned(), "CHATKEEP_DATA"),
            SearchFallback::Bus(_) => {
                ("the replicas on the bus".to_owned(), "serve --roles search")
            }
            SearchFallback::Folder(index) => {
                (index.folder().display().to_string(), "CHATKEEP_DATA")
            }
        };
        Self { local, elsewhere, available: Availability::new("search", address, setting) }
    }

    /// The availability of search, wherever it is done.
    pub const fn availability(&self) -> &Availability {
        &self.available
    }

    /// Searches for nothing, to find out whether that works.
    #[boxed]
    pub async fn probe(&self) {
        if let Ok(query) = ParsedQuery::parse("x", Tz::UTC) {
            // The result is noted.
            let _ = self.find(SearchRequest::new(query, Vec::new(), 1)).await;
        }
    }

    /// Notes whether an index could be asked, unless something else is away that search needs.
    fn note(&self, found: &Result<SearchResults, SearchError>) {
        let bus = match &self.elsewhere {
            SearchFallback::Bus(bus) => bus.availability().is_troubled(),
            SearchFallback::Nowhere | SearchFallback::Folder(_) => false,
        };
        let replica = self.local.as_ref().is_some_and(Replica::is_troubled);
        match found {
            Err(SearchError::Unavailable(why)) if !bus && !replica => {
                self.available.fails(Work::Reading, why);
            }
            Ok(_) => self.available.works(Work::Reading),
            Err(_) => {}
        }
    }

    /// Searches.
    ///
    /// # Errors
    /// [`SearchError::Unavailable`] if no index is available.
    #[boxed]
    pub async fn find(&self, find: SearchRequest) -> Result<SearchResults, SearchError> {
        let found = self.find_anywhere(Arc::new(find)).await;
        self.note(&found);
        found
    }

    async fn find_anywhere(&self, find: Arc<SearchRequest>) -> Result<SearchResults, SearchError> {
        let here = match &self.local {
            Some(replica) => Some(find_in(replica, Arc::clone(&find)).await),
            None => None,
        };
        match (here, &self.elsewhere) {
            // Another replica may still be available.
            (None | Some(Err(SearchError::Unavailable(_))), SearchFallback::Bus(bus)) => {
                request_remote(bus, &find).await
            }
            (Some(found), _) => found,
            (None, SearchFallback::Folder(index)) => find_in_folder(index.clone(), find).await,
            (None, SearchFallback::Nowhere) => {
                Err(SearchError::Unavailable("no process has the role search".to_owned()))
            }
        }
    }
}

fn unavailable(error: &(dyn Error + 'static)) -> SearchError {
    SearchError::Unavailable(with_causes(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_for_names_and_marks_what_was_found() {
        let asked = ParsedQuery::parse("from:Ann -from:\"Bo Li\" from:Ann hello", Tz::UTC).unwrap();
        assert_eq!(asked.names().into_iter().collect::<Vec<_>>(), ["Ann", "Bo Li"]);
        let snippet = asked.snippet_generator().snippet("say hello", 100);
        let highlights = vec![Highlight { start: 4, end: 9 }];
        assert_eq!(snippet, Snippet { text: "say hello".to_owned(), highlights });
    }

    #[test]
    fn days_of_a_query_begin_by_the_clock_of_their_season() {
        let asked = "after:2026-01-10 before:2026-07-10 x";
        let parsed = ParsedQuery::parse(asked, "America/New_York".parse().unwrap()).unwrap();
        let (after, before) = parsed.times();
        assert_eq!(after.unwrap().to_string(), "2026-01-10T05:00:00.000Z");
        assert_eq!(before.unwrap().to_string(), "2026-07-10T04:00:00.000Z");
    }

    #[test]
    fn an_invalid_query_tells_why() {
        let bad = ParsedQuery::parse("type:song", Tz::UTC);
        assert!(matches!(bad, Err(SearchError::Query(why)) if why.contains("song")));
    }

    #[tokio::test]
    async fn a_folder_without_an_index_stays_without() {
        let folder = tempfile::TempDir::new().unwrap();
        let folder_of_index = SearchFallback::folder(folder.path().join("index"));
        let search = SearchService::new(None, folder_of_index);
        let query = ParsedQuery::parse("word", Tz::UTC).unwrap();
        let none = search.find(SearchRequest::new(query, Vec::new(), 10)).await;
        assert!(matches!(none, Err(SearchError::Unavailable(_))), "{none:?}");
        assert!(!folder.path().join("index").exists(), "only looked at");
    }
}
