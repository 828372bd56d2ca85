//! Usage notices: direct messages to users whose usage crossed a threshold, once each.

mod texts;

use std::time::Duration;

use chatkeep_core::metric;
use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_store::{NoticeOutcome, Store, StoreError, UsageNotice};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::ItemFailures;
use crate::direct_message::{self, DirectMessage};
use crate::periodic::{JobFailure, JobScope, PeriodicJob};

/// Maximum number of notices sent in one round.
const BATCH: u32 = 100;

/// Notifies users of their usage.
#[derive(Debug)]
pub struct UsageNotifier {
    /// Store of the pending notices.
    pub store: Store,
    /// Bots that send them.
    pub bots: Bots,
    /// Clock for the age of a notice.
    pub clock: SharedClock,
}

impl PeriodicJob for UsageNotifier {
    const NAME: &'static str = "usage_notices";
    const PERIOD: Duration = Duration::from_secs(5);
    const FAILURE: &'static str = "cannot look for usage notices";
    const SCOPE: JobScope = JobScope::Deployment;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        stop.run_until_cancelled(self.notify_all()).await.transpose()?;
        Ok(())
    }
}

impl UsageNotifier {
    async fn notify_all(&self) -> Result<(), StoreError> {
        let mut failures = ItemFailures::of(Self::NAME);
        for notice in self.store.accounts().pending_usage_notices(BATCH).await? {
            let outcome = match pointless(&notice) {
                Some(reason) => Some(reason),
                None => self.notify_user(&notice).await,
            };
            let Some(outcome) = outcome else { continue };
            let now = self.clock.now();
            let settled = self.store.accounts().settle_notice(&notice, outcome, now).await;
            if failures.isolate(&notice.user, settled)? == Some(true) {
                let outcome = outcome.name();
                metric::USAGE_NOTICES.add([outcome.into()], 1);
                info!(user = %notice.user, status = notice.status.name(), outcome, "usage notice");
            }
        }
        failures.into_result()
    }

    async fn notify_user(&self, notice: &UsageNotice) -> Option<NoticeOutcome> {
        let news = DirectMessage {
            user: &notice.user,
            chat: notice.chat.as_ref(),
            at: notice.at,
            key: format!("usage-notice:{}:{}:{}", notice.user, notice.id, notice.at.millis()),
        };
        direct_message::push_message(&self.bots, &self.clock, news, |language| {
            texts::text(notice, language)
        })
        .await
    }
}

/// Returns the reason for skipping a notice, if any.
fn pointless(notice: &UsageNotice) -> Option<NoticeOutcome> {
    if notice.status == notice.last_notified {
        return Some(NoticeOutcome::NothingNew);
    }
    (!notice.wanted).then_some(NoticeOutcome::NotWanted)
}
