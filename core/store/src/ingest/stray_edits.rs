//! Stray edits, whose message never came: it was sent in a deleted time, or is lost.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::super::db::Tx;
use super::super::{MessageStore, StoreError};
use crate::query::query;

/// Maximum number of edits deleted in one transaction.
const BATCH: i64 = 500;

/// Strays count for nothing and nobody sees them, so they are just deleted. An edit whose message
/// has come meanwhile is no stray any more.
const PURGE: &str = "
    DELETE FROM messages
    WHERE sent_at IS NULL AND (channel_id, message_id) IN (
        SELECT channel_id, message_id FROM messages
        WHERE sent_at IS NULL AND content IS NOT NULL AND edited_at < $1
        ORDER BY edited_at LIMIT $2)";

/// Those of a channel, of one person or of all: their messages, which were sent before, would not be
/// stored any more.
const FORGET: &str = "
    DELETE FROM messages
    WHERE channel_id = $1 AND sent_at IS NULL AND content IS NOT NULL AND edited_at < $2
      AND (CAST($3 AS TEXT) IS NULL OR sender_id = $3)";

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
}
