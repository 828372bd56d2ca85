//! Search request, as it is made in this process and sent to others.

use std::collections::BTreeMap;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::message::MessageType;
use chatkeep_core::time::Timestamp;
use chatkeep_index::search::{BadCursor, Cursor};
use serde::{Deserialize, Serialize};

use super::ParsedQuery;

/// Search request, with the channels that the caller may read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SearchRequest {
    /// Query.
    pub query: ParsedQuery,
    /// Channels to search: all that the caller may read, or some of them. Without any, there are no
    /// results.
    pub channels: Vec<ChannelId>,
    /// Users of the names in `from:` (see `ParsedQuery::people`); a name that is not here is
    /// taken for an id.
    pub people: BTreeMap<String, Vec<UserId>>,
    /// Sent at or after this time.
    pub from: Option<Timestamp>,
    /// Sent before this time.
    pub to: Option<Timestamp>,
    /// Sent by this user.
    pub sender: Option<UserId>,
    /// Only messages of this type.
    pub kind: Option<MessageType>,
    /// Sort order.
    pub sort: Sort,
    /// `true` to find related messages for questions alone.
    pub exact_only: bool,
    /// Maximum number of hits on a page.
    pub limit: usize,
    /// [`SearchResults::next`](super::SearchResults::next) of the previous page; valid for the same
    /// search only.
    pub cursor: Option<SearchCursor>,
}

/// Sort order of hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Sort {
    /// Best match first.
    #[default]
    Relevance,
    /// Newest first.
    Newest,
}

/// End of a page of results, at which the next one begins. A string for serde.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SearchCursor(pub(super) Cursor);

impl SearchRequest {
    /// Creates a request for the first page, best match first, of a query in these channels.
    pub const fn new(query: ParsedQuery, channels: Vec<ChannelId>, limit: usize) -> Self {
        Self {
            query,
            channels,
            people: BTreeMap::new(),
            from: None,
            to: None,
            sender: None,
            kind: None,
            sort: Sort::Relevance,
            exact_only: false,
            limit,
            cursor: None,
        }
    }
}

impl From<SearchCursor> for String {
    fn from(SearchCursor(cursor): SearchCursor) -> Self {
        cursor.to_string()
    }
}

impl TryFrom<String> for SearchCursor {
    type Error = BadCursor;

    fn try_from(text: String) -> Result<Self, BadCursor> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::*;

    #[test]
    fn another_process_reads_what_this_one_sent() {
        let zone: Tz = "Asia/Taipei".parse().unwrap();
        let query = ParsedQuery::parse("after:2026-01-02 from:Ann lunch", zone).unwrap();
        let cursor = SearchCursor::try_from("e.0.5.5..1.0_0.".to_owned()).unwrap();
        let request = SearchRequest {
            people: BTreeMap::from([("Ann".to_owned(), vec!["U1".into()])]),
            from: Some(Timestamp::from_millis(7)),
            kind: Some(MessageType::Text),
            sort: Sort::Newest,
            cursor: Some(cursor),
            ..SearchRequest::new(query, vec!["C1".into()], 10)
        };
        let sent = serde_json::to_value(&request).unwrap();
        let read: SearchRequest = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(read.query.times(), request.query.times());
        assert_eq!(read.cursor, request.cursor);
        assert_eq!(serde_json::to_value(&read).unwrap(), sent);
    }

    #[test]
    fn what_is_no_query_or_no_cursor_is_no_request() {
        let query = ParsedQuery::parse("lunch", Tz::UTC).unwrap();
        let good = serde_json::to_value(SearchRequest::new(query, Vec::new(), 10)).unwrap();
        assert!(serde_json::from_value::<SearchRequest>(good.clone()).is_ok());
        for (at, bad) in [("/query/text", "type:song"), ("/cursor", "elsewhere")] {
            let mut request = good.clone();
            *request.pointer_mut(at).unwrap() = bad.into();
            assert!(serde_json::from_value::<SearchRequest>(request).is_err(), "{at}");
        }
    }
}
