//! Returns claimed deliveries that were not attempted.

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::{StoreError, WebhookStore};
use super::claim::ClaimedDelivery;
use crate::query::query;

/// Only for the last claim.
const RETURN: &str = "
    UPDATE webhook_deliveries SET leased = 0, due_at = $2
    FROM (SELECT CAST(value ->> 'n' AS BIGINT) AS n, CAST(value ->> 'claim' AS BIGINT) AS claim
          FROM json_each($1)) s
    WHERE webhook_deliveries.delivery_no = s.n AND webhook_deliveries.claims = s.claim
      AND webhook_deliveries.leased = 1";

const RELEASE: &str =
    "UPDATE webhook_deliveries SET leased = 0, due_at = $1 WHERE leased = 1 AND due_at > $1";

#[derive(Serialize)]
struct Claim {
    n: i64,
    claim: i64,
}

impl WebhookStore<'_> {
    /// Returns claimed deliveries that were not attempted: they are due again.
    ///
    /// # Errors
    /// Returns an error when the database fails; they are due when their lease ends then.
    #[boxed]
    pub async fn return_webhooks(
        &self,
        deliveries: &[ClaimedDelivery],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let claims: Vec<_> = deliveries
            .iter()
            .map(|delivery| Claim { n: delivery.number, claim: delivery.claim })
            .collect();
        let claims = serde_json::to_string(&claims)?;
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RETURN).bind(&claims).bind(now.millis())).await?;
        tx.commit().await
    }

    /// Releases every claimed delivery: for the one process of a database of its own, at its start.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn release_webhooks(&self, now: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let freed = tx.execute(query(RELEASE).bind(now.millis())).await?;
        tx.commit().await?;
        Ok(freed)
    }
}
