//! Events that were passed over: a reader or a delivery left one out, because the search did not find
//! its message after an edit.
//!
//! A comparison that leaves an event out notes it, and looks again after that. So the edit by which
//! the search finds the message again is either seen then, or logged after the note, and whoever
//! compares it tells of the message by a new event, in place of the one that was passed over.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, SavedSearchId};
use serde::Serialize;

use super::super::db::{Sql, locking};
use super::super::{SavedSearchStore, StoreError};
use crate::query::{query, query_as};

/// Event that tells of a hit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SearchEvent {
    /// Saved search.
    pub search: SavedSearchId,
    /// Channel of the message.
    pub channel: ChannelId,
    /// Message.
    pub message: MessageId,
    /// Sequence number of the event.
    pub seq: i64,
}

/// State of an event that tells of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEventState {
    /// It tells of the hit, and nobody is known to have passed it over. So does one whose hit is
    /// forgotten.
    Current,
    /// Somebody passed it over: the next comparison that finds the message tells of it anew.
    PassedOver,
    /// A newer event tells of the hit.
    Superseded,
}

const STATES: &str = "
    SELECT CAST(j.value ->> 'n' AS BIGINT), h.event_seq, h.passed_over
    FROM json_each($1) j CROSS JOIN saved_search_hits h
    WHERE h.saved_search_id = j.value ->> 's' AND h.channel_id = j.value ->> 'c'
      AND h.message_id = j.value ->> 'm'";
/// Locked before its hits, as by whoever adds some.
const LOCK_SEARCHES: Sql = locking!(
    "SELECT saved_search_id FROM saved_searches
     WHERE saved_search_id IN (SELECT value ->> 's' FROM json_each($1)) ORDER BY saved_search_id"
);
const PASS_OVER: &str = "
    UPDATE saved_search_hits SET passed_over = 1
    FROM json_each($1) j
    WHERE saved_search_id = j.value ->> 's' AND channel_id = j.value ->> 'c'
      AND message_id = j.value ->> 'm'
      AND COALESCE(event_seq, CAST(j.value ->> 'seq' AS BIGINT)) = CAST(j.value ->> 'seq' AS BIGINT)";

/// Element of the JSON lists that these statements read.
#[derive(Serialize)]
struct EventKey<'a> {
    n: usize,
    s: &'a str,
    c: &'a str,
    m: &'a str,
    seq: i64,
}

impl SavedSearchStore<'_> {
    /// Returns the state of each of these events.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn event_states(
        &self,
        events: &[SearchEvent],
    ) -> Result<Vec<SearchEventState>, StoreError> {
        let keys = event_keys(events)?;
        let rows: Vec<(i64, Option<i64>, i64)> =
            self.store.db.fetch_all(query_as(STATES).bind(&keys)).await?;
        let mut states = vec![SearchEventState::Current; events.len()];
        for (n, event_seq, passed_over) in rows {
            let Some(nth) = usize::try_from(n).ok().filter(|n| *n < events.len()) else { continue };
            states[nth] = if event_seq.is_some_and(|seq| seq != events[nth].seq) {
                SearchEventState::Superseded
            } else if passed_over != 0 {
                SearchEventState::PassedOver
            } else {
                SearchEventState::Current
            };
        }
        Ok(states)
    }

    /// Notes that these events were passed over, unless newer ones tell of their hits.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn pass_over(&self, events: &[SearchEvent]) -> Result<(), StoreError> {
        let keys = event_keys(events)?;
        let mut tx = self.store.db.begin().await?;
        let _: Vec<(String,)> = tx.fetch_all(query_as(LOCK_SEARCHES).bind(&keys)).await?;
        tx.execute(query(PASS_OVER).bind(&keys)).await?;
        tx.commit().await
    }
}

fn event_keys(events: &[SearchEvent]) -> Result<String, StoreError> {
    let keys: Vec<_> = events.iter().enumerate().map(EventKey::of).collect();
    Ok(serde_json::to_string(&keys)?)
}

impl<'a> EventKey<'a> {
    fn of((n, event): (usize, &'a SearchEvent)) -> Self {
        let SearchEvent { search, channel, message, seq } = event;
        Self { n, s: search.as_str(), c: channel.as_str(), m: message.as_str(), seq: *seq }
    }
}
