//! What was taken back, as far as dead letters go: these hold events as they came, outside of the
//! store, so somebody has to look through them when a message was taken back, a person erased or
//! old messages deleted ([`Store::takebacks`]), and to know what is to go ([`Store::taken_back`]).

use std::collections::BTreeSet;

use serde::Serialize;
use sqlx::{query, query_as};

use super::db::{Tx, exec, read};
use super::keep::Key;
use super::{Store, StoreError};
use crate::event::Trace;
use crate::id::{ChannelId, MessageId, UserId};
use crate::time::Timestamp;

/// A channel in which something was taken back since somebody last looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Takeback {
    /// The channel.
    pub channel: ChannelId,
    /// Rises with every time.
    version: i64,
}

#[derive(Serialize)]
struct TraceKey<'a> {
    n: usize,
    c: &'a str,
    m: Option<&'a str>,
    u: Option<&'a str>,
    t: i64,
}

/// Whoever looks meanwhile has to look again.
const NOTE: &str = "
    INSERT INTO takebacks (channel_id, version)
    SELECT value ->> 'c', 1 FROM json_each($1) WHERE TRUE ORDER BY 1
    ON CONFLICT (channel_id) DO UPDATE SET version = takebacks.version + 1";
const LIST: &str = "SELECT channel_id, version FROM takebacks ORDER BY channel_id LIMIT $1";
const SETTLE: &str = "DELETE FROM takebacks WHERE channel_id = $1 AND version = $2";

/// The same bounds as for late deliveries, and what is older than its channel keeps anything.
const TAKEN_BACK: &str = "
    SELECT t.n FROM (
        SELECT CAST(value ->> 'n' AS BIGINT) AS n, value ->> 'c' AS c, value ->> 'm' AS m,
               value ->> 'u' AS u, CAST(value ->> 't' AS BIGINT) AS t
        FROM json_each($1)) t
    WHERE EXISTS (SELECT 1 FROM messages m
                  WHERE m.channel_id = t.c AND m.message_id = t.m AND m.unsent_at IS NOT NULL)
       OR EXISTS (SELECT 1 FROM erased_messages e
                  WHERE e.channel_id = t.c AND e.message_id = t.m)
       OR EXISTS (SELECT 1 FROM erased_people p
                  WHERE p.channel_id = t.c AND p.user_id = t.u AND t.t < p.erased_at)
       OR EXISTS (SELECT 1 FROM channels c
                  WHERE c.channel_id = t.c
                    AND (t.t < c.deleted_before
                         OR t.t < $2 - c.retention_days * 86400000))";

/// Notes that something of these channels was taken back.
pub(super) async fn note_takebacks(
    tx: &mut Tx,
    channels: &BTreeSet<&ChannelId>,
) -> Result<(), StoreError> {
    if channels.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = channels.iter().map(|id| Key { c: id.as_str(), m: None }).collect();
    exec!(tx, query(NOTE).bind(serde_json::to_string(&keys)?))?;
    Ok(())
}

impl Store {
    /// Channels in which something was taken back, erased or deleted that nobody has looked
    /// through the dead letters for yet, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn takebacks(&self, limit: u32) -> Result<Vec<Takeback>, StoreError> {
        let rows: Vec<(String, i64)> =
            read!(self, c => query_as(LIST).bind(i64::from(limit)).fetch_all(c))?;
        let takeback =
            |(channel, version): (String, _)| Takeback { channel: channel.into(), version };
        Ok(rows.into_iter().map(takeback).collect())
    }

    /// Notes that somebody has looked for these; what was taken back since stays to be looked for.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn settle_takebacks(&self, looked: &[Takeback]) -> Result<(), StoreError> {
        if looked.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        for Takeback { channel, version } in looked {
            exec!(tx_ref, query(SETTLE).bind(channel.as_str()).bind(*version))?;
        }
        tx.commit().await
    }

    /// Which of these, by their place in the list, are about something that was taken back: a
    /// message that was unsent or erased, a person who was erased since, or a time of which the
    /// channel keeps nothing.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn taken_back(
        &self,
        traces: &[&Trace],
        now: Timestamp,
    ) -> Result<Vec<usize>, StoreError> {
        if traces.is_empty() {
            return Ok(Vec::new());
        }
        // Kept in either of the two channels that a 1:1 chat may be.
        let places = traces
            .iter()
            .enumerate()
            .flat_map(|(n, trace)| [(n, *trace, &trace.channel), (n, *trace, &trace.chat)]);
        let keys = places.map(|(n, trace, channel)| TraceKey {
            n,
            c: channel.as_str(),
            m: trace.message.as_ref().map(MessageId::as_str),
            u: trace.author.as_ref().map(UserId::as_str),
            t: trace.at.millis(),
        });
        let keys: Vec<_> = keys.collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<(i64,)> = read!(self, c => query_as(TAKEN_BACK)
            .bind(&keys).bind(now.millis()).fetch_all(c))?;
        let found: BTreeSet<_> =
            rows.into_iter().filter_map(|(n,)| usize::try_from(n).ok()).collect();
        Ok(found.into_iter().collect())
    }
}
