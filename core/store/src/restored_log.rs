//! Event log of a restored database, whose positions may be those of a log that was lost.

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

use super::change_log::{begin_epoch, next_epoch};
use super::db::Pools;
use super::{OutboxStore, StoreError};
use crate::query::{query, query_as};

/// SQLite has this row only once something was logged.
const FIRST_NUMBER: &str = "
    INSERT INTO sqlite_sequence (name, seq)
    SELECT 'outbox_events', 0
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'outbox_events')";

/// Goes on at the number of milliseconds since 1970, which is ahead of every log with fewer than a
/// thousand events a second. PostgreSQL needs no such thing: transactions have other numbers.
const SKIP_NUMBERS: &str = "
    UPDATE sqlite_sequence SET seq = $1 WHERE name = 'outbox_events' AND seq < $1";

/// Rows of another server (a restored dump) with transaction numbers ahead of this one's.
const ADOPT: &str = "
    UPDATE outbox_events SET tx = 0
    WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint";

/// The webhook fan-out and the saved searches keep their progress in the adopted rows. Snapshots of
/// webhooks may stay: they are asked about events up to a sequence number alone, and what is logged
/// from now on has greater ones.
const ADOPT_READERS: [&str; 3] = [
    "UPDATE webhook_outbox_position SET tx = 0
     WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint",
    "UPDATE saved_search_position SET tx = 0
     WHERE tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint",
    "UPDATE saved_searches SET since_tx = 0
     WHERE since_tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint",
];

/// Checks for purged rows of such transactions.
const FOREIGN_PURGE: &str = "
    SELECT purged_tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM deployment";

impl OutboxStore<'_> {
    /// Prepares the log of a restored database: new events get other positions than those that were
    /// logged since the copy was made and are lost, and replicas of the search index start anew.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn leave_lost_positions(&self, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        if let Pools::Sqlite { .. } = &self.store.db.pools {
            tx.execute(query(FIRST_NUMBER)).await?;
            tx.execute(query(SKIP_NUMBERS).bind(now.millis())).await?;
        }
        next_epoch(&mut tx).await?;
        tx.commit().await
    }

    /// Makes rows from another PostgreSQL server readable.
    pub(super) async fn adopt_outbox_events(&self) -> Result<(), StoreError> {
        if let Pools::Postgres(_) = &self.store.db.pools {
            let mut tx = self.store.db.begin().await?;
            let adopted = tx.execute(query(ADOPT)).await?;
            let (purged,): (bool,) = tx.fetch_one(query_as(FOREIGN_PURGE)).await?;
            let mut readers = 0;
            for adopt in ADOPT_READERS {
                readers += tx.execute(query(adopt)).await?;
            }
            if purged || adopted + readers > 0 {
                begin_epoch(&mut tx).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }
}
