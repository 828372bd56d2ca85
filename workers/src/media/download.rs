//! Download of one file: from the platform, or from where the platform says, through hashing into
//! the blobs, with a thumbnail of it.

use std::time::Duration;

use bytes::Bytes;
use chatkeep_blobs::{BlobError, Stored};
use chatkeep_core::http::minimum_rate::{MinimumRate, MinimumRateStream, TooSlow};
use chatkeep_core::message::MessageType;
use chatkeep_core::outage::Failure;
use chatkeep_platform::{MediaPart, PlatformError, Preparation};
use chatkeep_store::{BlobClaim, MediaReason, NewMedia, StoreError};
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use reqwest::{Method, StatusCode};
use tracing::info;

use super::{Media, Wanted, sniff};
use crate::outcome::Unfinished;

/// Poll interval while a video is prepared, and number of polls before the job makes way for
/// others.
pub(super) const POLL: Duration = Duration::from_secs(2);
const POLLS: usize = 5;

/// Timeout until an external server begins its response.
const HEAD: Duration = Duration::from_secs(15);
/// Maximum number of downloads of an external file that is too slow. Each of them keeps others
/// waiting.
const SLOW_TRIES: usize = 2;
/// Minimum speed of a file in bytes per second, at any time and over all of it.
const SPEED: u64 = 4 * 1024;
const OVERALL: u64 = 32 * 1024;
/// Number of windows after which the overall speed of a file counts.
const GRACE: u32 = 3;

/// Error of a download that was aborted, or not begun, to leave free disk space to others.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("free disk space is below disk.media_reserve_bytes")]
pub(super) struct DiskLow;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Source = BoxStream<'static, Result<Bytes, BoxError>>;

/// Reason for a failed download.
#[derive(Debug)]
pub(super) enum DownloadError {
    /// The platform no longer has it.
    Gone,
    /// It will never be available, for this reason.
    Never(MediaReason),
    /// It may be available later.
    Later(Unfinished),
    /// The bot's token is refused. An operator will fix it; meanwhile no file is given up, and
    /// other bots' files do not wait behind.
    Unauthorized,
    /// The download is too slow.
    Slow,
    /// The file would use the reserve of free disk space, which others still leave. Smaller files do
    /// not wait behind.
    NoRoom,
}

impl DownloadError {
    /// Returns the error of a download that is tried again later. After the last attempt this is
    /// the recorded reason.
    fn retry(reason: MediaReason) -> Self {
        Self::Later(Unfinished::Retry(reason.name().into()))
    }
}

impl From<PlatformError> for DownloadError {
    fn from(error: PlatformError) -> Self {
        match error {
            PlatformError::NotFound => Self::Gone,
            PlatformError::Unauthorized => Self::Unauthorized,
            PlatformError::RateLimited { .. } | PlatformError::Unavailable { .. } => {
                Self::Later(Unfinished::Unavailable(crate::failure::of(&error)))
            }
            error => {
                if matches!(error, PlatformError::Refused { .. }) {
                    info!(%error, "the platform refused a file");
                }
                let is_explained = crate::failure::of(&error).is_explained;
                let failure = Failure { text: error.code().to_owned(), is_explained };
                Self::Later(Unfinished::Retry(failure))
            }
        }
    }
}

impl From<DiskLow> for DownloadError {
    /// The job waits. The pause is a problem of the process already, which is in the log.
    fn from(low: DiskLow) -> Self {
        Self::Later(Unfinished::Unavailable(Failure { text: low.to_string(), is_explained: true }))
    }
}

impl From<BlobError> for DownloadError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::TooLarge { .. } => Self::Never(MediaReason::TooLarge),
            BlobError::Source(cause) if cause.is::<TooSlow>() => Self::Slow,
            BlobError::Source(cause) if cause.is::<DiskLow>() => DiskLow.into(),
            BlobError::Source(cause) => match cause.downcast::<PlatformError>() {
                Ok(error) => (*error).into(),
                Err(_) => Self::retry(MediaReason::BrokeOff),
            },
            BlobError::Claim(cause) => Self::Later(match cause.downcast::<StoreError>() {
                Ok(error) => Unfinished::from(*error),
                Err(cause) => Unfinished::Retry(cause.to_string().into()),
            }),
            error if error.is_transient() => {
                Self::Later(Unfinished::Unavailable(crate::failure::of(&error)))
            }
            error => Self::Later(Unfinished::Retry(crate::failure::of(&error))),
        }
    }
}

/// Checks that what the platform sent is the file of the message. Anything else that came with a
/// success is a failed download: the platform deletes the original after a while, and nobody would
/// miss it before. The blob of it is an orphan.
fn check_content(item: &Wanted, stored: &Stored) -> Result<(), DownloadError> {
    let announced = item.info.file_size.and_then(|bytes| u64::try_from(bytes).ok());
    // People send pages and JSON as files, and empty ones: of the announced size, they are right.
    let is_as_announced =
        item.kind == MessageType::File && announced.is_none_or(|bytes| bytes == stored.bytes);
    if !is_as_announced && sniff::is_stand_in(&stored.head) {
        Err(DownloadError::retry(MediaReason::BrokeOff))
    } else {
        Ok(())
    }
}

impl Media {
    /// Downloads a file and its preview into the blobs.
    pub(super) async fn download(&self, item: &Wanted) -> Result<NewMedia, DownloadError> {
        self.check_size(item.info.file_size.map(i64::unsigned_abs))?;
        let external = item.info.original_url.as_deref();
        if external.is_none() {
            self.throttle.wait(&item.bot).await;
        }
        if external.is_none() && matches!(item.kind, MessageType::Video | MessageType::Audio) {
            self.prepared(item).await?;
        }
        let (stored, claim) = if let Some(address) = external {
            self.put_external(address).await?
        } else {
            let source = self.platform_content(item, MediaPart::Original).await?;
            let (stored, claim) = self.put(source, self.limits.max_bytes).await?;
            check_content(item, &stored)?;
            (stored, claim)
        };
        let content_type = sniff::content_type(&stored.head, item.kind);
        let preview = self.preview(item, &stored).await?;
        let bytes = i64::try_from(stored.bytes).unwrap_or(i64::MAX);
        Ok(NewMedia { claim, bytes, content_type, preview })
    }

    /// Stores a file from elsewhere than the platform.
    async fn put_external(&self, address: &str) -> Result<(Stored, BlobClaim), DownloadError> {
        for _ in 0..SLOW_TRIES {
            let put = async {
                let source = self.external_content(address, MediaPart::Original).await?;
                Ok(self.put(source, self.limits.max_bytes).await?)
            };
            match put.await {
                Err(DownloadError::Slow) => {}
                other => return other,
            }
        }
        Err(DownloadError::Never(MediaReason::TooSlow))
    }

    /// Waits until the platform has a video or sound ready.
    async fn prepared(&self, item: &Wanted) -> Result<(), DownloadError> {
        for _ in 0..POLLS {
            match self.accepted(item, item.platform.preparation(&item.message).await).await? {
                Preparation::Ready => return Ok(()),
                Preparation::Failed => {
                    return Err(DownloadError::Never(MediaReason::TranscodingFailed));
                }
                Preparation::Pending => tokio::time::sleep(POLL).await,
            }
        }
        Err(DownloadError::retry(MediaReason::NotReady))
    }

    pub(super) async fn platform_content(
        &self,
        item: &Wanted,
        part: MediaPart,
    ) -> Result<Source, DownloadError> {
        let download =
            self.accepted(item, item.platform.content(&item.message, part).await).await?;
        // Of a preview, no more than a little is read.
        self.check_size(download.length.filter(|_| part == MediaPart::Original))?;
        Ok(self.paced(download.bytes))
    }

    /// Checks that a file of that size, where it is said, is within the limits and leaves the
    /// reserve of free disk space.
    fn check_size(&self, bytes: Option<u64>) -> Result<(), DownloadError> {
        let bytes = bytes.unwrap_or(0);
        if bytes > self.limits.max_bytes {
            return Err(DownloadError::Never(MediaReason::TooLarge));
        }
        if self.disk.is_low() {
            return Err(DiskLow.into());
        }
        if self.disk.has_room_for(bytes) { Ok(()) } else { Err(DownloadError::NoRoom) }
    }

    /// Maps the platform's response; if it asked to slow down, pauses all workers of the bot.
    async fn accepted<T>(
        &self,
        item: &Wanted,
        answer: Result<T, PlatformError>,
    ) -> Result<T, DownloadError> {
        if let Err(PlatformError::RateLimited { retry_after }) = &answer {
            self.throttle.slow_down(&item.bot, *retry_after).await;
        }
        Ok(answer?)
    }

    pub(super) async fn put(
        &self,
        source: Source,
        max: u64,
    ) -> Result<(Stored, BlobClaim), BlobError> {
        let claim = |blob| async {
            self.store.media().claim_blob(blob, self.clock.now()).await.map_err(BoxError::from)
        };
        Box::pin(self.blobs.put(source, max, claim)).await
    }

    /// Downloads a file that the platform does not have itself.
    pub(super) async fn external_content(
        &self,
        address: &str,
        part: MediaPart,
    ) -> Result<Source, DownloadError> {
        let Ok(url) = self.external.check(address) else {
            return Err(DownloadError::Never(MediaReason::ForbiddenAddress));
        };
        let unreachable = || DownloadError::retry(MediaReason::Unreachable);
        let answer =
            tokio::time::timeout(HEAD, self.external.request(Method::GET, url).send()).await;
        let answer = answer.map_err(|_| DownloadError::Slow)?.map_err(|_| unreachable())?;
        match answer.status() {
            StatusCode::OK => {
                let length = answer.content_length();
                self.check_size(length.filter(|_| part == MediaPart::Original))?;
                Ok(self.paced(answer.bytes_stream()))
            }
            StatusCode::NOT_FOUND | StatusCode::GONE => Err(DownloadError::Gone),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(DownloadError::retry(MediaReason::Refused))
            }
            _ => Err(DownloadError::Never(MediaReason::Refused)),
        }
    }

    /// Wraps bytes that fail if they come too slowly, or once free disk space is low.
    fn paced<E: Into<BoxError> + 'static>(
        &self,
        bytes: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    ) -> Source {
        let window = self.limits.speed_window;
        let speed = MinimumRate { window, bytes_per_second: SPEED };
        let overall = MinimumRate { window: window * GRACE, bytes_per_second: OVERALL };
        let disk = self.disk.clone();
        let bytes = MinimumRateStream::new(bytes, speed, overall);
        bytes.map(move |chunk| if disk.is_low() { Err(DiskLow.into()) } else { chunk }).boxed()
    }
}
