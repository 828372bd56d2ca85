//! Query as it was understood, and the snippets that it makes of found messages.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use chatkeep_index::search::{self, Highlighter, Query};
use chatkeep_view::when::first;
use chrono_tz::Tz;
use serde::Serialize;

use super::SearchError;

/// Parsed query.
#[derive(Clone, Debug)]
pub struct ParsedQuery(pub(super) Query);

/// Generator of snippets for the hits of a query.
#[derive(Clone, Debug)]
pub struct SnippetGenerator(Highlighter);

/// Part of a message around its matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// Text of the part, with `…` where text is left out.
    pub text: String,
    /// Matches, in order.
    pub highlights: Vec<Highlight>,
}

/// Range of a match, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Highlight {
    /// Offset of the first character.
    pub start: usize,
    /// Offset after the last character.
    pub end: usize,
}

impl ParsedQuery {
    /// Parses a query whose days begin that many minutes east of UTC.
    ///
    /// # Errors
    /// Returns [`SearchError::Query`] if it is invalid.
    pub fn parse(query: &str, utc_offset: i32) -> Result<Self, SearchError> {
        let query = Query::parse_at(query, utc_offset);
        query.map(Self).map_err(|error| SearchError::Query(error.to_string()))
    }

    /// Parses a query whose days and local times are those of `zone`.
    ///
    /// # Errors
    /// Returns [`SearchError::Query`] if it is invalid.
    pub fn parse_in(query: &str, zone: Tz) -> Result<Self, SearchError> {
        let query = Query::parse_in(query, |local| first(zone, local).map(Timestamp::millis));
        query.map(Self).map_err(|error| SearchError::Query(error.to_string()))
    }

    /// Returns the time that `after:` and `before:` leave.
    pub fn times(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let time = |millis: Option<i64>| millis.map(Timestamp::from_millis);
        (time(self.0.after), time(self.0.before))
    }

    /// Returns the operands of `from:`, names and ids alike.
    pub fn names(&self) -> BTreeSet<&str> {
        self.0.from.wanted.iter().chain(&self.0.from.unwanted).map(String::as_str).collect()
    }

    /// Returns the query with the ids of these people in place of their names.
    pub(super) fn resolved(&self, people: &BTreeMap<String, Vec<UserId>>) -> Query {
        let mut query = self.0.clone();
        query.resolve_senders(|name| {
            let ids = people.get(name).into_iter().flatten();
            ids.map(|id| id.as_str().to_owned()).collect()
        });
        query
    }

    /// Returns the generator of snippets of found messages.
    pub fn snippet_generator(&self) -> SnippetGenerator {
        SnippetGenerator(Highlighter::new(&self.0))
    }
}

impl SnippetGenerator {
    /// Returns at most `max` characters of a found message's searchable text
    /// (`Content::searchable`), with matches highlighted.
    pub fn snippet(&self, text: &str, max: usize) -> Snippet {
        let search::Snippet { text, highlights } = self.0.snippet(text, max);
        let mark = |range: std::ops::Range<usize>| Highlight { start: range.start, end: range.end };
        Snippet { text, highlights: highlights.into_iter().map(mark).collect() }
    }
}
