//! Thumbnails of pictures. Pictures are decoded within limits of size and memory: a few bytes can
//! stand for billions of pixels.

use std::io::Cursor;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_blobs::{Blobs, Stored};
use futures_util::TryStreamExt as _;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder as _, ImageReader, Limits};
use tokio::sync::Semaphore;
use tracing::debug;

/// Length of a thumbnail's longer side, in pixels.
const SIDE: u32 = 480;
/// JPEG quality of a thumbnail.
const QUALITY: u8 = 80;
/// Maximum size of a picture that is decoded, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Maximum length of its longer side, in pixels.
const MAX_SIDE: u32 = 16_384;
/// Maximum memory for decoding it, in bytes.
const MAX_MEMORY: u64 = 64 * 1024 * 1024;

/// Lock of decoding, one picture at a time: each may take [`MAX_MEMORY`].
static TURN: Semaphore = Semaphore::const_new(1);

/// Returns the thumbnail of a stored picture; `None` if it cannot be made.
pub(super) async fn of_blob(blobs: &Blobs, stored: &Stored) -> Option<Bytes> {
    if stored.bytes > MAX_FILE || !infer::is_image(&stored.head) {
        return None;
    }
    let _turn = TURN.acquire().await.ok()?;
    let read = blobs.get(&stored.id, None).await.ok()?;
    let bytes = read.stream.try_fold(Vec::new(), async |mut all, piece| {
        all.extend_from_slice(&piece);
        Ok(all)
    });
    shrunk(bytes.await.ok()?.into(), SIDE).await
}

/// Returns the thumbnail of a picture in memory.
pub(super) async fn of_bytes(picture: Bytes) -> Option<Bytes> {
    small_picture(picture, SIDE).await
}

/// Returns a picture as JPEG whose longer side has at most `side` pixels; `None` if it is no picture
/// that can be read within the limits.
#[boxed]
pub async fn small_picture(picture: Bytes, side: u32) -> Option<Bytes> {
    let _turn = TURN.acquire().await.ok()?;
    shrunk(picture, side).await
}

async fn shrunk(picture: Bytes, side: u32) -> Option<Bytes> {
    let made = tokio::task::spawn_blocking(move || make(&picture, side)).await.ok()?;
    made.inspect_err(|error| debug!(%error, "no thumbnail")).ok()
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
    let mut small = DynamicImage::from_decoder(decoder)?.thumbnail(side, side);
    small.apply_orientation(orientation);
    let mut jpeg = Vec::new();
    small.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, QUALITY))?;
    Ok(jpeg.into())
}

#[cfg(test)]
mod tests {
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
    }

    #[test]
    fn bombs_and_nonsense_make_none() {
        assert!(make(&png(16_385, 1), SIDE).is_err());
        // Small as a file, but 300 MB as pixels.
        assert!(make(&png(10_000, 10_000), SIDE).is_err());
        assert!(make(b"not a picture", SIDE).is_err());
    }
}
