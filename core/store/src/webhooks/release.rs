//! Returns leased deliveries that were not attempted.

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::{StoreError, WebhookStore};
use super::lease::LeasedDelivery;
use crate::query::query;

/// Only for the last lease.
const RETURN: &str = "
    UPDATE webhook_deliveries SET leased = 0, due_at = $2
    FROM (SELECT CAST(value ->> 'n' AS BIGINT) AS n, CAST(value ->> 'lease' AS BIGINT) AS lease
          FROM json_each($1)) s
    WHERE webhook_deliveries.delivery_no = s.n AND webhook_deliveries.claims = s.lease
      AND webhook_deliveries.leased = 1";

const RELEASE: &str =
    "UPDATE webhook_deliveries SET leased = 0, due_at = $1 WHERE leased = 1 AND due_at > $1";

#[derive(Serialize)]
struct Lease {
    n: i64,
    lease: i64,
}

impl WebhookStore<'_> {
    /// Returns leased deliveries that were not attempted: they are due again.
    ///
    /// # Errors
    /// Returns an error when the database fails; they are due when their lease ends then.
    #[boxed]
    pub async fn return_deliveries(
        &self,
        deliveries: &[LeasedDelivery],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let leases: Vec<_> = deliveries
            .iter()
            .map(|delivery| Lease { n: delivery.number, lease: delivery.lease })
            .collect();
        let leases = serde_json::to_string(&leases)?;
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RETURN).bind(&leases).bind(now.millis())).await?;
        tx.commit().await
    }

    /// Releases every leased delivery: for the one process of a database of its own, at its start.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn release_deliveries(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let freed = tx.execute(query(RELEASE).bind(now.millis())).await?;
        tx.commit().await?;
        Ok(freed)
    }
}
