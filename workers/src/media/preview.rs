//! Preview of a file: a thumbnail of a picture, or the platform's own picture of a video.

use bytes::Bytes;
use chatkeep_blobs::{BlobError, Stored};
use chatkeep_core::message::MessageType;
use chatkeep_core::outage::Failure;
use chatkeep_platform::MediaPart;
use chatkeep_store::BlobClaim;
use futures_util::{StreamExt as _, stream};
use tracing::debug;

use super::download::{DownloadError, POLL};
use super::{Media, Wanted, sniff, thumbnail};
use crate::outcome::Unfinished;

/// Maximum size of a preview, in bytes; LINE's have about 50 KB.
const MAX_PREVIEW: u64 = 2 * 1024 * 1024;
/// Maximum number of requests for a preview that fail in one download.
const PREVIEW_TRIES: usize = 3;
/// Maximum number of times that one of them waits for the platform's circuit, of which the first
/// pauses are shorter than that.
const PREVIEW_WAITS: usize = 5;

impl Media {
    /// Returns a thumbnail of a picture or video. A file that has none is stored as well. During an
    /// outage the file waits, too, for nobody requests the preview of a stored file again.
    pub(super) async fn preview(
        &self,
        item: &Wanted,
        stored: &Stored,
    ) -> Result<Option<(BlobClaim, String)>, DownloadError> {
        let (mut failures, mut waits) = (0, 0);
        loop {
            match self.try_preview(item, stored).await {
                Ok(preview) => return Ok(preview),
                // After failures of its own it may be what opened the circuit: the next answer shows
                // that, unless the outage lasts.
                Err(DownloadError::Later(Unfinished::Unavailable(why)))
                    if failures > 0 && waits < PREVIEW_WAITS =>
                {
                    waits += 1;
                    debug!(reason = why.text, "no preview image yet");
                }
                Err(trouble @ DownloadError::Later(Unfinished::Unavailable(_))) => {
                    return Err(trouble);
                }
                // Tried again without the file, whose attempts are limited: none fails for want of
                // a preview.
                Err(DownloadError::Later(Unfinished::Retry(why))) => {
                    failures += 1;
                    debug!(reason = why.text, failures, "no preview image yet");
                    if failures == PREVIEW_TRIES {
                        return self.check_outage(item, why).await.map(|()| None);
                    }
                }
                Err(trouble) => {
                    debug!(?trouble, "no preview image");
                    return Ok(None);
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Checks that a preview has failed by itself, and not in an outage that began meanwhile: the
    /// platform gives the file, then.
    async fn check_outage(&self, item: &Wanted, why: Failure) -> Result<(), DownloadError> {
        if !why.is_explained {
            return Ok(());
        }
        if item.kind != MessageType::Video {
            // Made here, of a file in the media store.
            return Err(DownloadError::Later(Unfinished::Unavailable(why)));
        }
        match self.platform_content(item, MediaPart::Original).await {
            Err(DownloadError::Later(Unfinished::Unavailable(why) | Unfinished::Retry(why))) => {
                Err(DownloadError::Later(Unfinished::Unavailable(why)))
            }
            _ => Ok(()),
        }
    }

    async fn try_preview(
        &self,
        item: &Wanted,
        stored: &Stored,
    ) -> Result<Option<(BlobClaim, String)>, DownloadError> {
        let picture = match item.kind {
            MessageType::Image => thumbnail::of_blob(&self.blobs, stored).await?,
            MessageType::Video => self.platform_preview(item).await?,
            _ => None,
        };
        let Some(picture) = picture else {
            return Ok(None);
        };
        let source = stream::once(async { Ok(picture) }).boxed();
        let (stored, claim) = self.put(source, MAX_PREVIEW).await?;
        Ok(Some((claim, sniff::content_type(&stored.head, MessageType::Image))))
    }

    /// Returns the platform's own picture of a video, made safe by re-encoding it.
    async fn platform_preview(&self, item: &Wanted) -> Result<Option<Bytes>, DownloadError> {
        let external = (&item.info.original_url, &item.info.preview_url);
        let mut source = match external {
            (None, _) => self.platform_content(item, MediaPart::Preview).await?,
            (Some(_), Some(address)) => self.external_content(address, MediaPart::Preview).await?,
            (Some(_), None) => return Ok(None),
        };
        let mut picture = Vec::new();
        while let Some(chunk) = source.next().await {
            picture.extend_from_slice(&chunk.map_err(BlobError::Source)?);
            if picture.len() as u64 > MAX_PREVIEW {
                return Ok(None);
            }
        }
        Ok(thumbnail::small_picture(picture.into(), thumbnail::SIDE).await)
    }
}
