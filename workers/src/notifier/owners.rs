//! Direct messages to owners whose webhook endpoint was disabled, once each.

use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::metric;
use chatkeep_store::{NoticeOutcome, PendingNotice, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{Bodies, Notifier, texts};
use crate::ItemFailures;
use crate::direct_message::{self, DirectMessage};
use crate::periodic::{JobFailure, JobScope, PeriodicJob};

/// Maximum number of notices sent in one round.
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
    /// Sends the pending notices, at most 100. One that cannot be sent yet stays pending.
    ///
    /// # Errors
    /// Fails when the store fails.
    #[boxed]
    pub async fn notify_owners(&self) -> Result<(), StoreError> {
        let mut failures = ItemFailures::of(OwnerNotices::<B>::NAME);
        for webhook in self.store.webhooks().pending_webhook_notices(BATCH).await? {
            let outcome = if self.settings.tell_owners {
                self.notify_owner(&webhook).await
            } else {
                Some(NoticeOutcome::NotWanted)
            };
            let Some(outcome) = outcome else { continue };
            let (webhooks, now) = (self.store.webhooks(), self.clock.now());
            let settled = webhooks.settle_webhook_notice(&webhook, outcome, now).await;
            if failures.isolate(&webhook.id, settled)? == Some(true) {
                let outcome = outcome.name();
                metric::DELIVERY_NOTICES.add([outcome.into()], 1);
                info!(webhook = %webhook.id, outcome, "webhook notice");
            }
        }
        failures.into_result()
    }

    async fn notify_owner(&self, webhook: &PendingNotice) -> Option<NoticeOutcome> {
        let news = DirectMessage {
            user: &webhook.user,
            chat: webhook.chat.as_ref(),
            at: webhook.at,
            key: format!("webhook-disabled:{}:{}", webhook.id, webhook.at.millis()),
        };
        direct_message::push_message(&self.bots, &self.clock, news, |language| {
            texts::text(webhook, language)
        })
        .await
    }
}
