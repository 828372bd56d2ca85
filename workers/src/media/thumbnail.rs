//! Thumbnails of pictures. Pictures are decoded within limits of size and memory: a few bytes can
//! stand for billions of pixels.

use std::io::Cursor;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_blobs::{BlobError, Blobs, Stored};
use chatkeep_core::heavy::BlockingPool;
use futures_util::TryStreamExt as _;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder as _, ImageReader, Limits};
use tokio::sync::Semaphore;
use tracing::debug;

/// Length of a thumbnail's longer side, in pixels.
pub(super) const SIDE: u32 = 480;
/// JPEG quality of a thumbnail.
const QUALITY: u8 = 80;
/// Maximum size of a picture that is decoded, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Maximum length of its longer side, in pixels.
const MAX_SIDE: u32 = 16_384;
/// Maximum memory for decoding it, in bytes.
const MAX_MEMORY: u64 = 64 * 1024 * 1024;

/// Decoding, one picture at a time: each may take [`MAX_MEMORY`].
static DECODING: BlockingPool = BlockingPool::new(|_| 1);

/// Places for stored pictures that are read, or wait for their turn: each may take [`MAX_FILE`].
static READ: Semaphore = Semaphore::const_new(4);

/// Returns the thumbnail of a stored picture; `None` if it is none that can be made smaller.
///
/// # Errors
/// Fails when the media store fails.
pub(super) async fn of_blob(blobs: &Blobs, stored: &Stored) -> Result<Option<Bytes>, BlobError> {
    if stored.bytes > MAX_FILE || !infer::is_image(&stored.head) {
        return Ok(None);
    }
    // Before decoding, for which nobody should wait for a slow media store. Never closed.
    let place = READ.acquire().await.ok();
    let read = blobs.get(&stored.id, None).await?;
    let bytes = read.stream.try_fold(Vec::new(), async |mut all, piece| {
        all.extend_from_slice(&piece);
        Ok(all)
    });
    let picture: Bytes = bytes.await?.into();
    let made = decoded(move || {
        let made = make(&picture, SIDE);
        drop(place);
        made
    });
    Ok(made.await)
}

/// Returns a picture as JPEG whose longer side has at most `side` pixels; `None` if it is no picture
/// that can be read within the limits.
#[boxed]
pub async fn small_picture(picture: Bytes, side: u32) -> Option<Bytes> {
    decoded(move || make(&picture, side)).await
}

/// Decodes a picture, one at a time; `None` if that fails.
async fn decoded(
    work: impl FnOnce() -> Result<Bytes, image::ImageError> + Send + 'static,
) -> Option<Bytes> {
    let made = DECODING.try_run(work).await;
    made.ok()?.inspect_err(|error| debug!(%error, "no thumbnail")).ok()
}

fn make(picture: &[u8], side: u32) -> Result<Bytes, image::ImageError> {
    let mut reader = ImageReader::new(Cursor::new(picture)).with_guessed_format()?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder()?;
    limits.reserve(decoder.total_bytes())?;
    let orientation = decoder.orientation()?;
    let picture = DynamicImage::from_decoder(decoder)?;
    // Never larger than the picture is.
    let side = side.min(picture.width().max(picture.height()));
    let mut small = picture.thumbnail(side, side);
    small.apply_orientation(orientation);
    let mut jpeg = Vec::new();
    small.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, QUALITY))?;
    Ok(jpeg.into())
}

#[cfg(test)]
mod tests {
    use chatkeep_core::blob::BlobId;
    use chatkeep_core::config::{BlobsKind, S3Config};
    use image::{ImageFormat, RgbImage};

    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        RgbImage::new(width, height).write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_thumbnail_is_small_and_keeps_its_form() {
        let small = image::load_from_memory(&make(&png(2_000, 1_000), SIDE).unwrap()).unwrap();
        assert_eq!((small.width(), small.height()), (480, 240));
        let small = image::load_from_memory(&make(&png(16, 12), SIDE).unwrap()).unwrap();
        assert_eq!((small.width(), small.height()), (16, 12), "never larger");
    }

    #[tokio::test]
    async fn a_caller_that_is_gone_lets_no_other_picture_in_before_its_time() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let mut call = Box::pin(decoded(move || {
            ended.recv().unwrap_err();
            make(b"not a picture", SIDE)
        }));
        assert!(futures_util::poll!(&mut call).is_pending());
        drop(call);
        let mut next = Box::pin(decoded(|| make(b"not a picture", SIDE)));
        assert!(futures_util::poll!(&mut next).is_pending());
        drop(end);
        assert_eq!(next.await, None);
    }

    #[tokio::test]
    async fn a_media_store_that_fails_is_no_picture_without_a_thumbnail() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(&BlobsKind::Folder(folder.path().to_owned()), &S3Config::default())
            .unwrap();
        let head = Bytes::from(png(2, 2));
        let id = BlobId::from_digest(&[7; 32]);
        let stored = Stored { id, bytes: head.len() as u64, head };
        assert!(matches!(of_blob(&blobs, &stored).await, Err(BlobError::NotFound(_))));
        let none = Stored { head: Bytes::from_static(b"%PDF-1.7"), ..stored };
        assert_eq!(of_blob(&blobs, &none).await.unwrap(), None);
    }

    #[test]
    fn bombs_and_nonsense_make_none() {
        assert!(make(&png(16_385, 1), SIDE).is_err());
        // Small as a file, but 300 MB as pixels.
        assert!(make(&png(10_000, 10_000), SIDE).is_err());
        assert!(make(b"not a picture", SIDE).is_err());
    }
}
