//! Notifications of owners, in their own chat with the bot, about automatically disabled webhooks.

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::ChannelRef;
use chatkeep_core::id::{UserId, WebhookId};
use chatkeep_core::time::Timestamp;

use super::super::{StoreError, WebhookStore, parsed};
use super::rows::DisabledReason;
use crate::notices::{NoticeOutcome, direct_chat, join_direct_chat};
use crate::query::{query, query_as};

/// Automatically disabled webhook whose owner was not notified yet.
#[derive(Clone, Debug)]
pub struct PendingNotice {
    /// Webhook id.
    pub id: WebhookId,
    /// Owner.
    pub user: UserId,
    /// URL of the endpoint.
    pub url: String,
    /// Reason for disabling it.
    pub reason: DisabledReason,
    /// Time of disabling it.
    pub at: Timestamp,
    /// Bot with which its owner has a direct chat, and the chat.
    pub chat: Option<(String, ChannelRef)>,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct PendingNoticeRow {
    webhook_id: String,
    user_id: String,
    url: String,
    disabled_reason: String,
    disabled_at: i64,
    bot: Option<String>,
    channel_id: Option<String>,
}

const PENDING: &str = concat!(
    "SELECT w.webhook_id, w.user_id, w.url, w.disabled_reason, w.disabled_at, c.bot, c.channel_id
     FROM webhooks w",
    join_direct_chat!("w.user_id"),
    "WHERE w.disabled_reason IS NOT NULL AND w.notified_at IS NULL
       AND (w.disabled_at, w.webhook_id) > ($2, $3)
     ORDER BY w.disabled_at, w.webhook_id LIMIT $1"
);
const SETTLE: &str = "
    UPDATE webhooks SET notified_at = $3, notice_outcome = $4
    WHERE webhook_id = $1 AND disabled_at = $2 AND notified_at IS NULL";

impl WebhookStore<'_> {
    /// Returns disabled webhooks without a notification yet, in the order of time and id after
    /// `after`, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn pending_webhook_notices(
        &self,
        after: Option<&(Timestamp, WebhookId)>,
        limit: u32,
    ) -> Result<Vec<PendingNotice>, StoreError> {
        let (at, id) = after.map_or((i64::MIN, ""), |(at, id)| (at.millis(), id.as_str()));
        let pending = query_as(PENDING).bind(i64::from(limit)).bind(at).bind(id);
        let rows: Vec<PendingNoticeRow> = self.store.db.fetch_all(pending).await?;
        rows.into_iter().map(PendingNotice::try_from).collect()
    }

    /// Settles the notification. `false` when it was settled already.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn settle_webhook_notice(
        &self,
        webhook: &PendingNotice,
        outcome: NoticeOutcome,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let settled = tx
            .execute(
                query(SETTLE)
                    .bind(webhook.id.as_str())
                    .bind(webhook.at.millis())
                    .bind(now.millis())
                    .bind(outcome.name()),
            )
            .await?;
        tx.commit().await?;
        Ok(settled > 0)
    }
}

impl TryFrom<PendingNoticeRow> for PendingNotice {
    type Error = StoreError;

    fn try_from(row: PendingNoticeRow) -> Result<Self, StoreError> {
        let reason = DisabledReason::parse(&row.disabled_reason);
        let reason = parsed(reason, "webhooks", "disabled_reason", &row.webhook_id)?;
        Ok(Self {
            id: row.webhook_id.into(),
            user: row.user_id.into(),
            url: row.url,
            reason,
            at: Timestamp::from_millis(row.disabled_at),
            chat: direct_chat(row.bot, row.channel_id),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn pending_notices_are_found_among_all_webhooks() {
        let steps = plan(PENDING).await.join("\n");
        assert!(steps.contains("webhooks_notice_pending (disabled_at>?)"), "{steps}");
    }
}
