//! Forgetting: rows about messages that are gone, and what is left of deleted searches and of earlier
//! queries.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};

use super::super::db::Tx;
use super::super::ingest::BulkKey;
use super::super::{SavedSearchStore, StoreError};
use crate::query::{query, query_as};

/// Batch size for the deletion of rows about hits.
const SWEEP: i64 = 5_000;

const MATCHED: &str = "
    SELECT DISTINCT h.channel_id, h.message_id
    FROM json_each($1) j CROSS JOIN saved_search_hits h
    WHERE h.channel_id = j.value ->> 'c' AND h.message_id = j.value ->> 'm'";
const FORGET: &str = "
    DELETE FROM saved_search_hits WHERE (channel_id, message_id) IN
        (SELECT value ->> 'c', value ->> 'm' FROM json_each($1))";

const DELETED: &str = "
    SELECT saved_search_id FROM saved_searches WHERE deleted_at IS NOT NULL
    ORDER BY deleted_at LIMIT 1";
const UNSWEPT: &str = "
    SELECT saved_search_id, generation FROM saved_searches WHERE swept_generation < generation
    ORDER BY saved_search_id LIMIT 1";
const SWEPT: &str = "UPDATE saved_searches SET swept_generation = $2 WHERE saved_search_id = $1";
const DELETE_HITS: &str = "
    DELETE FROM saved_search_hits
    WHERE saved_search_id = $1 AND generation < $2 AND (channel_id, message_id) IN (
        SELECT channel_id, message_id FROM saved_search_hits
        WHERE saved_search_id = $1 AND generation < $2
        ORDER BY channel_id, message_id LIMIT $3)";
const DELETE_SEARCH: &str =
    "DELETE FROM saved_searches WHERE saved_search_id = $1 AND deleted_at IS NOT NULL";

impl SavedSearchStore<'_> {
    /// Returns those of these messages that a saved search has reported.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn matched_messages(
        &self,
        messages: &[(ChannelId, MessageId)],
    ) -> Result<BTreeSet<(ChannelId, MessageId)>, StoreError> {
        let keys = message_keys(messages)?;
        let rows: Vec<(String, String)> =
            self.store.db.fetch_all(query_as(MATCHED).bind(&keys)).await?;
        Ok(rows.into_iter().map(|(c, m)| (c.into(), m.into())).collect())
    }

    /// Forgets that these messages were reported, which are not stored any more.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn forget_messages(
        &self,
        messages: &[(ChannelId, MessageId)],
    ) -> Result<(), StoreError> {
        let keys = message_keys(messages)?;
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(FORGET).bind(&keys)).await?;
        tx.commit().await
    }

    /// Removes a batch of what is left of deleted searches, and of hits of earlier queries. Returns
    /// whether there may be more.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn sweep(&self) -> Result<bool, StoreError> {
        Ok(self.sweep_deleted().await? || self.sweep_earlier().await?)
    }

    async fn sweep_deleted(&self) -> Result<bool, StoreError> {
        let deleted: Option<(String,)> = self.store.db.fetch_optional(query_as(DELETED)).await?;
        let Some((search,)) = deleted else {
            return Ok(false);
        };
        let mut tx = self.store.db.begin_bulk().await?;
        if !delete_hits(&mut tx, &search, i64::MAX).await? {
            tx.execute(query(DELETE_SEARCH).bind(&search)).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    async fn sweep_earlier(&self) -> Result<bool, StoreError> {
        let unswept: Option<(String, i64)> =
            self.store.db.fetch_optional(query_as(UNSWEPT)).await?;
        let Some((search, generation)) = unswept else {
            return Ok(false);
        };
        let mut tx = self.store.db.begin_bulk().await?;
        if !delete_hits(&mut tx, &search, generation).await? {
            tx.execute(query(SWEPT).bind(&search).bind(generation)).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}

/// Deletes a batch of the rows about hits of a search from before a generation. Returns whether
/// there may be more.
async fn delete_hits(tx: &mut Tx, search: &str, generation: i64) -> Result<bool, StoreError> {
    let delete = query(DELETE_HITS).bind(search).bind(generation).bind(SWEEP);
    let gone = tx.execute(delete).await?;
    Ok(i64::try_from(gone).unwrap_or(i64::MAX) >= SWEEP)
}

fn message_keys(messages: &[(ChannelId, MessageId)]) -> Result<String, StoreError> {
    let keys: Vec<_> =
        messages.iter().map(|(c, m)| BulkKey { c: c.as_str(), m: Some(m.as_str()) }).collect();
    Ok(serde_json::to_string(&keys)?)
}
