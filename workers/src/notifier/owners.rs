//! Direct messages to owners whose webhook endpoint was disabled, once each.

use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::WebhookId;
use chatkeep_core::metric;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{NoticeOutcome, PendingNotice, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{Bodies, Notifier, texts};
use crate::ItemFailures;
use crate::direct_message::{DirectMessage, DirectMessageRound};
use crate::periodic::{JobFailure, JobScope, PeriodicJob};

/// Maximum number of notices read at once.
const BATCH: u32 = 100;

/// Notifies the owners of disabled endpoints.
pub(super) struct OwnerNotices<B>(pub(super) Arc<Notifier<B>>);

impl<B: Bodies> PeriodicJob for OwnerNotices<B> {
    const NAME: &'static str = "webhook_notices";
    const PERIOD: Duration = Duration::from_secs(5);
    const FAILURE: &'static str = "cannot look for disabled webhooks";
    const SCOPE: JobScope = JobScope::Deployment;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        stop.run_until_cancelled(self.0.notify_owners()).await.transpose()?;
        Ok(())
    }
}

impl<B: Bodies> Notifier<B> {
    /// Goes through all pending notices. One that cannot be sent yet stays pending.
    ///
    /// # Errors
    /// Fails when the store fails.
    #[boxed]
    pub async fn notify_owners(&self) -> Result<(), StoreError> {
        let mut failures = ItemFailures::of(OwnerNotices::<B>::NAME);
        let mut round = DirectMessageRound::new(&self.bots, &self.clock);
        let mut after: Option<(Timestamp, WebhookId)> = None;
        loop {
            let webhooks = self.store.webhooks();
            let pending = webhooks.pending_webhook_notices(after.as_ref(), BATCH).await?;
            let Some(last) = pending.last() else {
                return failures.into_result();
            };
            after = Some((last.at, last.id.clone()));
            for webhook in &pending {
                let handled = self.handle_notice(webhook, &mut round).await;
                failures.isolate(&webhook.id, handled)?;
            }
        }
    }

    /// Notifies the owner of a webhook, if that is wanted, and records the outcome.
    async fn handle_notice(
        &self,
        webhook: &PendingNotice,
        round: &mut DirectMessageRound<'_>,
    ) -> Result<(), StoreError> {
        let outcome = if self.settings.tell_owners {
            notify_owner(webhook, round).await
        } else {
            Some(NoticeOutcome::NotWanted)
        };
        let Some(outcome) = outcome else {
            return Ok(());
        };
        let now = self.clock.now();
        if self.store.webhooks().settle_webhook_notice(webhook, outcome, now).await? {
            let outcome = outcome.name();
            metric::DELIVERY_NOTICES.add([outcome.into()], 1);
            info!(webhook = %webhook.id, outcome, "webhook notice");
        }
        Ok(())
    }
}

async fn notify_owner(
    webhook: &PendingNotice,
    round: &mut DirectMessageRound<'_>,
) -> Option<NoticeOutcome> {
    let news = DirectMessage {
        user: &webhook.user,
        chat: webhook.chat.as_ref(),
        at: webhook.at,
        key: format!("webhook-disabled:{}:{}", webhook.id, webhook.at.millis()),
    };
    round.push_message(news, |language| texts::text(webhook, language)).await
}
