//! Size of the delivery queue, for metrics and the status.

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

use super::super::{StoreError, WebhookStore};
use super::lease::may_be_leased;
use crate::query::query_as;

/// Size of the delivery queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WebhookQueue {
    /// Number of unfinished deliveries.
    pub waiting: i64,
    /// Number of due deliveries among them, those to webhooks that have been failing for a while
    /// left out.
    pub due: i64,
    /// Time at which the first of these became due.
    pub oldest_due: Option<Timestamp>,
}

/// Counts of the unfinished deliveries. Those that waited for a pause are due from its end on;
/// those to a webhook that has been failing for a while wait for its endpoint: no worker is late.
const QUEUE: &str = concat!(
    "SELECT COUNT(*), COUNT(due_since), MIN(due_since) FROM (
         SELECT CASE WHEN d.due_at <= $1 AND ",
    may_be_leased!(),
    " AND (w.failing_since IS NULL OR w.failing_since > $2)
                     THEN CASE WHEN d.due_at > w.not_until THEN d.due_at ELSE w.not_until END
                END AS due_since
         FROM webhook_deliveries d JOIN webhooks w ON w.webhook_id = d.webhook_id
         WHERE d.due_at IS NOT NULL AND w.enabled = 1) unfinished"
);

impl WebhookStore<'_> {
    /// Returns the queue of the enabled webhooks. Those failing since before `failing_before` have
    /// been failing for a while.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn webhook_queue(
        &self,
        failing_before: Timestamp,
        now: Timestamp,
    ) -> Result<WebhookQueue, StoreError> {
        let statement = query_as(QUEUE).bind(now.millis()).bind(failing_before.millis());
        let (waiting, due, oldest): (i64, i64, Option<i64>) =
            self.store.db.fetch_one(statement).await?;
        let oldest_due = oldest.map(Timestamp::from_millis);
        Ok(WebhookQueue { waiting, due, oldest_due })
    }
}
