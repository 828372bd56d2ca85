//! Reporting of hits: the follower of the event log, whose position and whose hits are stored
//! together.
//!
//! A hit is a row of its own, and the event that reports it is logged in the transaction that adds
//! the row. So each message is reported once for each saved search, however often the same part of the
//! log is read, by however many processes. It is reported once more after its event was
//! [passed over](super::passed_over).

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, SavedSearchId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::channels::channel_keys;
use super::super::db::{Sql, Tx, locking};
use super::super::outbox_kind::OutboxEventKind;
use super::super::outbox_log::{
    LoggedPersonalEvent, NewOutboxEvent, NewPersonalEvent, log_personal,
};
use super::super::{OutboxPosition, SavedSearchStore, StoreError};
use super::{channels_in, search_keys};
use crate::presence_sql::takes_part;
use crate::query::{query, query_as};

/// Enabled saved search, with those of some channels that it searches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchingSearch {
    /// Id.
    pub id: SavedSearchId,
    /// Owner.
    pub user: UserId,
    /// Query as typed.
    pub query: String,
    /// Channels that it searches; `None` for all of its owner's.
    pub channels: Option<Vec<ChannelId>>,
    /// Position in the event log; what is not after it is not reported.
    pub since: OutboxPosition,
    /// Channels of the request that its owner may read and that it searches.
    pub within: Vec<ChannelId>,
}

/// A message that a saved search found.
#[derive(Clone, Copy, Debug)]
pub struct SavedSearchMatch<'a> {
    /// Saved search, as it was when it was compared.
    pub search: &'a WatchingSearch,
    /// Channel of the message.
    pub channel: &'a ChannelId,
    /// Message.
    pub message: &'a MessageId,
}

const POSITION: &str = "SELECT tx, seq FROM saved_search_position WHERE id = 1";
const LOCK_POSITION: Sql = locking!("SELECT tx, seq FROM saved_search_position WHERE id = 1");
const SAVE_POSITION: &str = "
    INSERT INTO saved_search_position (id, tx, seq) VALUES (1, $3, $4)
    ON CONFLICT (id) DO UPDATE SET tx = excluded.tx, seq = excluded.seq
    WHERE saved_search_position.tx = $1 AND saved_search_position.seq = $2";

const ANY: &str = "
    SELECT CAST(COUNT(*) AS BIGINT) FROM (SELECT 1 FROM saved_searches WHERE enabled = 1 LIMIT 1) s";

/// The rule of `GET /api/channels`: whoever may read a channel searches it.
const WATCHING: &str = concat!(
    "SELECT s.saved_search_id, s.user_id, s.query, s.channel_ids, s.since_tx, s.since_seq,
            m.channel_id
     FROM saved_searches s JOIN members m ON m.user_id = s.user_id
     WHERE s.enabled = 1 AND m.channel_id IN (SELECT value ->> 'c' FROM json_each($1)) AND ",
    takes_part!("m"),
    " AND (s.channel_ids IS NULL OR EXISTS (
          SELECT 1 FROM json_each(s.channel_ids) t WHERE t.value ->> 'c' = m.channel_id))
     ORDER BY s.saved_search_id, m.channel_id"
);

/// Locks searches: a concurrent deletion or change of one waits, and an earlier one is seen.
const LOCK_SEARCHES: Sql = locking!(
    "SELECT saved_search_id FROM saved_searches
     WHERE saved_search_id IN (SELECT value ->> 's' FROM json_each($1)) ORDER BY saved_search_id",
    " FOR SHARE"
);
/// A search that was changed meanwhile has begun anew. A message is reported again that an earlier query
/// has found, or whose event was passed over.
const ADD_HITS: &str = "
    INSERT INTO saved_search_hits (saved_search_id, channel_id, message_id, generation)
    SELECT s.saved_search_id, j.value ->> 'c', j.value ->> 'm', s.generation
    FROM json_each($1) j CROSS JOIN saved_searches s
    WHERE s.saved_search_id = j.value ->> 's' AND s.enabled = 1 AND s.since_tx = CAST(j.value ->> 'tx' AS BIGINT)
      AND s.since_seq = CAST(j.value ->> 'seq' AS BIGINT)
    ON CONFLICT (saved_search_id, channel_id, message_id) DO UPDATE
    SET generation = excluded.generation, passed_over = 0
    WHERE saved_search_hits.generation < excluded.generation OR saved_search_hits.passed_over = 1
    RETURNING saved_search_id, channel_id, message_id";
const SET_EVENTS: &str = "
    UPDATE saved_search_hits SET event_seq = CAST(j.value ->> 'seq' AS BIGINT)
    FROM json_each($1) j
    WHERE saved_search_id = j.value ->> 's' AND channel_id = j.value ->> 'c'
      AND message_id = j.value ->> 'm'";

#[derive(Debug, sqlx_macros::FromRow)]
struct WatchingRow {
    saved_search_id: String,
    user_id: String,
    query: String,
    channel_ids: Option<String>,
    since_tx: i64,
    since_seq: i64,
    channel_id: String,
}

/// Element of the JSON list that [`ADD_HITS`] reads.
#[derive(Serialize)]
struct NewHit<'a> {
    s: &'a str,
    c: &'a str,
    m: &'a str,
    tx: i64,
    seq: i64,
}

/// Element of the JSON list that [`SET_EVENTS`] reads.
#[derive(Serialize)]
struct LoggedHit<'a> {
    s: &'a str,
    c: &'a str,
    m: &'a str,
    seq: i64,
}

impl SavedSearchStore<'_> {
    /// Returns the position in the event log up to which everything was compared.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn position(&self) -> Result<OutboxPosition, StoreError> {
        let at: Option<(i64, i64)> = self.store.db.fetch_optional(query_as(POSITION)).await?;
        Ok(place(at))
    }

    /// Returns whether any saved search is enabled.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn any_enabled(&self) -> Result<bool, StoreError> {
        let (any,): (i64,) = self.store.db.fetch_one(query_as(ANY)).await?;
        Ok(any > 0)
    }

    /// Returns the enabled saved searches that search any of these channels and whose owners may
    /// read it. To be called after reading the log: then none is missing that is older than a row.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn watching(
        &self,
        channels: &[ChannelId],
    ) -> Result<Vec<WatchingSearch>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<WatchingRow> =
            self.store.db.fetch_all(query_as(WATCHING).bind(&keys)).await?;
        let mut searches: Vec<WatchingSearch> = Vec::new();
        for row in rows {
            let channel = ChannelId::from(row.channel_id);
            match searches.last_mut() {
                Some(last) if last.id.as_str() == row.saved_search_id => last.within.push(channel),
                _ => searches.push(WatchingSearch {
                    channels: channels_in(row.channel_ids.as_deref(), &row.saved_search_id)?,
                    id: row.saved_search_id.into(),
                    user: row.user_id.into(),
                    query: row.query,
                    since: OutboxPosition(row.since_tx, row.since_seq),
                    within: vec![channel],
                }),
            }
        }
        Ok(searches)
    }

    /// Logs an event for each of these matches that was not reported before; returns their number.
    /// `None`, and nothing is reported, when the position is not `from` any more: another process has
    /// compared this part of the log.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is reported then.
    #[boxed]
    pub async fn report(
        &self,
        from: OutboxPosition,
        matches: &[SavedSearchMatch<'_>],
        now: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let at: Option<(i64, i64)> = tx.fetch_optional(query_as(LOCK_POSITION)).await?;
        if place(at) != from {
            return Ok(None);
        }
        let ids: BTreeSet<_> = matches.iter().map(|found| &found.search.id).collect();
        let ids = search_keys(ids)?;
        let _: Vec<(String,)> = tx.fetch_all(query_as(LOCK_SEARCHES).bind(&ids)).await?;
        let reported = add_hits(&mut tx, matches, now).await?;
        tx.commit().await?;
        Ok(Some(reported))
    }

    /// Moves the position on. `false` when it is not `from` any more.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn advance(
        &self,
        from: OutboxPosition,
        to: OutboxPosition,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let save = query(SAVE_POSITION).bind(from.0).bind(from.1).bind(to.0).bind(to.1);
        let moved = tx.execute(save).await?;
        tx.commit().await?;
        Ok(moved > 0)
    }
}

/// Returns a stored position; before the first comparison the beginning of the log.
fn place(row: Option<(i64, i64)>) -> OutboxPosition {
    row.map_or_else(OutboxPosition::default, |(tx, seq)| OutboxPosition(tx, seq))
}

/// Adds the rows of new hits, and logs the events about them in the order of the matches.
async fn add_hits(
    tx: &mut Tx,
    matches: &[SavedSearchMatch<'_>],
    now: Timestamp,
) -> Result<u64, StoreError> {
    let hits: Vec<_> = matches.iter().map(NewHit::of).collect();
    let hits = serde_json::to_string(&hits)?;
    let added: Vec<(String, String, String)> = tx.fetch_all(query_as(ADD_HITS).bind(&hits)).await?;
    let mut new: BTreeSet<_> = added.iter().map(|(s, c, m)| (&**s, &**c, &**m)).collect();
    let events: Vec<_> = matches
        .iter()
        .filter(|found| new.remove(&found.key()))
        .map(|found| found.event(now))
        .collect();
    if events.is_empty() {
        return Ok(0);
    }
    let logged = log_personal(tx, &events, now).await?;
    let numbered: Vec<_> = logged.iter().map(LoggedHit::of).collect();
    let numbered = serde_json::to_string(&numbered)?;
    tx.execute(query(SET_EVENTS).bind(&numbered)).await?;
    Ok(events.len() as u64)
}

impl<'a> LoggedHit<'a> {
    fn of(logged: &'a LoggedPersonalEvent) -> Self {
        let LoggedPersonalEvent { seq, detail_id, channel_id, subject_id } = logged;
        Self { s: detail_id, c: channel_id, m: subject_id, seq: *seq }
    }
}

impl<'a> NewHit<'a> {
    fn of(found: &SavedSearchMatch<'a>) -> Self {
        let (s, c, m) = found.key();
        let OutboxPosition(tx, seq) = found.search.since;
        Self { s, c, m, tx, seq }
    }
}

impl<'a> SavedSearchMatch<'a> {
    fn key(&self) -> (&'a str, &'a str, &'a str) {
        (self.search.id.as_str(), self.channel.as_str(), self.message.as_str())
    }

    fn event(&self, now: Timestamp) -> NewPersonalEvent<'a> {
        NewPersonalEvent {
            outbox_event: NewOutboxEvent {
                kind: OutboxEventKind::SearchMatched.name(),
                at: now.millis(),
                c: Some(self.channel.as_str()),
                s: Some(self.message.as_str()),
            },
            detail: self.search.id.as_str(),
            to: self.search.user.as_str(),
        }
    }
}
