//! Retractions with respect to dead letters: these hold events as received, outside of the store,
//! so they must be searched when a message was retracted, a person erased or old messages deleted
//! ([`MessageStore::retractions`](crate::MessageStore::retractions)), and matched against the
//! retracted content ([`MessageStore::taken_back`](crate::MessageStore::taken_back)).

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::EventOrigin;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::db::Tx;
use super::ingest::BulkKey;
use super::opt_outs::OptOuts;
use super::{MessageStore, StoreError};
use crate::query::{query, query_as};

/// Channel with a retraction since the last search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retraction {
    /// Channel.
    pub channel: ChannelId,
    /// Version; rises with every retraction.
    version: i64,
}

#[derive(Serialize)]
struct OriginKey<'a> {
    n: usize,
    c: &'a str,
    m: Option<&'a str>,
    u: Option<&'a str>,
    t: i64,
}

/// A concurrent search has to be repeated.
const NOTE: &str = "
    INSERT INTO retractions (channel_id, version)
    SELECT value ->> 'c', 1 FROM json_each($1) WHERE TRUE ORDER BY 1
    ON CONFLICT (channel_id) DO UPDATE SET version = retractions.version + 1";
const LIST: &str = "SELECT channel_id, version FROM retractions ORDER BY channel_id LIMIT $1";
const SETTLE: &str = "DELETE FROM retractions WHERE channel_id = $1 AND version = $2";

/// The same bounds as for late deliveries, and content older than its channel's retention.
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

/// Records that content of these channels was retracted.
pub(super) async fn record_retractions(
    tx: &mut Tx,
    channels: &BTreeSet<&ChannelId>,
) -> Result<(), StoreError> {
    if channels.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = channels.iter().map(|id| BulkKey { c: id.as_str(), m: None }).collect();
    tx.execute(query(NOTE).bind(serde_json::to_string(&keys)?)).await?;
    Ok(())
}

impl MessageStore<'_> {
    /// Returns channels with retracted, erased or deleted content for which the dead letters have
    /// not been searched yet, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn retractions(&self, limit: u32) -> Result<Vec<Retraction>, StoreError> {
        let rows: Vec<(String, i64)> =
            self.store.db.fetch_all(query_as(LIST).bind(i64::from(limit))).await?;
        let retraction =
            |(channel, version): (String, _)| Retraction { channel: channel.into(), version };
        Ok(rows.into_iter().map(retraction).collect())
    }

    /// Marks these as searched; later retractions stay to be searched for.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn settle_retractions(&self, looked: &[Retraction]) -> Result<(), StoreError> {
        if looked.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.db.begin().await?;
        for Retraction { channel, version } in looked {
            tx.execute(query(SETTLE).bind(channel.as_str()).bind(*version)).await?;
        }
        tx.commit().await
    }

    /// Returns, by index in the list, those about retracted content: a message that was unsent or
    /// erased, a person who was erased since or had opted out then, or a time of which the channel
    /// stores nothing.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn taken_back(
        &self,
        origins: &[&EventOrigin],
        now: Timestamp,
    ) -> Result<Vec<usize>, StoreError> {
        if origins.is_empty() {
            return Ok(Vec::new());
        }
        // Stored in either of the two channels that a 1:1 chat may be.
        let places = origins
            .iter()
            .enumerate()
            .flat_map(|(n, origin)| [(n, *origin, &origin.channel), (n, *origin, &origin.chat)]);
        let keys = places.map(|(n, origin, channel)| OriginKey {
            n,
            c: channel.as_str(),
            m: origin.message.as_ref().map(MessageId::as_str),
            u: origin.author.as_ref().map(UserId::as_str),
            t: origin.at.millis(),
        });
        let keys: Vec<_> = keys.collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<(i64,)> =
            self.store.db.fetch_all(query_as(TAKEN_BACK).bind(&keys).bind(now.millis())).await?;
        let mut found: BTreeSet<_> =
            rows.into_iter().filter_map(|(n,)| usize::try_from(n).ok()).collect();
        let authors = origins.iter().filter_map(|origin| origin.author.as_ref());
        let opt_outs = OptOuts::read(&self.store.db, authors).await?;
        let opted_out =
            origins.iter().enumerate().filter(|(_, origin)| opt_outs.refuse_origin(origin));
        found.extend(opted_out.map(|(n, _)| n));
        Ok(found.into_iter().collect())
    }
}
