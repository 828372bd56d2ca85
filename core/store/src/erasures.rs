//! Ledger of erasures: everything that was unsent, erased or deleted, without a word of it. Replayed
//! on a copy of the database from before, it erases there what has been erased since.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::MessageChange;
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::ingest::{
    BulkKey, ChannelChange, ImportId, RemovalMode, bar_removed, ingest_in, remember_erased, remove,
    remove_some,
};
use super::messages::{VersionedRow, versioned_columns};
use super::{MessageStore, StoreError, channel_locks};
use crate::db::Tx;
use crate::query::{query, query_as};

/// Messages removed in one transaction of a replay.
const BATCH: u32 = 500;

/// Entry of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Erasure {
    /// A message was taken back at that time.
    Unsent {
        /// Channel.
        channel: String,
        /// Message.
        message: String,
        /// Time, in milliseconds since 1970.
        at: i64,
    },
    /// A message must not be stored again.
    Message {
        /// Channel.
        channel: String,
        /// Message.
        message: String,
    },
    /// Erasure of a person's messages in a channel from before a time.
    Person {
        /// Channel.
        channel: String,
        /// Person.
        user: String,
        /// Time, in milliseconds since 1970.
        before: i64,
    },
    /// Deletion of a channel's messages from before a time.
    Before {
        /// Channel.
        channel: String,
        /// Time, in milliseconds since 1970.
        before: i64,
    },
    /// A person asked not to be stored, or to be stored again.
    OptOut {
        /// Person.
        user: String,
        /// Channel; empty for all of them.
        channel: String,
        /// Time, in milliseconds since 1970.
        at: i64,
        /// 1 for asking not to be stored, 0 for the contrary.
        opted_out: i64,
    },
    /// A channel switched earlier texts of edited messages off.
    EarlierTexts {
        /// Channel.
        channel: String,
        /// Time, in milliseconds since 1970.
        at: i64,
    },
    /// An import was undone.
    Import {
        /// Channel.
        channel: String,
        /// Number of the import.
        import: i64,
    },
}

/// Position in a reading of the ledger: the table, and the last key read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasurePosition {
    table: usize,
    after: (String, String, i64),
}

/// Columns common to all tables of the ledger: two keys, a time or number, a value.
type LedgerRow = (String, String, i64, i64);

/// Statement that reads a page of a table of the ledger, and the entry that a row makes.
type LedgerTable = (&'static str, fn(LedgerRow) -> Erasure);

/// Tables of the ledger, in the order of a replay: who was erased is no sender of anything any more
/// when single messages follow.
const TABLES: [LedgerTable; 7] = [
    (
        "SELECT user_id, channel_id, at, opted_out FROM opt_outs
         WHERE (user_id, channel_id, at) > ($1, $2, $3)
         ORDER BY user_id, channel_id, at LIMIT $4",
        |(user, channel, at, opted_out)| Erasure::OptOut { user, channel, at, opted_out },
    ),
    (
        "SELECT channel_id, '' AS item, CAST(0 AS BIGINT) AS number, deleted_before FROM channels
         WHERE deleted_before > 0 AND (channel_id, '', CAST(0 AS BIGINT)) > ($1, $2, $3)
         ORDER BY channel_id LIMIT $4",
        |(channel, _, _, before)| Erasure::Before { channel, before },
    ),
    (
        "SELECT channel_id, user_id, CAST(0 AS BIGINT) AS number, erased_at FROM erased_people
         WHERE (channel_id, user_id, CAST(0 AS BIGINT)) > ($1, $2, $3)
         ORDER BY channel_id, user_id LIMIT $4",
        |(channel, user, _, before)| Erasure::Person { channel, user, before },
    ),
    (
        "SELECT channel_id, '' AS item, CAST(0 AS BIGINT) AS number, earlier_texts_ended_at
         FROM channels
         WHERE earlier_texts_ended_at IS NOT NULL
           AND (channel_id, '', CAST(0 AS BIGINT)) > ($1, $2, $3)
         ORDER BY channel_id LIMIT $4",
        |(channel, _, _, at)| Erasure::EarlierTexts { channel, at },
    ),
    (
        "SELECT channel_id, '' AS item, import_id, undone_at FROM imports
         WHERE undone_at IS NOT NULL AND (channel_id, '', import_id) > ($1, $2, $3)
         ORDER BY channel_id, import_id LIMIT $4",
        |(channel, _, import, _)| Erasure::Import { channel, import },
    ),
    (
        "SELECT channel_id, message_id, CAST(0 AS BIGINT) AS number, CAST(0 AS BIGINT) AS value
         FROM erased_messages WHERE (channel_id, message_id, CAST(0 AS BIGINT)) > ($1, $2, $3)
         ORDER BY channel_id, message_id LIMIT $4",
        |(channel, message, ..)| Erasure::Message { channel, message },
    ),
    (
        "SELECT channel_id, message_id, CAST(0 AS BIGINT) AS number, unsent_at FROM messages
         WHERE unsent_at IS NOT NULL AND (channel_id, message_id, CAST(0 AS BIGINT)) > ($1, $2, $3)
         ORDER BY channel_id, message_id LIMIT $4",
        |(channel, message, _, at)| Erasure::Unsent { channel, message, at },
    ),
];

const OPT_OUT: &str = "
    INSERT INTO opt_outs (user_id, channel_id, at, opted_out) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id, channel_id, at) DO NOTHING";
/// Switches earlier texts off as [`ChannelStore::set_earlier_texts`](crate::ChannelStore) does,
/// where that is not known yet.
const END_EARLIER_TEXTS: &str = "
    UPDATE channels SET keep_earlier_texts = FALSE, erase_earlier_texts = TRUE,
                        earlier_texts_ended_at = $2
    WHERE channel_id = $1 AND COALESCE(earlier_texts_ended_at, $2 - 1) < $2";
/// Those of the messages that still hold something.
const WITH_CONTENT: &str = concat!(
    "SELECT ",
    versioned_columns!(),
    "FROM messages m
     WHERE channel_id = $1 AND message_id IN (SELECT value ->> 'm' FROM json_each($2))
       AND (content IS NOT NULL OR sender_id IS NOT NULL) AND unsent_at IS NULL"
);

/// Number of entries about a message; the sender and the time are those of its tombstone.
const OF_MESSAGE: &str = "
    SELECT COUNT(*) FROM (
        SELECT message_id FROM erased_messages WHERE channel_id = $1 AND message_id = $2
        UNION ALL
        SELECT user_id FROM erased_people
        WHERE channel_id = $1 AND user_id = $3 AND erased_at > $4) e";

impl MessageStore<'_> {
    /// Returns true if that message was erased or deleted, or was not to be stored: the ledger has
    /// it, or its sender of then, where a tombstone tells who `sent` it and when. Messages of before
    /// a date that were deleted at once are not listed one by one.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn was_erased(
        &self,
        channel: &ChannelId,
        message: &MessageId,
        sent: Option<(&UserId, Timestamp)>,
    ) -> Result<bool, StoreError> {
        let (user, at) = sent.map_or(("", 0), |(user, at)| (user.as_str(), at.millis()));
        let ledger = query_as(OF_MESSAGE).bind(channel.as_str()).bind(message.as_str());
        let (found,): (i64,) = self.store.db.fetch_one(ledger.bind(user).bind(at)).await?;
        Ok(found > 0)
    }

    /// Returns the next entries of the ledger after a position, and the position after them; `None`
    /// when there are none left. A page may be empty.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn erasures(
        &self,
        position: ErasurePosition,
        limit: u32,
    ) -> Result<Option<(Vec<Erasure>, ErasurePosition)>, StoreError> {
        let ErasurePosition { table, after: (first, second, third) } = position;
        let Some((sql, entry)) = TABLES.get(table) else { return Ok(None) };
        let page = query_as(*sql).bind(first).bind(second).bind(third).bind(i64::from(limit));
        let rows: Vec<LedgerRow> = self.store.db.fetch_all(page).await?;
        let next = match rows.last() {
            Some((first, second, third, _)) if rows.len() == limit as usize => {
                ErasurePosition { table, after: (first.clone(), second.clone(), *third) }
            }
            _ => ErasurePosition { table: table + 1, ..ErasurePosition::default() },
        };
        Ok(Some((rows.into_iter().map(entry).collect(), next)))
    }

    /// Erases what those entries are about, as when they happened: counters, files, the index and
    /// the dead letters follow. Repeating it changes nothing more.
    ///
    /// # Errors
    /// Returns an error when the database fails; a part may be done then.
    #[boxed]
    pub async fn replay(&self, entries: &[Erasure], now: Timestamp) -> Result<(), StoreError> {
        let (mut unsent, mut messages) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Erasure::Unsent { channel, message, at } => unsent.push(ChannelChange {
                    channel: channel.as_str().into(),
                    message: message.as_str().into(),
                    change: MessageChange::Unsent { at: Timestamp::from_millis(*at) },
                }),
                Erasure::Message { channel, message } => {
                    messages.push((ChannelId::from(channel.as_str()), message.as_str().into()));
                }
                other => self.replay_one(other, now).await?,
            }
        }
        for chunk in messages.chunk_by(|one, other| one.0 == other.0) {
            for chunk in chunk.chunks(BATCH as usize) {
                self.erase_again(chunk, now).await?;
            }
        }
        for chunk in unsent.chunks(BATCH as usize) {
            let mut tx = self.store.db.begin_bulk().await?;
            ingest_in(&mut tx, chunk, now).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    async fn replay_one(&self, entry: &Erasure, now: Timestamp) -> Result<(), StoreError> {
        match entry {
            Erasure::OptOut { user, channel, at, opted_out } => {
                let mut tx = self.store.db.begin_bulk().await?;
                let change = query(OPT_OUT).bind(user).bind(channel).bind(*at).bind(*opted_out);
                tx.execute(change).await?;
                tx.commit().await
            }
            Erasure::EarlierTexts { channel, at } => {
                let mut tx = self.store.db.begin_bulk().await?;
                channel_locks::lock_one(&mut tx, &channel.as_str().into()).await?;
                tx.execute(query(END_EARLIER_TEXTS).bind(channel).bind(*at)).await?;
                tx.commit().await
            }
            Erasure::Before { channel, before } => {
                self.remove_again(&channel.as_str().into(), None, *before, now).await
            }
            Erasure::Person { channel, user, before } => {
                let user = UserId::from(user.as_str());
                self.remove_again(&channel.as_str().into(), Some(&user), *before, now).await
            }
            Erasure::Import { channel, import } => {
                let imports = self.store.imports();
                let record = imports.import_record(ImportId::new(*import)).await?;
                let Some(record) = record.filter(|known| known.channel_id.as_str() == channel)
                else {
                    return Ok(());
                };
                while !imports.undo_import(&record, BATCH, now).await?.last {}
                Ok(())
            }
            Erasure::Unsent { .. } | Erasure::Message { .. } => Ok(()),
        }
    }

    /// Removes what was sent before a time, of one person or of all.
    async fn remove_again(
        &self,
        channel: &ChannelId,
        of: Option<&UserId>,
        before: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let before = Timestamp::from_millis(before);
        let mut tx = self.store.db.begin_bulk().await?;
        bar_removed(&mut tx, channel, of, before, now).await?;
        tx.commit().await?;
        loop {
            let mut tx = self.store.db.begin_bulk().await?;
            let removed = remove_some(&mut tx, channel, of, before, BATCH, now).await?;
            tx.commit().await?;
            if removed.last {
                return Ok(());
            }
        }
    }

    /// Erases messages of one channel, which may not be there.
    async fn erase_again(
        &self,
        messages: &[(ChannelId, MessageId)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some((channel, _)) = messages.first() else { return Ok(()) };
        let keys = messages.iter().map(|(c, m)| BulkKey { c: c.as_str(), m: Some(m.as_str()) });
        let keys = serde_json::to_string(&keys.collect::<Vec<_>>())?;
        let mut tx = self.store.db.begin_bulk().await?;
        remember_erased(&mut tx, channel, &keys).await?;
        let chosen = async |tx: &mut Tx| -> Result<Vec<VersionedRow>, StoreError> {
            Ok(tx.fetch_all(query_as(WITH_CONTENT).bind(channel.as_str()).bind(&keys)).await?)
        };
        let held: BTreeSet<_> =
            chosen(&mut tx).await?.into_iter().map(|row| row.message.message_id).collect();
        if !held.is_empty() {
            remove(&mut tx, channel, now, (RemovalMode::Tombstone, BATCH), chosen).await?;
        }
        tx.commit().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn the_ledger_reads_the_messages_that_were_taken_back_alone() {
        let (unsent, _) = TABLES[TABLES.len() - 1];
        let steps = plan(unsent).await;
        let of_index = |step: &String| step.contains(" USING INDEX messages_unsent");
        assert!(steps.len() == 1 && steps.iter().all(of_index), "{steps:?}");
    }
}
