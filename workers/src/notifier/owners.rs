//! Direct messages to owners whose webhook endpoint was disabled, once each.

use std::time::Duration;

use chatkeep_core::log_failure;
use chatkeep_core::metric;
use chatkeep_core::store::{PendingNotice, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{Bodies, Notifier, texts, ticks};
use crate::direct_message::{self, DirectMessage};

/// Poll interval of such endpoints.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of notices sent in one round.
const BATCH: u32 = 100;

impl<B: Bodies> Notifier<B> {
    pub(super) async fn tell_owners(&self, stop: &CancellationToken) {
        let mut ticks = ticks(POLL_INTERVAL);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Some(Err(error)) = stop.run_until_cancelled(self.tell_all()).await {
                log_failure!(warn, &error, "cannot look up disabled webhooks");
            }
        }
    }

    async fn tell_all(&self) -> Result<(), StoreError> {
        for webhook in self.store.pending_webhook_notices(BATCH).await? {
            let outcome = if self.settings.tell_owners {
                self.notify_owner(&webhook).await
            } else {
                Some("not_wanted")
            };
            let Some(outcome) = outcome else { continue };
            if self.store.settle_webhook_notice(&webhook, outcome, self.clock.now()).await? {
                metric::DELIVERY_NOTICES.add([outcome.into()], 1);
                info!(webhook = %webhook.id, outcome, "webhook notice");
            }
        }
        Ok(())
    }

    async fn notify_owner(&self, webhook: &PendingNotice) -> Option<&'static str> {
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
