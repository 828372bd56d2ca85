//! Removes messages beyond their retention, in small batches, so that backup goes on meanwhile.
//!
//! It runs in one process with the worker role at a time. Several at once would not conflict: each
//! batch is a transaction of its own that selects its messages. A process that dies half-way leaves
//! the rest for the next round.

use std::time::Duration;

use chatkeep_core::config::RetentionConfig;
use chatkeep_core::id::ChannelId;
use chatkeep_core::metric;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{Removed, Store, StoreError};
use chatkeep_workers::ItemFailures;
use chatkeep_workers::periodic::{JobFailure, JobScope, PeriodicJob};
use tokio_util::sync::CancellationToken;
use tracing::info;

/// Batch size: messages removed in one transaction.
const BATCH: u32 = 500;
/// Pause between two batches, for others who wait for the database.
const PAUSE: Duration = Duration::from_millis(250);
/// Maximum age of an edit that waits for its message; platforms deliver again for hours, not days.
const ORPHAN_EDIT_AGE: Duration = Duration::from_hours(7 * 24);
/// Batches between two lines in the log.
const LOG_INTERVAL: usize = 20;

/// Reason for removing messages.
#[derive(Clone, Copy)]
enum RetentionReason {
    /// Older than the channel's retention at that time.
    Age(Timestamp),
    /// No subscriber since before that time.
    Unsubscribed(Timestamp),
}

/// Retention job with its settings and clock.
#[derive(Debug)]
pub struct Retention {
    pub store: Store,
    pub clock: SharedClock,
    pub config: RetentionConfig,
}

impl PeriodicJob for Retention {
    const NAME: &'static str = "retention";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot remove outdated messages";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        Ok(self.round(stop).await?)
    }
}

impl Retention {
    /// Runs one round; returns early once `stop` is cancelled.
    async fn round(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        // One time for all, read before it is asked whether it is right: the clock may be set later.
        let now = self.clock.now();
        if !self.clock.is_confirmed() {
            return Ok(());
        }
        let mut failures = ItemFailures::of(Self::NAME);
        let outdated = self.outdated(now, stop, &mut failures).await;
        failures.isolate(&"channels with outdated messages", outdated)?;
        if let Some(time) = self.config.unsubscribed {
            let abandoned = self.abandoned(now.minus(time), stop, &mut failures).await;
            failures.isolate(&"channels without a subscriber", abandoned)?;
        }
        if let Some(time) = self.config.other_events {
            let events = self.other_events(now.minus(time), stop).await;
            failures.isolate(&"events of unknown type", events)?;
        }
        let stray = self.stray_edits(now.minus(ORPHAN_EDIT_AGE), stop).await;
        failures.isolate(&"edits without their message", stray)?;
        failures.into_result()
    }

    /// Removes the messages that exceed the retention of their channel.
    async fn outdated(
        &self,
        now: Timestamp,
        stop: &CancellationToken,
        failures: &mut ItemFailures,
    ) -> Result<(), StoreError> {
        for channel in self.store.channels().outdated_channels(now).await? {
            let removed = self.channel(&channel, RetentionReason::Age(now), stop).await;
            failures.isolate(&channel, removed)?;
        }
        Ok(())
    }

    /// Removes what is stored of channels to which nobody has subscribed since before that time.
    async fn abandoned(
        &self,
        before: Timestamp,
        stop: &CancellationToken,
        failures: &mut ItemFailures,
    ) -> Result<(), StoreError> {
        for channel in self.store.channels().abandoned_channels(before).await? {
            let removed = self.channel(&channel, RetentionReason::Unsubscribed(before), stop).await;
            // The activity log goes once the messages are gone.
            if failures.isolate(&channel, removed)?.is_some() {
                let forgotten = self.activity_log(&channel, before, stop).await;
                failures.isolate(&channel, forgotten)?;
            }
        }
        Ok(())
    }

    /// Removes edits whose message never came, and rows of messages that were skipped.
    async fn stray_edits(
        &self,
        before: Timestamp,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let messages = self.store.messages();
        while !stop.is_cancelled()
            && messages.purge_stray_edits(before).await? + messages.purge_skipped(before).await? > 0
        {
            pause(PAUSE, stop).await;
        }
        Ok(())
    }

    async fn channel(
        &self,
        channel: &ChannelId,
        why: RetentionReason,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let (mut messages, mut bytes) = (0, 0);
        for batch in 1.. {
            if stop.is_cancelled() {
                return Ok(());
            }
            let removed = self.batch(channel, why).await?;
            messages += removed.messages.len();
            bytes += removed.bytes;
            count(why.name(), removed.messages.len());
            if removed.last {
                break;
            }
            if batch % LOG_INTERVAL == 0 {
                info!(%channel, messages, bytes, why = why.name(), "removing outdated messages");
            }
            pause(PAUSE, stop).await;
        }
        if messages > 0 {
            info!(%channel, messages, bytes, why = why.name(), "outdated messages removed");
        }
        Ok(())
    }

    /// Removes the activity log of a channel that nobody subscribes to.
    async fn activity_log(
        &self,
        channel: &ChannelId,
        before: Timestamp,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        while !stop.is_cancelled()
            && self.store.channels().forget_abandoned(channel, before).await? > 0
        {
            pause(PAUSE, stop).await;
        }
        Ok(())
    }

    async fn batch(
        &self,
        channel: &ChannelId,
        why: RetentionReason,
    ) -> Result<Removed, StoreError> {
        match why {
            RetentionReason::Age(now) => {
                self.store.channels().delete_outdated(channel, BATCH, now).await
            }
            RetentionReason::Unsubscribed(before) => {
                let now = self.clock.now();
                self.store.channels().delete_abandoned(channel, before, BATCH, now).await
            }
        }
    }

    async fn other_events(
        &self,
        before: Timestamp,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let mut events = 0;
        while !stop.is_cancelled() {
            let gone = self.store.messages().purge_other_events(before).await?;
            if gone == 0 {
                break;
            }
            events += gone;
            count("other_events", gone);
            pause(PAUSE, stop).await;
        }
        if events > 0 {
            info!(events, "old events of unknown type removed");
        }
        Ok(())
    }
}

impl RetentionReason {
    const fn name(self) -> &'static str {
        match self {
            Self::Age(_) => "age",
            Self::Unsubscribed(_) => "unsubscribed",
        }
    }
}

fn count(why: &'static str, gone: usize) {
    metric::RETENTION_DELETED.add([why.into()], gone as u64);
}

/// Waits for a time, or until `stop` is cancelled.
async fn pause(time: Duration, stop: &CancellationToken) {
    stop.run_until_cancelled(tokio::time::sleep(time)).await;
}
