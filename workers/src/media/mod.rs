//! Media: downloads the files of stored messages from the platform, before it deletes them.
//!
//! A job only names a message; whether its file is still wanted is read from the store when the job
//! is handled, and the file, its counters and the end of the wait are one transaction. So a job
//! that comes twice, late or after a crash does no more than its first time.

mod download;
mod preview;
mod reminder;
mod sniff;
mod throttle;
mod thumbnail;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_blobs::Blobs;
use chatkeep_bus::Bus;
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::metric;
use chatkeep_core::time::SharedClock;
use chatkeep_platform::{Bots, SharedPlatform};
use chatkeep_store::{MediaItem, MediaOutcome, MediaReason, MediaStatus, Store};
use download::DownloadError;
pub use reminder::PendingMediaJob;
pub use throttle::ContentThrottle;
pub use thumbnail::small_picture;
use tracing::info;

use crate::jobs::{MediaJob, external_media_job};
use crate::log_failure;
use crate::outcome::{Outcome, Unfinished};
use crate::runner::Stage;
use crate::stages::StageName;

/// Timeout of a file of any size; a stalled connection ends much earlier.
const TIMEOUT: Duration = Duration::from_hours(1);
/// Maximum number of downloads of a file whose blob is swept each time before it is recorded.
const DOWNLOADS: usize = 3;

/// Divisor of a process' concurrent downloads that gives the share of external files.
const EXTERNAL_DIVISOR: usize = 4;
/// Window in which a forwarded job counts as the same one, in milliseconds.
const FORWARD_WINDOW: i64 = 15 * 60 * 1_000;

/// Kind of files that a stage downloads. Where they are not the platform's own, anybody can choose
/// the server that they come from, and how slow it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaOrigin {
    /// The platform's files; others are forwarded.
    Platform,
    /// External files.
    External,
}

/// Settings of files.
#[derive(Clone, Copy, Debug)]
pub struct MediaLimits {
    /// Maximum size of a file, in bytes.
    pub max_bytes: u64,
    /// Concurrent downloads, of all kinds.
    pub parallel: usize,
    /// Window over which the least speed of a file is averaged.
    pub speed_window: Duration,
}

impl MediaLimits {
    /// Returns the concurrency for files of an origin: a quarter are external, and each origin has
    /// at least one.
    const fn parallel(self, origin: MediaOrigin) -> usize {
        let external =
            if self.parallel < EXTERNAL_DIVISOR { 1 } else { self.parallel / EXTERNAL_DIVISOR };
        match origin {
            MediaOrigin::External => external,
            MediaOrigin::Platform if self.parallel > external => self.parallel - external,
            MediaOrigin::Platform => 1,
        }
    }
}

/// The media stage, for files of one origin.
#[derive(Clone, Debug)]
pub struct Media {
    /// Kind of files it downloads.
    pub origin: MediaOrigin,
    /// Bus for forwarded jobs.
    pub bus: Bus,
    /// Store of the wanted files, and their counters.
    pub store: Store,
    /// Destination of the files.
    pub blobs: Blobs,
    /// Bots that can download them.
    pub bots: Bots,
    /// HTTP client for files that the platform does not have itself.
    pub external: GuardedClient,
    /// Throttle shared by all workers of a bot.
    pub throttle: ContentThrottle,
    /// Clock for the times of storing.
    pub clock: SharedClock,
    /// Free disk space that files leave to others: below it, jobs wait.
    pub disk: DiskReserve,
    /// Settings of files.
    pub limits: MediaLimits,
}

/// A wanted file, and its source.
#[derive(Debug)]
struct Wanted {
    bot: String,
    platform: SharedPlatform,
    item: MediaItem,
}

impl Deref for Wanted {
    type Target = MediaItem;

    fn deref(&self) -> &MediaItem {
        &self.item
    }
}

impl Stage for Media {
    type Item = MediaJob;

    fn name(&self) -> StageName {
        match self.origin {
            MediaOrigin::Platform => StageName::Media,
            MediaOrigin::External => StageName::ExternalMedia,
        }
    }

    fn batch_size(&self) -> usize {
        1
    }

    fn concurrency(&self) -> usize {
        self.limits.parallel(self.origin)
    }

    fn timeout(&self) -> Duration {
        TIMEOUT
    }

    fn decode(&self, payload: &[u8]) -> Result<MediaJob, String> {
        serde_json::from_slice(payload)
            .map_err(|error| format!("unreadable job: {:?}", error.classify()))
    }

    async fn handle(&self, jobs: &[MediaJob]) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            outcomes.push(Box::pin(self.fetch(job)).await);
        }
        outcomes
    }

    /// Records after the last attempt that the file failed. Texts of errors are for the log and the
    /// dead letter alone, so a reason that is none of a file is recorded as `unavailable`.
    async fn on_dead_letter(&self, job: &MediaJob, reason: &str) {
        let now = self.clock.now();
        let reason = MediaReason::parse(reason).unwrap_or(MediaReason::Unavailable);
        let done = self.store.media().fail_media(&job.channel, &job.message, reason, now).await;
        if let Err(error) = done {
            log_failure!(warn, &error, "cannot mark a file as failed");
        }
    }
}

impl Media {
    async fn fetch(&self, job: &MediaJob) -> Result<(), Unfinished> {
        let Some(item) = self.store.media().get(&job.channel, &job.message).await? else {
            return Ok(());
        };
        if !matches!(item.record.status, MediaStatus::Pending | MediaStatus::Failed) {
            return Ok(());
        }
        if self.store.media().skip_media(&item.channel, &item.message, self.clock.now()).await? {
            count(MediaOutcome::Skipped, 0);
            return Ok(());
        }
        if self.origin == MediaOrigin::Platform && item.info.original_url.is_some() {
            return self.forward(job).await;
        }
        let (bot, platform) = self.platform_of(job).await?;
        let item = Wanted { bot, platform, item };
        let started = std::time::Instant::now();
        for _ in 0..DOWNLOADS {
            let media = match self.download(&item).await {
                Ok(media) => media,
                Err(trouble) => return self.settle(&item, trouble).await,
            };
            let now = self.clock.now();
            let kept =
                self.store.media().store_media(&item.channel, &item.message, &media, now).await?;
            if kept != MediaOutcome::BlobGone {
                metric::MEDIA_SECONDS.record([], started.elapsed());
                count(kept, media.bytes);
                return Ok(());
            }
        }
        Err(Unfinished::Retry("the file was swept again and again".into()))
    }

    /// Forwards a file to the stage of files from elsewhere.
    async fn forward(&self, job: &MediaJob) -> Result<(), Unfinished> {
        let job =
            external_media_job(job, &(self.clock.now().millis() / FORWARD_WINDOW).to_string());
        Ok(self.bus.publish(vec![job]).await?)
    }

    /// Returns the platform client of the bot that received the message: the job's, or the
    /// channel's, or the only one there is.
    async fn platform_of(&self, job: &MediaJob) -> Result<(String, SharedPlatform), Unfinished> {
        if let Some((bot, Ok(directory))) = job.bot.as_deref().map(|bot| (bot, self.bots.get(bot)))
        {
            return Ok((bot.to_owned(), Arc::clone(directory.platform())));
        }
        let stored = self.store.channels().channel(&job.channel).await?.map(|channel| channel.bot);
        let bot = stored.unwrap_or_default();
        let directory = self.bots.of_channel(&bot);
        let directory = directory.map_err(|error| Unfinished::Retry(error.to_string().into()))?;
        let platform = Arc::clone(directory.platform());
        Ok((bot, platform))
    }

    /// Settles a failed download: never, or later.
    async fn settle(&self, item: &Wanted, trouble: DownloadError) -> Result<(), Unfinished> {
        let (channel, message, now) = (&item.channel, &item.message, self.clock.now());
        let reason = match trouble {
            DownloadError::Gone => {
                self.store.media().expire_media(channel, message, now).await?;
                "expired"
            }
            DownloadError::Never(reason) => {
                self.store.media().fail_media(channel, message, reason, now).await?;
                reason.name()
            }
            DownloadError::Later(outcome) => return Err(outcome),
            // The platform's own files are tried as often as after its other failures.
            DownloadError::Slow => {
                return Err(Unfinished::Retry(MediaReason::TooSlow.name().into()));
            }
            // It stays pending, and the reminder requests it again.
            DownloadError::Unauthorized => "unauthorized",
            DownloadError::NoRoom => "no_room",
        };
        metric::MEDIA.add([reason.into()], 1);
        info!(bot = item.bot, reason, "a media file is not available");
        Ok(())
    }
}

fn count(kept: MediaOutcome, bytes: i64) {
    let result = match kept {
        MediaOutcome::Stored => "stored",
        MediaOutcome::Known => "known",
        MediaOutcome::Skipped => "skipped",
        // No import stores a file of the platform.
        MediaOutcome::Unwanted | MediaOutcome::Undone => "unwanted",
        MediaOutcome::BlobGone => "swept",
    };
    metric::MEDIA.add([result.into()], 1);
    if kept == MediaOutcome::Stored {
        metric::MEDIA_BYTES.add([], u64::try_from(bytes).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_from_elsewhere_get_a_quarter_and_the_platform_the_rest() {
        let shares_of = |parallel| {
            let speed_window = Duration::from_secs(20);
            let limits = MediaLimits { max_bytes: 1, parallel, speed_window };
            (limits.parallel(MediaOrigin::Platform), limits.parallel(MediaOrigin::External))
        };
        let expected = [(1, (1, 1)), (2, (1, 1)), (3, (2, 1)), (8, (6, 2)), (256, (192, 64))];
        for (parallel, shares) in expected {
            assert_eq!(shares_of(parallel), shares, "{parallel}");
        }
    }
}
