//! Log of a webhook's deliveries: results, and deletion.

use async_recursion::async_recursion as boxed;
use chatkeep_core::bounds::Bounds;
use chatkeep_core::id::WebhookId;
use chatkeep_core::time::Timestamp;

use super::super::db::Sql;
use super::super::{StoreError, WebhookStore};
use super::delivery::{DeliveryRow, DeliveryStatus, WebhookDelivery};
use super::within::{Within, within};
use crate::query::{query, query_as};

/// Batch size for the deletion of old rows.
const SWEEP: i64 = 5_000;

/// Filter of a webhook's deliveries.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryFilter<'a> {
    /// Bounds: deliveries about other channels, or that need other scopes, are treated as absent.
    pub bounds: &'a Bounds,
    /// Status of the deliveries.
    pub status: Option<DeliveryStatus>,
    /// Name of the kind of their events: of an [`OutboxEventKind`](crate::OutboxEventKind), or
    /// [`TEST_EVENT`](crate::TEST_EVENT).
    pub event: Option<&'a str>,
    /// Earliest time of creation.
    pub from: Option<Timestamp>,
    /// Time that all of them were created before.
    pub to: Option<Timestamp>,
    /// Number that all deliveries are before.
    pub before: Option<i64>,
}

impl<'a> DeliveryFilter<'a> {
    /// Creates the filter of all deliveries within bounds.
    pub const fn within(bounds: &'a Bounds) -> Self {
        Self { bounds, status: None, event: None, from: None, to: None, before: None }
    }

    /// Returns the statement that reads as little as possible. Nearly all are delivered, so with
    /// that status the kind of event says more.
    const fn list(&self) -> Sql {
        match (self.status, self.event) {
            (None, None) => LIST,
            (None | Some(DeliveryStatus::Delivered), Some(_)) => OF_EVENT,
            (Some(_), _) => OF_STATUS,
        }
    }
}

macro_rules! deliveries {
    ([$index:literal], $($rest:literal),+) => {
        within!(
            ["SELECT delivery_no, event_id, type, at, channel_id, subject_id, detail_id, unstored,
                    created_at, status, attempts, due_at, tried_at, took_ms, http_status, error,
                    answer, request_bytes,
                    (SELECT not_until FROM webhooks WHERE webhook_id = $1) AS not_until
              FROM webhook_deliveries", $index, " WHERE"],
            $($rest),+
        )
    };
}

/// Builds the statement of a list with the condition `$only`, by that index.
macro_rules! list {
    ($index:literal, $only:literal) => {
        deliveries!(
            [$index],
            $only,
            " AND delivery_no < $6 AND delivery_no >= $12
             AND ($7 IS NULL OR status = $7) AND ($9 IS NULL OR type = $9)
             AND created_at >= $10 AND created_at < $11 ORDER BY delivery_no DESC LIMIT $8"
        )
    };
}

const LIST: Sql = Sql { sqlite: list!("", ""), postgres: list!("", "") };
/// Without statistics SQLite would take the index of all deliveries for as good as this one.
const OF_STATUS: Sql = Sql {
    sqlite: list!(" INDEXED BY webhook_deliveries_by_status", " AND status = $7"),
    postgres: list!("", " AND status = $7"),
};
const OF_EVENT: Sql = Sql {
    sqlite: list!(" INDEXED BY webhook_deliveries_by_type", " AND type = $9"),
    postgres: list!("", " AND type = $9"),
};
/// First and last number of what was created between two times. Numbers rise with time, but for the
/// differences of clocks, which `$4` allows for.
const NUMBERS: &str = "
    SELECT (SELECT MIN(delivery_no) FROM webhook_deliveries
            WHERE webhook_id = $1 AND created_at >= $2 AND created_at <= $4 +
                  (SELECT MIN(created_at) FROM webhook_deliveries
                   WHERE webhook_id = $1 AND created_at >= $2)),
           (SELECT MAX(delivery_no) FROM webhook_deliveries
            WHERE webhook_id = $1 AND created_at < $3 AND created_at >=
                  (SELECT MAX(created_at) FROM webhook_deliveries
                   WHERE webhook_id = $1 AND created_at < $3) - $4)";
/// Maximum difference between the clocks of processes, in milliseconds.
const SKEW: i64 = 10 * 60 * 1000;
const ONE: &str = deliveries!([""], " AND delivery_no = $6");

const PURGE: Sql = Sql {
    sqlite: "DELETE FROM webhook_deliveries WHERE delivery_no IN (
                 SELECT delivery_no FROM webhook_deliveries WHERE created_at < $1 LIMIT $2)",
    postgres: "DELETE FROM webhook_deliveries WHERE delivery_no IN (
                   SELECT delivery_no FROM webhook_deliveries WHERE created_at < $1
                   ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
};

impl WebhookStore<'_> {
    /// Returns deliveries of a webhook, newest first, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn webhook_deliveries<'s>(
        &'s self,
        webhook: &WebhookId,
        filter: DeliveryFilter<'s>,
        limit: u32,
    ) -> Result<Vec<WebhookDelivery>, StoreError> {
        let within = Within::of(filter.bounds)?;
        let Some((first, end)) = self.delivery_numbers(webhook, &filter).await? else {
            return Ok(Vec::new());
        };
        let rows: Vec<DeliveryRow> = self
            .store
            .db
            .fetch_all(
                query_as(filter.list())
                    .bind(webhook.as_str())
                    .bind(within.bound)
                    .bind(&within.channels)
                    .bind(&within.events)
                    .bind(within.from)
                    .bind(end)
                    .bind(filter.status.map(DeliveryStatus::name))
                    .bind(i64::from(limit))
                    .bind(filter.event)
                    .bind(filter.from.map_or(i64::MIN, Timestamp::millis))
                    .bind(filter.to.map_or(i64::MAX, Timestamp::millis))
                    .bind(first),
            )
            .await?;
        rows.into_iter().map(WebhookDelivery::try_from).collect()
    }

    /// Returns the first number of the deliveries in the times of a filter, and the number that all
    /// of them are before; `None` where there are none.
    async fn delivery_numbers(
        &self,
        webhook: &WebhookId,
        filter: &DeliveryFilter<'_>,
    ) -> Result<Option<(i64, i64)>, StoreError> {
        let before = filter.before.unwrap_or(i64::MAX);
        if filter.from.is_none() && filter.to.is_none() {
            return Ok(Some((i64::MIN, before)));
        }
        let numbers: (Option<i64>, Option<i64>) = self
            .store
            .db
            .fetch_one(
                query_as(NUMBERS)
                    .bind(webhook.as_str())
                    .bind(filter.from.map_or(i64::MIN, Timestamp::millis))
                    .bind(filter.to.map_or(i64::MAX, Timestamp::millis))
                    .bind(SKEW),
            )
            .await?;
        Ok(numbers.0.zip(numbers.1).map(|(first, last)| (first, before.min(last + 1))))
    }

    /// Returns one delivery of a webhook, if it is within the bounds.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn webhook_delivery(
        &self,
        webhook: &WebhookId,
        number: i64,
        bounds: &Bounds,
    ) -> Result<Option<WebhookDelivery>, StoreError> {
        let within = Within::of(bounds)?;
        let row: Option<DeliveryRow> = self
            .store
            .db
            .fetch_optional(
                query_as(ONE)
                    .bind(webhook.as_str())
                    .bind(within.bound)
                    .bind(&within.channels)
                    .bind(&within.events)
                    .bind(within.from)
                    .bind(number),
            )
            .await?;
        row.map(WebhookDelivery::try_from).transpose()
    }

    /// Deletes a batch of the deliveries created before `before`. Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_webhook_deliveries(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let gone = tx.execute(query(PURGE).bind(before.millis()).bind(SWEEP)).await?;
        tx.commit().await?;
        Ok(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn a_filter_reads_what_it_lists_alone() {
        for (sql, index) in [
            (LIST, "webhook_deliveries_listed (webhook_id=? AND delivery_no>? AND delivery_no<?)"),
            (
                OF_STATUS,
                "webhook_deliveries_by_status (webhook_id=? AND status=? AND delivery_no>?",
            ),
            (OF_EVENT, "webhook_deliveries_by_type (webhook_id=? AND type=? AND delivery_no>?"),
        ] {
            let steps = plan(sql.sqlite).await.join("\n");
            assert!(steps.contains(index) && !steps.contains("TEMP B-TREE"), "{steps}");
        }
        let steps = plan(NUMBERS).await;
        let by_time =
            "USING COVERING INDEX webhook_deliveries_by_time (webhook_id=? AND created_at";
        let read =
            steps.iter().filter(|step| step.starts_with("SEARCH") || step.starts_with("SCAN"));
        let read: Vec<_> = read.filter(|step| step.contains("webhook_deliveries")).collect();
        assert!(read.len() == 4 && read.iter().all(|step| step.contains(by_time)), "{steps:#?}");
    }

    #[test]
    fn the_statement_fits_the_filter() {
        let bounds = Bounds::full();
        let any = DeliveryFilter::within(&bounds);
        let event = Some("message.received");
        let (delivered, failed) = (Some(DeliveryStatus::Delivered), Some(DeliveryStatus::Failed));
        let list = |status, event| DeliveryFilter { status, event, ..any }.list().sqlite;
        let (all, of_status, of_event) = (LIST.sqlite, OF_STATUS.sqlite, OF_EVENT.sqlite);
        assert_eq!(
            [list(None, None), list(failed, None), list(failed, event)],
            [all, of_status, of_status]
        );
        assert_eq!(
            [list(delivered, None), list(None, event), list(delivered, event)],
            [of_status, of_event, of_event]
        );
    }
}
