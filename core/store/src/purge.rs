//! Deletes rows of limited use from tables that would grow for ever, in batches, so that nobody
//! waits for long.

use std::collections::BTreeMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

use super::{AccountStore, AssistantStore, MemberStore, Store, StoreError};
use crate::query::{query, query_as};

/// Batch size of a deletion.
const SWEEP: i64 = 1_000;

/// A reply that is still being sent is not old, however long that takes.
const REPLIES: &str = "
    DELETE FROM replies WHERE (event_id, created_at) IN (
        SELECT event_id, created_at FROM replies WHERE created_at < $1 AND status <> 'sending'
        ORDER BY created_at LIMIT $2)
    RETURNING channel_id, rule_id,
              CAST(CASE WHEN status = 'suppressed' THEN 1 ELSE 0 END AS BIGINT)";
/// A rule's hits outlive the replies that they count.
const PURGED_HITS: &str = "
    UPDATE qa_rules SET purged_hits = purged_hits + $3, purged_suppressed = purged_suppressed + $4
    WHERE channel_id = $1 AND rule_id = $2";
/// A user's last notice stays, and the last notified one: they decide on the next notification.
const NOTICES: &str = "
    DELETE FROM usage_notices WHERE notice_id IN (
        SELECT n.notice_id FROM usage_notices n
        WHERE n.created_at < $1 AND n.notified_at IS NOT NULL
          AND n.notice_id < (SELECT MAX(m.notice_id) FROM usage_notices m
                             WHERE m.user_id = n.user_id)
          AND (COALESCE(n.outcome, '') <> 'sent' OR EXISTS (
                   SELECT 1 FROM usage_notices l
                   WHERE l.user_id = n.user_id AND l.outcome = 'sent'
                     AND l.notice_id > n.notice_id))
        ORDER BY n.created_at LIMIT $2)";
const MEMBERSHIP_CHECKS: &str = "
    DELETE FROM membership_checks WHERE (channel_id, user_id) IN (
        SELECT channel_id, user_id FROM membership_checks WHERE checked_at < $1
        ORDER BY checked_at LIMIT $2)";

impl AssistantStore<'_> {
    /// Deletes a batch of reply records from before `before`. Returns their number. The hits of
    /// rules stay.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_replies(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin_bulk().await?;
        let gone: Vec<(String, Option<String>, i64)> =
            tx.fetch_all(query_as(REPLIES).bind(before.millis()).bind(SWEEP)).await?;
        let purged = gone.len() as u64;
        // In order, so that two of these never wait for each other.
        let mut hits = BTreeMap::<_, (i64, i64)>::new();
        for (channel, rule, suppressed) in gone {
            if let Some(rule) = rule {
                let of_rule = hits.entry((channel, rule)).or_default();
                *of_rule = (of_rule.0 + 1, of_rule.1 + suppressed);
            }
        }
        for ((channel, rule), (hits, suppressed)) in hits {
            let count = query(PURGED_HITS).bind(channel).bind(rule).bind(hits).bind(suppressed);
            tx.execute(count).await?;
        }
        tx.commit().await?;
        Ok(purged)
    }
}

impl AccountStore<'_> {
    /// Deletes a batch of settled and overtaken usage notices from before `before`. Returns their
    /// number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_notices(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.store.sweep(NOTICES, before).await
    }
}

impl MemberStore<'_> {
    /// Deletes a batch of records of membership checks on the platform from before `before`.
    /// Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn purge_membership_checks(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.store.sweep(MEMBERSHIP_CHECKS, before).await
    }
}

impl Store {
    pub(crate) async fn sweep(
        &self,
        sql: &'static str,
        before: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut tx = self.db.begin_bulk().await?;
        let gone = tx.execute(query(sql).bind(before.millis()).bind(SWEEP)).await?;
        tx.commit().await?;
        Ok(gone)
    }
}
