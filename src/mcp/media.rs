//! Files of messages for models: small ones as content, of bounded size.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_services::access::{ChannelAccess, Member, ReadMedia};
use chatkeep_services::media::MediaFile;
use chatkeep_services::{ServiceError, Services};
use chatkeep_view::segment;
use futures_util::TryStreamExt as _;

/// Maximum size of a resource in bytes: clients hold the whole of it in memory.
pub(super) const MAX_FILE: u64 = 4 * 1024 * 1024;

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

/// Returns the address of a file in REST, for one that is too large for a resource.
pub(super) fn address(services: &Services, channel: &ChannelId, message: &MessageId) -> String {
    let base = services.links.base().unwrap_or_default();
    let (channel, message) = (segment(channel.as_str()), segment(message.as_str()));
    format!("{base}/api/channels/{channel}/backup/media/{message}")
}

/// Encodes bytes as the protocol has them.
pub(super) fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
