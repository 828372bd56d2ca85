//! Files of messages for models: small ones as content, of bounded size.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chatkeep_services::access::{ChannelAccess, Member, ReadMedia};
use chatkeep_services::media::MediaFile;
use chatkeep_services::{ServiceError, Services};
use futures_util::TryStreamExt as _;

/// Reads a file whole; `None` if it is larger than `max` bytes.
///
/// # Errors
/// Returns an error when the media store fails, and when the caller may not read the file any more.
pub(super) async fn read(
    services: &Services,
    access: &ChannelAccess<Member, ReadMedia>,
    file: &MediaFile,
    max: u64,
) -> Result<Option<Vec<u8>>, ServiceError> {
    if file.size > max {
        return Ok(None);
    }
    let mut content = services.media.read(access, file, None).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = content.try_next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(Some(bytes))
}

/// Encodes bytes as the protocol has them.
pub(super) fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
