//! Events of unknown types, stored as received.

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::Event;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::db::Tx;
use super::ingest::lock_ledger;
use super::opt_outs::OptOuts;
use super::{MessageStore, StoreError};
use crate::query::{query, query_as};

/// Maximum number of events deleted in one transaction.
const BATCH: i64 = 1_000;

/// Event of unknown type to store.
#[derive(Clone, Copy, Debug)]
pub struct UnknownEvent<'a> {
    /// The event.
    pub event: &'a Event,
    /// The platform's name of its type.
    pub kind: &'a str,
    /// Message that it is about, if that could be read.
    pub message: Option<&'a MessageId>,
}

#[derive(Serialize)]
struct OtherEvent<'a> {
    id: &'a str,
    c: Option<&'a str>,
    m: Option<&'a str>,
    u: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'a str,
    at: i64,
    raw: &'a str,
}

const SAVE: &str = "
    INSERT INTO other_events (event_id, channel_id, message_id, type, at, raw)
    SELECT value ->> 'id', value ->> 'c', value ->> 'm', value ->> 'type',
           CAST(value ->> 'at' AS BIGINT), value ->> 'raw'
    FROM json_each($1)
    WHERE NOT EXISTS (SELECT 1 FROM erased_people p
                      WHERE p.channel_id = value ->> 'c' AND p.user_id = value ->> 'u'
                        AND p.erased_at > CAST(value ->> 'at' AS BIGINT))
      AND NOT EXISTS (SELECT 1 FROM channels c
                      WHERE c.channel_id = value ->> 'c'
                        AND c.deleted_before > CAST(value ->> 'at' AS BIGINT))
      AND NOT EXISTS (SELECT 1 FROM messages m
                      WHERE m.channel_id = value ->> 'c' AND m.message_id = value ->> 'm'
                        AND m.unsent_at IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM erased_messages e
                      WHERE e.channel_id = value ->> 'c' AND e.message_id = value ->> 'm')
    ON CONFLICT (event_id) DO NOTHING";

/// Deletes a batch, the oldest first, and returns it, so that it can be counted.
const PURGE: &str = "
    DELETE FROM other_events WHERE event_id IN
        (SELECT event_id FROM other_events WHERE at < $1 ORDER BY at, event_id LIMIT $2)
    RETURNING event_id";

/// Deletes those of a channel before a time: nobody reads what they say, so all go that may say
/// something of a person.
const FORGET: &str = "DELETE FROM other_events WHERE channel_id = $1 AND at < $2";

/// Deletes those about messages of a channel.
const FORGET_MESSAGES: &str = "
    DELETE FROM other_events
    WHERE channel_id = $1 AND message_id IN (SELECT value ->> 'm' FROM json_each($2))";
/// Deletes those of a bot about a message, whose chat could not be read.
const FORGET_UNPLACED: &str = "
    DELETE FROM other_events
    WHERE channel_id IS NULL AND message_id = $1 AND SUBSTR(event_id, 1, LENGTH($2)) = $2";

/// Deletes the events of unknown type about messages of a channel, given as a JSON list.
pub(crate) async fn forget_unknown_of(
    tx: &mut Tx,
    channel: &ChannelId,
    messages: &str,
) -> Result<(), StoreError> {
    tx.execute(query(FORGET_MESSAGES).bind(channel.as_str()).bind(messages)).await?;
    Ok(())
}

/// Deletes the events of unknown type that happened in a channel before that time.
pub(crate) async fn forget_unknown(
    tx: &mut Tx,
    channel: &ChannelId,
    before: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(query(FORGET).bind(channel.as_str()).bind(before.millis())).await?;
    Ok(())
}

impl MessageStore<'_> {
    /// Deletes a batch of events of unknown type that happened before that time, and returns their
    /// number; 0 at the end.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is deleted then.
    #[boxed]
    pub async fn purge_other_events(&self, before: Timestamp) -> Result<usize, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let gone: Vec<(String,)> =
            tx.fetch_all(query_as(PURGE).bind(before.millis()).bind(BATCH)).await?;
        tx.commit().await?;
        Ok(gone.len())
    }

    /// Stores events of unknown type, except those of channels that are not backed up now, those from
    /// a deleted time, those about a message that was unsent or erased, and those caused by people who
    /// were erased since, or had opted out then. One that names no channel is stored.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn store_unknown(&self, events: &[UnknownEvent<'_>]) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.db.begin().await?;
        let channels = events.iter().filter_map(|unknown| unknown.event.channel.as_ref());
        // As erasures do, so that neither misses what the other is about to write.
        let ledger = lock_ledger(&mut tx, &channels.map(|channel| &channel.id).collect()).await?;
        let senders = events.iter().filter_map(|unknown| unknown.event.sender.as_ref());
        let opt_outs = OptOuts::load(&mut tx, senders).await?;
        let is_kept = |event: &Event| {
            let is_off = event.channel.as_ref().is_some_and(|channel| ledger.paused(&channel.id));
            !is_off && !opt_outs.refuse_event(event)
        };
        let events: Vec<_> = events.iter().filter(|unknown| is_kept(unknown.event)).collect();
        let keys: Vec<_> = events.iter().map(|unknown| unknown.event.key()).collect();
        let mut rows: Vec<_> = events
            .iter()
            .zip(&keys)
            .map(|(UnknownEvent { event, kind, message }, key)| OtherEvent {
                id: key.as_str(),
                c: event.channel.as_ref().map(|channel| channel.id.as_str()),
                m: message.map(MessageId::as_str),
                u: event.sender.as_ref().map(UserId::as_str),
                kind,
                at: event.at.millis(),
                raw: event.raw.get(),
            })
            .collect();
        rows.sort_by_key(|row| row.id);
        let rows = serde_json::to_string(&rows)?;
        tx.execute(query(SAVE).bind(&rows)).await?;
        tx.commit().await
    }

    /// Deletes the stored events about the messages of these unsends, whose chat could not be read,
    /// no more than that of the unsends: those of the same bot.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn forget_unplaced(
        &self,
        unsends: &[(&Event, &MessageId)],
    ) -> Result<(), StoreError> {
        if unsends.is_empty() {
            return Ok(());
        }
        let mut tx = self.store.db.begin().await?;
        for (unsend, message) in unsends {
            let of_bot = format!("{}:{}:", unsend.platform.name(), unsend.bot);
            tx.execute(query(FORGET_UNPLACED).bind(message.as_str()).bind(&of_bot)).await?;
        }
        tx.commit().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn an_erasure_reads_the_events_of_its_channel_alone() {
        let steps = plan(FORGET).await.join("\n");
        assert!(steps.contains("INDEX other_events_by_channel (channel_id=? AND at<?)"), "{steps}");
    }

    #[tokio::test]
    async fn an_unsend_reads_the_events_of_its_message_alone() {
        for sql in [FORGET_MESSAGES, FORGET_UNPLACED] {
            let steps = plan(sql).await.join("\n");
            let index = "INDEX other_events_by_message (message_id=? AND channel_id=?)";
            assert!(steps.contains(index), "{steps}");
        }
    }
}
