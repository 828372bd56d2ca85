//! Pictures and the recording that people send. They are made on a thread that may be busy.

use anyhow::Context as _;
use bytes::Bytes;
use chatkeep_emulator::Media;
use chatkeep_samples::DrawError;
use tokio::task::spawn_blocking;

/// Returns the picture of that number as a photo. The same number gives the same picture.
///
/// # Errors
/// Returns an error when it cannot be encoded.
pub(super) async fn photo(number: usize) -> anyhow::Result<Media> {
    picture(move || chatkeep_samples::photo(number)).await
}

/// Returns the picture of that number as somebody's profile picture.
///
/// # Errors
/// Returns an error when it cannot be encoded.
pub(super) async fn portrait(number: usize) -> anyhow::Result<Media> {
    picture(move || chatkeep_samples::portrait(number)).await
}

async fn picture(
    draw: impl FnOnce() -> Result<Vec<u8>, DrawError> + Send + 'static,
) -> anyhow::Result<Media> {
    let drawn = spawn_blocking(draw).await?;
    Ok(Media::new("image/jpeg", drawn.context("cannot draw a picture")?))
}

/// Returns a recording as a WAV file.
///
/// # Errors
/// Returns an error when the process stops.
pub(super) async fn recording() -> anyhow::Result<Bytes> {
    Ok(spawn_blocking(chatkeep_samples::chimes).await?.into())
}
