//! Deliveries on request: tests, and redeliveries.

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::WebhookId;
use chatkeep_core::time::Timestamp;

use super::super::{StoreError, WebhookStore};
use super::delivery::{DeliveryStatus, TEST_EVENT};
use super::within::{Within, within};
use crate::db::Sql;
use crate::query::{query, query_as};

const TEST: &str = "
    INSERT INTO webhook_deliveries
        (webhook_id, event_id, type, at, detail_id, created_at, due_at)
    SELECT webhook_id, $2, $4, CAST($3 AS BIGINT), webhook_id, CAST($3 AS BIGINT),
           CAST($3 AS BIGINT)
    FROM webhooks WHERE webhook_id = $1
    RETURNING delivery_no";

/// A delivery that is under way is left alone.
const REDELIVER: &str = "
    UPDATE webhook_deliveries SET status = $4, due_at = $3, attempts = 0, leased = 0
    WHERE webhook_id = $1 AND delivery_no = $2 AND NOT (leased = 1 AND due_at > $3)";
/// The rows are locked before they are counted, so that a batch is empty only at the end.
macro_rules! redeliver_failed {
    ($lock:literal) => {
        within!(
            "UPDATE webhook_deliveries SET status = $8, due_at = $7, attempts = 0, leased = 0
             WHERE status = $9 AND delivery_no IN (
                 SELECT delivery_no FROM webhook_deliveries WHERE",
            " AND status = $9 AND created_at >= $6 AND delivery_no > $10
                 ORDER BY delivery_no LIMIT $11",
            $lock,
            ") RETURNING delivery_no"
        )
    };
}
const REDELIVER_FAILED: Sql =
    Sql { sqlite: redeliver_failed!(""), postgres: redeliver_failed!(" FOR UPDATE") };
/// Batch size of redeliveries.
const BATCH: i64 = 1_000;

impl WebhookStore<'_> {
    /// Creates a test delivery with that event id; returns its number. `None` when there is no such
    /// webhook.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn test_webhook(
        &self,
        webhook: &WebhookId,
        event_id: &str,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row: Option<(i64,)> = tx
            .fetch_optional(
                query_as(TEST)
                    .bind(webhook.as_str())
                    .bind(event_id)
                    .bind(now.millis())
                    .bind(TEST_EVENT),
            )
            .await?;
        tx.commit().await?;
        Ok(row.map(|(number,)| number))
    }

    /// Queues a redelivery, from the first attempt on, whatever its status. One that is under way
    /// is left alone.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn redeliver(
        &self,
        webhook: &WebhookId,
        number: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(
            query(REDELIVER)
                .bind(webhook.as_str())
                .bind(number)
                .bind(now.millis())
                .bind(DeliveryStatus::Pending.name()),
        )
        .await?;
        tx.commit().await
    }

    /// Queues redeliveries of everything within the bounds that failed and was created since a
    /// time, in batches of a thousand. Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails; the batches before are queued then.
    #[boxed]
    pub async fn redeliver_since(
        &self,
        webhook: &WebhookId,
        bounds: &Bounds,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let within = Within::of(bounds)?;
        let (mut after, mut again) = (0_i64, 0_u64);
        loop {
            let mut tx = self.store.db.begin_bulk().await?;
            let batch: Vec<(i64,)> = tx
                .fetch_all(
                    query_as(REDELIVER_FAILED)
                        .bind(webhook.as_str())
                        .bind(within.bound)
                        .bind(&within.channels)
                        .bind(&within.events)
                        .bind(within.from)
                        .bind(since.millis())
                        .bind(now.millis())
                        .bind(DeliveryStatus::Pending.name())
                        .bind(DeliveryStatus::Failed.name())
                        .bind(after)
                        .bind(BATCH),
                )
                .await?;
            tx.commit().await?;
            again += batch.len() as u64;
            // Those that fail again meanwhile are not queued twice.
            match batch.into_iter().max() {
                Some((last,)) => after = last,
                None => return Ok(again),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn a_batch_reads_failed_deliveries_alone() {
        let steps = plan(REDELIVER_FAILED.sqlite).await.join("\n");
        let index = "webhook_deliveries_by_status (webhook_id=? AND status=? AND delivery_no>?)";
        assert!(steps.contains(index) && !steps.contains("TEMP B-TREE"), "{steps}");
    }
}
