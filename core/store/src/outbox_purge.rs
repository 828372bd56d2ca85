//! Purge of old events from the outbox, oldest first.

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

use super::db::Sql;
use super::{OutboxStore, StoreError};
use crate::query::{Query, query, query_as};

/// Batch size for the deletion of old rows.
const SWEEP: i64 = 5_000;

/// The oldest rows first; nothing behind a young one is examined.
const PURGE: Sql = Sql {
    sqlite: "DELETE FROM outbox_events WHERE seq IN (
                 SELECT seq FROM (SELECT seq, logged_at FROM outbox_events ORDER BY seq LIMIT $2) o
                 WHERE logged_at < $1)
             RETURNING CAST(0 AS BIGINT), seq",
    postgres: "DELETE FROM outbox_events WHERE (tx, seq) IN (
                   SELECT tx, seq FROM
                       (SELECT tx, seq, logged_at FROM outbox_events ORDER BY tx, seq LIMIT $2) o
                   WHERE logged_at < $1)
               RETURNING tx, seq",
};

/// Rows at the head of the log whose times are in the future, as far as a row behind them is old: they
/// were logged before it. Their times stay until then, for readers know their last event by its time.
const PURGE_FUTURE: Sql = Sql {
    sqlite: "DELETE FROM outbox_events WHERE seq IN (
                 SELECT seq FROM outbox_events
                 WHERE seq < (SELECT seq FROM (SELECT seq, logged_at FROM outbox_events
                                               WHERE logged_at <= $3 ORDER BY seq LIMIT 1) f
                              WHERE logged_at < $1)
                 ORDER BY seq LIMIT $2)
             RETURNING CAST(0 AS BIGINT), seq",
    postgres: "DELETE FROM outbox_events WHERE (tx, seq) IN (
                   SELECT tx, seq FROM outbox_events
                   WHERE (tx, seq) < (SELECT tx, seq
                                      FROM (SELECT tx, seq, logged_at FROM outbox_events
                                            WHERE logged_at <= $3 ORDER BY tx, seq LIMIT 1) f
                                      WHERE logged_at < $1)
                   ORDER BY tx, seq LIMIT $2)
               RETURNING tx, seq",
};

/// A reader before this position has missed events.
const PURGED: &str = "
    UPDATE deployment SET purged_tx = $1, purged_seq = $2
    WHERE purged_tx < $1 OR (purged_tx = $1 AND purged_seq < $2)";

impl OutboxStore<'_> {
    /// Deletes a batch of the events logged before `before`. Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_outbox_events(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.purge_batch(query_as(PURGE).bind(before.millis()).bind(SWEEP)).await
    }

    /// Deletes a batch of the oldest events that were logged by a wrong clock after `latest`, and
    /// before an event of before `before`: so many of them would keep all others from being purged.
    /// Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_future_events(
        &self,
        before: Timestamp,
        latest: Timestamp,
    ) -> Result<u64, StoreError> {
        let purge = query_as(PURGE_FUTURE).bind(before.millis()).bind(SWEEP);
        self.purge_batch(purge.bind(latest.millis())).await
    }

    /// Runs a statement that deletes events, and notes how far the log is purged.
    async fn purge_batch(&self, purge: Query<'_, (i64, i64)>) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let gone: Vec<(i64, i64)> = tx.fetch_all(purge).await?;
        if let Some((last_tx, last_seq)) = gone.iter().max() {
            tx.execute(query(PURGED).bind(last_tx).bind(last_seq)).await?;
        }
        tx.commit().await?;
        Ok(gone.len() as u64)
    }
}
