//! Ends webhooks together with the key that created them.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{KeyId, WebhookId};
use chatkeep_core::time::Timestamp;

use super::super::db::{Sql, Tx};
use super::super::{StoreError, WebhookStore};
use super::rows::DisabledReason;
use super::settle::log_disabled;
use crate::query::{query, query_as};

/// Maximum number of webhooks disabled in one transaction.
const BATCH: i64 = 200;

macro_rules! disable {
    ($($where:literal),+) => {
        concat!(
            "UPDATE webhooks SET enabled = 0, disabled_reason = $2, disabled_at = $3,
                                 notified_at = NULL, notice_outcome = NULL
             WHERE enabled = 1 AND ",
            $($where),+,
            " RETURNING webhook_id, user_id"
        )
    };
}

const OF_KEY: &str = disable!("key_id = $1");

/// Builds the statement that disables webhooks whose key has ended, also those whose key was deleted past
/// this program. `$lock` has those tested again that somebody gives another key just then.
macro_rules! disable_ended {
    ($lock:literal) => {
        disable!(
            "webhook_id IN (
                 SELECT w.webhook_id FROM webhooks w
                 WHERE w.enabled = 1
                   AND (w.ends_at <= $3
                        OR (w.key_id IS NOT NULL AND NOT EXISTS (
                                SELECT 1 FROM api_keys k
                                WHERE k.key_id = w.key_id
                                  AND (k.expires_at IS NULL OR k.expires_at > $3))))
                 ORDER BY w.webhook_id LIMIT $1",
            $lock,
            ")"
        )
    };
}

const ENDED: Sql = Sql { sqlite: disable_ended!(""), postgres: disable_ended!(" FOR UPDATE OF w") };
const CARRY: &str = "UPDATE webhooks SET key_id = $2 WHERE key_id = $1";

impl WebhookStore<'_> {
    /// Disables webhooks whose key has ended, and queues notifications of their owners. Returns
    /// their ids, at most 200; call it again until there are none.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn end_webhooks(&self, now: Timestamp) -> Result<Vec<WebhookId>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let ended: Vec<(String, String)> = tx
            .fetch_all(
                query_as(ENDED)
                    .bind(BATCH)
                    .bind(DisabledReason::KeyEnded.name())
                    .bind(now.millis()),
            )
            .await?;
        record_disabled(&mut tx, &ended, now).await?;
        tx.commit().await?;
        Ok(ended.into_iter().map(|(webhook, _)| webhook.into()).collect())
    }
}

/// Disables the webhooks of a deleted key, and queues the notification of their owner.
pub(crate) async fn end_webhooks_of(
    tx: &mut Tx,
    key: &KeyId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let ended: Vec<(String, String)> = tx
        .fetch_all(
            query_as(OF_KEY)
                .bind(key.as_str())
                .bind(DisabledReason::KeyEnded.name())
                .bind(now.millis()),
        )
        .await?;
    record_disabled(tx, &ended, now).await
}

/// Moves the webhooks of one key to its successor.
pub(crate) async fn carry_webhooks(
    tx: &mut Tx,
    from: &KeyId,
    to: &KeyId,
) -> Result<(), StoreError> {
    tx.execute(query(CARRY).bind(from.as_str()).bind(to.as_str())).await?;
    Ok(())
}

async fn record_disabled(
    tx: &mut Tx,
    ended: &[(String, String)],
    now: Timestamp,
) -> Result<(), StoreError> {
    for (webhook, user) in ended {
        log_disabled(tx, webhook, user, now).await?;
    }
    Ok(())
}
