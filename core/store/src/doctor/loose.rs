//! Rows without their channel, and files without a message.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::blob::BlobId;

use super::super::media::{mark, names};
use super::super::{AuditStore, StoreError};
use super::{Check, Difference};
use crate::query::{query, query_as};

/// Maximum number of reported channels.
const MOST: i64 = 1_000;

macro_rules! loose {
    ($table:literal) => {
        concat!(
            "SELECT t.channel_id, COUNT(*) FROM ",
            $table,
            " t WHERE NOT EXISTS (SELECT 1 FROM channels c WHERE c.channel_id = t.channel_id)
              GROUP BY t.channel_id ORDER BY t.channel_id LIMIT $1"
        )
    };
}

/// Tables whose rows are expendable without their channel, and the statements that delete them.
const SPARE: [(&str, &str, &str); 4] = [
    (
        "activity_counters",
        loose!("activity_counters"),
        "DELETE FROM activity_counters WHERE NOT EXISTS
             (SELECT 1 FROM channels c WHERE c.channel_id = activity_counters.channel_id)",
    ),
    (
        "gaps",
        loose!("gaps"),
        "DELETE FROM gaps WHERE NOT EXISTS
             (SELECT 1 FROM channels c WHERE c.channel_id = gaps.channel_id)",
    ),
    (
        "qa_rules",
        loose!("qa_rules"),
        "DELETE FROM qa_rules WHERE NOT EXISTS
             (SELECT 1 FROM channels c WHERE c.channel_id = qa_rules.channel_id)",
    ),
    (
        "saved_search_hits",
        loose!("saved_search_hits"),
        "DELETE FROM saved_search_hits WHERE NOT EXISTS
             (SELECT 1 FROM channels c WHERE c.channel_id = saved_search_hits.channel_id)",
    ),
];
/// Tables with people's content: an operator has to decide.
const CONTENT_TABLES: [(&str, &str); 2] =
    [("messages", loose!("messages")), ("media", loose!("media"))];

const UNHELD: &str = "
    SELECT value ->> 's' FROM json_each($1)
    WHERE NOT EXISTS (SELECT 1 FROM media WHERE sha256 = value ->> 's')
      AND NOT EXISTS (SELECT 1 FROM media WHERE preview_sha256 = value ->> 's')
      AND NOT EXISTS (SELECT 1 FROM export_parts WHERE sha256 = value ->> 's')
      AND NOT EXISTS (SELECT 1 FROM blob_orphans WHERE sha256 = value ->> 's')";

impl AuditStore<'_> {
    /// Returns rows of missing channels: those that
    /// [`AuditStore::delete_orphaned_rows`](crate::AuditStore::delete_orphaned_rows) deletes, and
    /// those with people's content, which nothing deletes by itself.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn orphaned_rows(&self) -> Result<(Vec<Difference>, Vec<Difference>), StoreError> {
        let (mut spare, mut precious) = (Vec::new(), Vec::new());
        for (table, sql, _) in SPARE {
            spare.extend(self.loose_in(table, sql).await?);
        }
        for (table, sql) in CONTENT_TABLES {
            precious.extend(self.loose_in(table, sql).await?);
        }
        Ok((spare, precious))
    }

    async fn loose_in(
        &self,
        table: &str,
        sql: &'static str,
    ) -> Result<Vec<Difference>, StoreError> {
        let rows: Vec<(String, i64)> = self.store.db.fetch_all(query_as(sql).bind(MOST)).await?;
        let difference = |(channel, rows): (String, i64)| {
            let recorded = format!("{rows} in {table}");
            Difference::new(Check::LooseRows, channel, recorded, "no such channel")
        };
        Ok(rows.into_iter().map(difference).collect())
    }

    /// Deletes gaps, rules, activity counters and hits of saved searches of missing channels.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing is deleted then.
    #[boxed]
    pub async fn delete_orphaned_rows(&self) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        for (_, _, sql) in SPARE {
            tx.execute(query(sql)).await?;
        }
        tx.commit().await
    }

    /// Returns those of the blobs that no message holds and that have no mark.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn unreferenced_blobs(
        &self,
        blobs: &BTreeSet<BlobId>,
    ) -> Result<BTreeSet<BlobId>, StoreError> {
        let all = names(blobs.iter().map(BlobId::as_str))?;
        let rows: Vec<(String,)> = self.store.db.fetch_all(query_as(UNHELD).bind(&all)).await?;
        Ok(rows.into_iter().filter_map(|(name,)| BlobId::parse(&name)).collect())
    }

    /// Marks blobs, so that the orphan sweep deletes those that no message holds.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn mark_blobs(&self, blobs: &BTreeSet<BlobId>) -> Result<(), StoreError> {
        let blobs = names(blobs.iter().map(BlobId::as_str))?;
        let mut tx = self.store.db.begin().await?;
        mark(&mut tx, &blobs).await?;
        tx.commit().await
    }
}
