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
use crate::direct_message::{DirectMessage, DirectMessageRound};
use crate::periodic::{JobFailure, JobScope, PeriodicJob};

/// Maximum number of notices read at once.
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
    /// Goes through all pending notices. One that cannot be sent yet stays pending.
    async fn notify_all(&self) -> Result<(), StoreError> {
        let mut failures = ItemFailures::of(Self::NAME);
        let mut round = DirectMessageRound::new(&self.bots, &self.clock);
        let mut after = None;
        loop {
            let notices = self.store.accounts().pending_usage_notices(after, BATCH).await?;
            let Some(last) = notices.last() else {
                return failures.into_result();
            };
            after = Some(last.id);
            for notice in &notices {
                let handled = self.handle(notice, &mut round).await;
                failures.isolate(&notice.user, handled)?;
            }
        }
    }

    /// Sends a notice, unless it is pointless, and records the outcome.
    async fn handle(
        &self,
        notice: &UsageNotice,
        round: &mut DirectMessageRound<'_>,
    ) -> Result<(), StoreError> {
        let outcome = match pointless(notice) {
            Some(reason) => Some(reason),
            None => notify_user(notice, round).await,
        };
        let Some(outcome) = outcome else {
            return Ok(());
        };
        let now = self.clock.now();
        if self.store.accounts().settle_notice(notice, outcome, now).await? {
            let outcome = outcome.name();
            metric::USAGE_NOTICES.add([outcome.into()], 1);
            info!(user = %notice.user, status = notice.status.name(), outcome, "usage notice");
        }
        Ok(())
    }
}

async fn notify_user(
    notice: &UsageNotice,
    round: &mut DirectMessageRound<'_>,
) -> Option<NoticeOutcome> {
    let news = DirectMessage {
        user: &notice.user,
        chat: notice.chat.as_ref(),
        at: notice.at,
        key: format!("usage-notice:{}:{}:{}", notice.user, notice.id, notice.at.millis()),
    };
    round.push_message(news, |language| texts::text(notice, language)).await
}

/// Returns the reason for skipping a notice, if any.
fn pointless(notice: &UsageNotice) -> Option<NoticeOutcome> {
    if notice.status == notice.last_notified {
        return Some(NoticeOutcome::NothingNew);
    }
    (!notice.wanted).then_some(NoticeOutcome::NotWanted)
}
