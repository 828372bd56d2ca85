//! Edits whose message never came: it was sent in a time that was deleted, or is lost.

use sqlx::query;

use super::super::db::exec;
use super::super::{Store, StoreError};
use crate::time::Timestamp;

/// Edits removed in one transaction.
const BATCH: i64 = 500;

/// They count for nothing and nobody sees them, so they just go. What its message reaches
/// meanwhile is no stray any more.
const PURGE: &str = "
    DELETE FROM messages
    WHERE sent_at IS NULL AND (channel_id, message_id) IN (
        SELECT channel_id, message_id FROM messages
        WHERE sent_at IS NULL AND content IS NOT NULL AND edited_at < $1
        ORDER BY edited_at LIMIT $2)";

impl Store {
    /// Forgets a batch of edits from before that time whose message did not come: how many.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is gone then.
    pub async fn purge_stray_edits(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.db.begin().await?;
        let tx_ref = &mut tx;
        let gone = exec!(tx_ref, query(PURGE).bind(before.millis()).bind(BATCH))?;
        tx.commit().await?;
        Ok(gone)
    }
}
