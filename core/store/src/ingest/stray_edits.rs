//! Stray edits, whose message never came: it was sent in a deleted time, or is lost.

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

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
