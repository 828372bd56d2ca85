//! Searches in an index of this machine.

use std::sync::Arc;

use chatkeep_core::heavy::BlockingPool;
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::MessageType;
use chatkeep_core::outage::Work;
use chatkeep_core::time::Timestamp;
use chatkeep_index::search::{self, IndexSearch, MessageIndex, SharedIndex};
use chatkeep_workers::replica::Replica;

use super::{Hit, SearchCursor, SearchError, SearchRequest, SearchResults, Sort, unavailable};

/// Searches in a replica of this process.
pub(super) async fn find_in(
    replica: &Replica,
    find: Arc<SearchRequest>,
) -> Result<SearchResults, SearchError> {
    if let Some(reason) = replica.state().unready() {
        return Err(SearchError::Unavailable(reason));
    }
    let index = replica.index();
    let found = blocking(move || search(&index, &find)).await;
    match &found {
        Err(SearchError::Unavailable(why)) => replica.availability().fails(Work::Reading, why),
        _ => replica.availability().works(Work::Reading),
    }
    found
}

/// Searches in the index of another process on this machine.
pub(super) async fn find_in_folder(
    shared: SharedIndex,
    find: Arc<SearchRequest>,
) -> Result<SearchResults, SearchError> {
    blocking(move || search(&latest(&shared)?, &find)).await
}

fn latest(shared: &SharedIndex) -> Result<MessageIndex, SearchError> {
    let index = shared.latest().map_err(|error| unavailable(&error))?;
    index.ok_or_else(|| {
        let folder = shared.folder().display();
        SearchError::Unavailable(format!(
            "no process has the role search, and {folder} contains no index"
        ))
    })
}

/// Searches in indexes of this machine. Some of them wait for a disk.
static SEARCHES: BlockingPool = BlockingPool::new(|processors| 2 * processors);

async fn blocking(
    search: impl FnOnce() -> Result<SearchResults, SearchError> + Send + 'static,
) -> Result<SearchResults, SearchError> {
    SEARCHES.try_run(search).await.unwrap_or_else(|error| Err(unavailable(&error)))
}

pub(super) fn search(
    index: &MessageIndex,
    find: &SearchRequest,
) -> Result<SearchResults, SearchError> {
    // Its writer commits progress once it is complete.
    if index.position().is_none() {
        return Err(SearchError::Unavailable("the index is being filled".to_owned()));
    }
    let query = find.query.resolved(&find.people);
    let channels: Vec<_> = find.channels.iter().map(ChannelId::as_str).collect();
    let sender = find.sender.as_ref().map(|sender| [sender.as_str()]);
    let request = IndexSearch {
        channels: Some(&channels),
        senders: sender.as_ref().map(<[_; 1]>::as_slice),
        kind: find.kind.map(MessageType::name),
        from: find.from.map(Timestamp::millis),
        to: find.to.map(Timestamp::millis),
        sort: match find.sort {
            Sort::Relevance => search::Sort::Relevance,
            Sort::Newest => search::Sort::Newest,
        },
        exact_only: find.exact_only,
        limit: find.limit,
        cursor: find.cursor.as_ref().map(|SearchCursor(cursor)| cursor),
        ..IndexSearch::new(&query)
    };
    let page = index.search(&request).map_err(|error| unavailable(&error))?;
    let hits = page.hits.into_iter().map(|hit| Hit {
        channel: hit.channel_id.into(),
        message: hit.message_id.into(),
        sent_at: Timestamp::from_millis(hit.sent_at),
        score: hit.score,
        related: !hit.is_exact,
    });
    let next = page.next.map(SearchCursor);
    Ok(SearchResults {
        hits: hits.collect(),
        total: page.total,
        related: page.related,
        is_total_exact: page.is_total_exact,
        next,
    })
}
