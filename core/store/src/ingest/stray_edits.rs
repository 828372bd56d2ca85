//! Rows of messages that are not there: stray edits, whose message never came (it was sent in a deleted
//! time, or is lost), and messages that were skipped because backup was paused.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::super::db::Tx;
use super::super::{MessageStore, StoreError};
use crate::query::query;

/// Maximum number of rows of each kind that are deleted in one transaction.
const BATCH: i64 = 500;

/// Strays count for nothing and nobody sees them, so they are just deleted. An edit whose message
/// has come meanwhile is no stray any more, and one that was unsent meanwhile is to stay away for ever:
/// that is tested once more when the row is locked.
const PURGE: &str = "
    DELETE FROM messages
    WHERE sent_at IS NULL AND unsent_at IS NULL AND (channel_id, message_id) IN (
        SELECT channel_id, message_id FROM messages
        WHERE sent_at IS NULL AND content IS NOT NULL AND edited_at < $1
        ORDER BY edited_at LIMIT $2)";

/// Those of a channel, of one person or of all: their messages, which were sent before, would not be
/// stored any more.
const FORGET: &str = "
    DELETE FROM messages
    WHERE channel_id = $1 AND sent_at IS NULL AND content IS NOT NULL AND edited_at < $2
      AND (CAST($3 AS TEXT) IS NULL OR sender_id = $3)";

/// Builds the statement that deletes rows of skipped messages. They only keep the same message from
/// being counted again, and for as long as the platform may send it again; one that was unsent is to
/// stay away for ever.
macro_rules! purge_skipped {
    ($arrived:literal) => {
        concat!(
            "DELETE FROM messages
             WHERE sent_at IS NULL AND unsent_at IS NULL AND (channel_id, message_id) IN (
                 SELECT m.channel_id, m.message_id
                 FROM channels c CROSS JOIN messages m
                 WHERE m.channel_id = c.channel_id AND m.sent_at IS NULL AND m.skipped
                   AND m.unsent_at IS NULL AND m.backed_up_at ",
            $arrived,
            " LIMIT $1)"
        )
    };
}

const PURGE_SKIPPED: &str = purge_skipped!("< $2");
/// Those that an earlier version has written, without a time.
const PURGE_TIMELESS: &str = purge_skipped!("IS NULL");

/// Skipped messages of a channel: what arrived before a time was sent before it, and would not be stored
/// any more.
const FORGET_SKIPPED: &str = "
    DELETE FROM messages
    WHERE channel_id = $1 AND sent_at IS NULL AND skipped AND backed_up_at < $2";

/// Deletes the rows of skipped messages of a channel that arrived before that time.
pub(super) async fn forget_skipped(
    tx: &mut Tx,
    channel: &ChannelId,
    before: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(query(FORGET_SKIPPED).bind(channel.as_str()).bind(before.millis())).await?;
    Ok(())
}

/// Deletes the stray edits of a channel from before that time, of one person or of all.
pub(super) async fn forget_stray_edits(
    tx: &mut Tx,
    channel: &ChannelId,
    of: Option<&UserId>,
    before: Timestamp,
) -> Result<(), StoreError> {
    let forget = query(FORGET).bind(channel.as_str()).bind(before.millis());
    tx.execute(forget.bind(of.map(UserId::as_str))).await?;
    Ok(())
}

impl MessageStore<'_> {
    /// Deletes a batch of stray edits from before that time; returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is deleted then.
    #[boxed]
    pub async fn purge_stray_edits(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let gone = tx.execute(query(PURGE).bind(before.millis()).bind(BATCH)).await?;
        tx.commit().await?;
        Ok(gone)
    }

    /// Deletes a batch of rows of skipped messages that arrived before that time; returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is deleted then.
    #[boxed]
    pub async fn purge_skipped(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let gone = tx.execute(query(PURGE_SKIPPED).bind(BATCH).bind(before.millis())).await?;
        let timeless = tx.execute(query(PURGE_TIMELESS).bind(BATCH)).await?;
        tx.commit().await?;
        Ok(gone + timeless)
    }
}

#[cfg(test)]
mod tests {
    use super::{FORGET_SKIPPED, PURGE_SKIPPED, PURGE_TIMELESS};
    use crate::plan::plan;

    #[tokio::test]
    async fn skipped_messages_are_found_without_reading_the_others() {
        for statement in [PURGE_SKIPPED, PURGE_TIMELESS, FORGET_SKIPPED] {
            let steps = plan(statement).await.join("\n");
            assert!(steps.contains("messages_skipped (channel_id=? AND backed_up_at"), "{steps}");
        }
    }
}
