//! Query as it was understood, and the snippets that it makes of found messages.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use chatkeep_index::search::{self, HasFilter, Highlighter, Query};
use chatkeep_view::when::first;
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::SearchError;

/// Query with what it means in a time zone. Sent to other processes as it was typed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "TypedQuery", into = "TypedQuery")]
pub struct ParsedQuery {
    typed: TypedQuery,
    pub(super) query: Query,
}

/// Query as typed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct TypedQuery {
    text: String,
    /// Zone of its days and local times.
    time_zone: Tz,
}

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
    /// Parses a query whose days and local times are those of `zone`.
    ///
    /// # Errors
    /// Returns [`SearchError::Query`] if it is invalid.
    pub fn parse(text: &str, zone: Tz) -> Result<Self, SearchError> {
        TypedQuery { text: text.to_owned(), time_zone: zone }.try_into()
    }

    /// Returns the query with its days and local times in another zone.
    ///
    /// # Errors
    /// Returns [`SearchError::Query`] if a time is beyond the range of a calendar there.
    pub fn in_zone(self, zone: Tz) -> Result<Self, SearchError> {
        if zone == self.typed.time_zone || self.times() == (None, None) {
            return Ok(self);
        }
        TypedQuery { time_zone: zone, ..self.typed }.try_into()
    }

    /// Returns the time that `after:` and `before:` leave.
    pub fn times(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let time = |millis: Option<i64>| millis.map(Timestamp::from_millis);
        (time(self.query.after), time(self.query.before))
    }

    /// Returns true if it asks for words in pictures, videos or sounds, which have none.
    pub fn wants_words_of_media(&self) -> bool {
        let Query { text, types, has, .. } = &self.query;
        let wordless = |kind: &&str| ["image", "video", "audio"].contains(kind);
        let is_media = has.wanted.contains(&HasFilter::Media)
            || !types.wanted.is_empty() && types.wanted.iter().all(wordless);
        is_media && !text.wanted.is_empty()
    }

    /// Returns the operands of `from:`, names and ids alike.
    pub fn names(&self) -> BTreeSet<&str> {
        let from = &self.query.from;
        from.wanted.iter().chain(&from.unwanted).map(String::as_str).collect()
    }

    /// Returns the query with the ids of these people in place of their names.
    pub(super) fn resolved(&self, people: &BTreeMap<String, Vec<UserId>>) -> Query {
        let mut query = self.query.clone();
        query.resolve_senders(|name| {
            let ids = people.get(name).into_iter().flatten();
            ids.map(|id| id.as_str().to_owned()).collect()
        });
        query
    }

    /// Returns the generator of snippets of found messages.
    pub fn snippet_generator(&self) -> SnippetGenerator {
        SnippetGenerator(Highlighter::new(&self.query))
    }
}

impl From<ParsedQuery> for TypedQuery {
    fn from(parsed: ParsedQuery) -> Self {
        parsed.typed
    }
}

impl TryFrom<TypedQuery> for ParsedQuery {
    type Error = SearchError;

    fn try_from(typed: TypedQuery) -> Result<Self, SearchError> {
        let point = |local| first(typed.time_zone, local).map(Timestamp::millis);
        match Query::parse_in(&typed.text, point) {
            Ok(query) => Ok(Self { typed, query }),
            Err(error) => Err(SearchError::Query(error.to_string())),
        }
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
