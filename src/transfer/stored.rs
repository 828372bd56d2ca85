//! Stored media files of messages, for an export.

use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::id::MessageId;
use chatkeep_core::media_type::media_type;
use chatkeep_store::{MediaRecord, MediaStatus, StoredMessage};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::TransferError;
use super::media::{FileBytes, MediaSource, file_name};

/// Extensions of files by type; others have none.
const ENDINGS: [(&str, &str); 13] = [
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
    ("video/quicktime", "mov"),
    ("audio/mpeg", "mp3"),
    ("audio/mp4", "m4a"),
    ("audio/x-m4a", "m4a"),
    ("audio/aac", "aac"),
    ("audio/ogg", "ogg"),
    ("application/pdf", "pdf"),
];

/// Media type of previews, which are made here.
pub(super) const PREVIEW_TYPE: &str = "image/jpeg";

/// Media source over the media store.
#[derive(Debug)]
pub struct StoredMedia(pub Blobs);

impl MediaSource for StoredMedia {
    fn name(&self, message: &StoredMessage) -> Option<String> {
        let record = stored(message)?;
        Some(name_of(&message.id, record.content_type.as_deref().unwrap_or_default()))
    }

    fn open<'a>(
        &'a self,
        message: &'a StoredMessage,
    ) -> BoxFuture<'a, Result<FileBytes, TransferError>> {
        Box::pin(async move {
            let found = stored(message).and_then(|record| Some((record, record.blob.as_ref()?)));
            let Some((record, blob)) = found else {
                return Ok(futures_util::stream::empty().boxed());
            };
            let failed = failed(&message.id);
            let read = match self.0.get(blob, None).await {
                Err(BlobError::NotFound(_)) => None,
                // One of another size is not what was sent.
                read => Some(read.map_err(&failed)?)
                    .filter(|read| u64::try_from(record.bytes) == Ok(read.size)),
            };
            let read = read.ok_or_else(|| TransferError::NoFile(message.id.to_string()))?;
            Ok(read.stream.map_err(failed).boxed())
        })
    }

    fn preview<'a>(
        &'a self,
        message: &'a StoredMessage,
    ) -> BoxFuture<'a, Result<Option<(String, FileBytes)>, TransferError>> {
        Box::pin(async move {
            let preview = stored(message).and_then(|record| record.preview.as_ref());
            let Some(preview) = preview.filter(|preview| preview.content_type == PREVIEW_TYPE)
            else {
                return Ok(None);
            };
            let failed = failed(&message.id);
            let read = match self.0.get(&preview.blob, None).await {
                Err(BlobError::NotFound(_)) => return Ok(None),
                read => read.map_err(&failed)?,
            };
            Ok(Some((preview_name(&message.id), read.stream.map_err(failed).boxed())))
        })
    }
}

/// Returns what makes an error of the media store one about the file of a message.
fn failed(message: &MessageId) -> impl Fn(BlobError) -> TransferError + Send + Sync + use<> {
    let message = message.to_string();
    move |cause| TransferError::Media(message.clone(), Box::new(cause))
}

/// Returns the name of a message's file of that type in an export.
pub(super) fn name_of(message: &MessageId, content_type: &str) -> String {
    let kind = media_type(content_type);
    let ending = ENDINGS.iter().find(|(known, _)| *known == kind);
    file_name(message, ending.map_or("", |(_, ending)| ending))
}

/// Returns the name of the preview of a message's file in an export.
pub(super) fn preview_name(message: &MessageId) -> String {
    format!("{}.jpg", file_name(message, "preview"))
}

fn stored(message: &StoredMessage) -> Option<&MediaRecord> {
    let record = message.media.as_ref()?;
    (record.status == MediaStatus::Stored && record.blob.is_some()).then_some(record)
}
