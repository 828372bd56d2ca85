//! Erases the earlier texts of channels that keep them no more, in small batches, so that backup goes on
//! meanwhile.
//!
//! Nothing shows them from the moment of the change. A process that dies half-way leaves the channel
//! marked, and the next round looks through it from the beginning: what is erased is erased.

use std::time::Duration;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{Store, StoreError};
use chatkeep_workers::ItemFailures;
use chatkeep_workers::periodic::{JobFailure, JobScope, PeriodicJob};
use tokio_util::sync::CancellationToken;
use tracing::info;

/// Number of messages that are looked at at a time.
const PART: u32 = 10_000;
/// Number of messages whose earlier texts are erased in one transaction.
const BATCH: usize = 500;
/// Pause between two batches, for others who wait for the database.
const PAUSE: Duration = Duration::from_millis(250);

/// The job.
#[derive(Clone, Debug)]
pub struct EarlierTextErasure {
    /// Store of the messages.
    pub store: Store,
    /// Clock.
    pub clock: SharedClock,
}

impl PeriodicJob for EarlierTextErasure {
    const NAME: &'static str = "earlier_texts";
    const PERIOD: Duration = Duration::from_mins(1);
    const FAILURE: &'static str = "cannot erase earlier texts";
    const SCOPE: JobScope = JobScope::Deployment;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        self.round(PAUSE, stop).await?;
        Ok(())
    }
}

impl EarlierTextErasure {
    /// Erases them without a pause, in a database that nobody else uses. Returns the number of messages
    /// that had some.
    ///
    /// # Errors
    /// Returns an error when the database fails; what is erased by then is erased.
    pub(crate) async fn erase_at_once(&self) -> Result<usize, StoreError> {
        self.round(Duration::ZERO, &CancellationToken::new()).await
    }

    async fn round(&self, pause: Duration, stop: &CancellationToken) -> Result<usize, StoreError> {
        let (mut erased, mut failures) = (0, ItemFailures::of(Self::NAME));
        for (channel, ended) in self.store.channels().with_texts_to_erase().await? {
            let messages = self.channel(&channel, ended, pause, stop).await;
            erased += failures.isolate(&channel, messages)?.unwrap_or_default();
        }
        failures.into_result()?;
        Ok(erased)
    }

    /// Erases the earlier texts of a channel that switched them off at that time; returns early once
    /// `stop` is cancelled. Returns the number of messages that had some.
    async fn channel(
        &self,
        channel: &ChannelId,
        ended: Timestamp,
        pause: Duration,
        stop: &CancellationToken,
    ) -> Result<usize, StoreError> {
        let (mut erased, mut after) = (0, None::<MessageId>);
        loop {
            if stop.is_cancelled() {
                return Ok(erased);
            }
            let messages = self.store.messages();
            let (found, last) = messages.find_earlier_texts(channel, after.as_ref(), PART).await?;
            for batch in found.chunks(BATCH) {
                if stop.is_cancelled() {
                    return Ok(erased);
                }
                erased += messages.erase_earlier_texts(channel, batch, self.clock.now()).await?;
                stop.run_until_cancelled(tokio::time::sleep(pause)).await;
            }
            if last.is_none() {
                break;
            }
            after = last;
            // Looking through messages without any takes the database, too.
            stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
        self.store.channels().note_texts_erased(channel, ended).await?;
        info!(%channel, messages = erased, "earlier texts erased");
        Ok(erased)
    }
}
