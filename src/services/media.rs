//! Media files of channels: the list, and each file with its bytes.

use std::ops::Range;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::MessageId;
use chatkeep_core::message::{Content, MediaInfo, MessageType};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{
    MediaFilter, MediaItem, MediaRecord, MediaStatus, ReadAction, Store, StoredMessage,
};
use chatkeep_view::pseudonyms::Masked;
use futures_util::stream::{BoxStream, StreamExt as _, TryStreamExt as _, try_unfold};
use tracing::{debug, error, warn};

use super::access::{ChannelAccess, Member, ReadMedia};
use super::documents::DocumentError;
use super::{ServiceError, decode_cursor, encode_cursor};

/// Interval of checks while a file is sent.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Request for a page of media files.
#[derive(Clone, Debug, Default)]
pub struct MediaListQuery {
    /// Only files of messages of this type.
    pub kind: Option<MessageType>,
    /// Maximum number of files.
    pub limit: u32,
    /// Cursor of the page; the first page without it.
    pub cursor: Option<String>,
}

/// Stored file of a message, or its preview.
#[derive(Clone, Debug)]
pub struct MediaFile {
    /// The message.
    pub message: MessageId,
    /// The bytes in the media store.
    pub blob: BlobId,
    /// Number of bytes.
    pub size: u64,
    /// Media type; empty when it is not known.
    pub content_type: String,
    /// Name that the sender gave it. It may contain anything.
    pub name: Option<String>,
    /// True for the preview of the file.
    pub is_preview: bool,
}

/// Reason for which a message's file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsentMedia {
    /// It has not been downloaded yet.
    Pending,
    /// It was received while backup was paused.
    Skipped,
    /// It could not be downloaded.
    Failed,
    /// The platform does not have it any more.
    Expired,
    /// It was erased with its message.
    Erased,
    /// The record knows of a file that is gone from the media store, or has another size there.
    Missing,
    /// There is a file, and no preview of it.
    NoPreview,
}

/// Reason for which a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MediaError {
    /// There is no file.
    #[error("the file is not available: {0:?}")]
    Absent(AbsentMedia),
    /// The request is refused or cannot be fulfilled.
    #[error(transparent)]
    Service(ServiceError),
}

impl<E: Into<ServiceError>> From<E> for MediaError {
    fn from(error: E) -> Self {
        Self::Service(error.into())
    }
}

/// Bytes of a file, in order.
pub type FileStream = BoxStream<'static, Result<Bytes, DocumentError>>;

/// Check that a file that is being sent may still be read.
struct ReadCheck {
    store: Store,
    access: ChannelAccess<Member, ReadMedia>,
    file: MediaFile,
    /// Time of the last check.
    checked_at: Timestamp,
}

/// Media files. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MediaService {
    store: Store,
    blobs: Blobs,
}

impl MediaService {
    pub(super) const fn new(store: Store, blobs: Blobs) -> Self {
        Self { store, blobs }
    }

    /// Returns the media files of a channel, newest first, and the cursor of the next page.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad cursor.
    #[boxed]
    pub async fn page(
        &self,
        access: &ChannelAccess<Member, ReadMedia>,
        query: &MediaListQuery,
    ) -> Result<(Vec<Masked<MediaItem>>, Option<String>), ServiceError> {
        let channel = access.read(ReadAction::Media);
        let binding = format!("media:{channel}:{:?}", query.kind);
        let after: Option<(i64, MessageId)> =
            query.cursor.as_deref().map(|text| decode_cursor(&binding, text)).transpose()?;
        let filter = MediaFilter {
            from: access.not_before(),
            kind: query.kind,
            after: after.map(|(at, id)| (Timestamp::from_millis(at), id)),
            limit: query.limit,
        };
        let page = self.store.media().media_page(channel, &filter).await?;
        let next = page.next.and_then(|(at, id)| encode_cursor(&binding, &(at.millis(), id)));
        Ok((access.caller.mask.show_all(page.media), next))
    }

    /// Returns the file of a message, or its preview.
    ///
    /// # Errors
    /// [`MediaError::Absent`] when there is none, [`ServiceError::NotFound`] when the channel has
    /// no such message that the caller may read, or one without a file.
    #[boxed]
    pub async fn file(
        &self,
        access: &ChannelAccess<Member, ReadMedia>,
        message: &MessageId,
        preview: bool,
    ) -> Result<MediaFile, MediaError> {
        // A picture may show anybody, and a file may say anything.
        access.caller.sees_people()?;
        let message =
            self.store.messages().message(access.read(ReadAction::Media), message).await?;
        let readable = |m: &StoredMessage| access.caller.bounds.reads(m.sent_at);
        let message = message.filter(readable).ok_or(ServiceError::NotFound)?;
        let file = MediaFile::of(message, preview)?;
        let size = self.blobs.size(&file.blob).await?;
        let size = size.ok_or_else(|| self.missing(&file.blob))?;
        if !preview && size != file.size {
            return Err(file.damaged(size));
        }
        Ok(MediaFile { size, ..file })
    }

    /// Opens a file, or a part of it. The stream fails when its reader may not have the file any
    /// more, or when the message has another one or none, within a second of that.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] when it was unsent in the meantime.
    #[boxed]
    pub async fn read(
        &self,
        access: &ChannelAccess<Member, ReadMedia>,
        file: &MediaFile,
        part: Option<Range<u64>>,
    ) -> Result<FileStream, ServiceError> {
        let read = self.blobs.get(&file.blob, part).await?;
        let check = ReadCheck {
            store: self.store.clone(),
            access: access.clone(),
            file: file.clone(),
            checked_at: access.now(),
        };
        Ok(check.watch(read.stream))
    }

    fn missing(&self, blob: &BlobId) -> MediaError {
        if self.blobs.availability().is_away() {
            debug!(%blob, "the file of a message is missing from the media store");
        } else {
            warn!(%blob, "the file of a message is missing from the media store");
        }
        MediaError::Absent(AbsentMedia::Missing)
    }
}

impl ReadCheck {
    /// Returns the stream, which fails after a check that does.
    fn watch(self, stream: BoxStream<'static, Result<Bytes, BlobError>>) -> FileStream {
        try_unfold((stream, self), |(mut stream, mut check)| async move {
            let Some(bytes) = stream.try_next().await? else { return Ok(None) };
            check.run().await?;
            Ok(Some((bytes, (stream, check))))
        })
        .boxed()
    }

    /// Checks that the reader may still have the file, and that the message still has it; not more
    /// often than once a second.
    async fn run(&mut self) -> Result<(), DocumentError> {
        let now = self.access.now();
        // A clock that is set back must not end the checks.
        if now >= self.checked_at && now.since(self.checked_at) < CHECK_INTERVAL {
            return Ok(());
        }
        self.access.still_granted().await?;
        let channel = self.access.without_reading();
        let item = self.store.media().get(channel, &self.file.message).await?;
        if !item.is_some_and(|item| self.file.is_of(&item.record)) {
            return Err(DocumentError::Changed);
        }
        self.checked_at = now;
        Ok(())
    }
}

impl MediaFile {
    /// Returns a message's file with its recorded size, or its preview, whose size is not recorded.
    fn of(message: StoredMessage, is_preview: bool) -> Result<Self, MediaError> {
        let record = message.media.ok_or(ServiceError::NotFound)?;
        if let Some(absent) = AbsentMedia::of(record.status) {
            return Err(MediaError::Absent(absent));
        }
        let name = message.content.and_then(info).and_then(|info| info.file_name);
        let message = message.id;
        if is_preview {
            let preview = record.preview.ok_or(MediaError::Absent(AbsentMedia::NoPreview))?;
            let (blob, content_type, size) = (preview.blob, preview.content_type, 0);
            return Ok(Self { message, blob, size, content_type, name: None, is_preview });
        }
        let blob = record.blob.ok_or(MediaError::Absent(AbsentMedia::Missing))?;
        let content_type = record.content_type.unwrap_or_default();
        let size = u64::try_from(record.bytes).unwrap_or_default();
        Ok(Self { message, blob, size, content_type, name, is_preview })
    }

    /// Returns true if it is the file of that record, or its preview.
    fn is_of(&self, record: &MediaRecord) -> bool {
        let preview = record.preview.as_ref().map(|preview| &preview.blob);
        let held = if self.is_preview { preview } else { record.blob.as_ref() };
        record.status == MediaStatus::Stored && held == Some(&self.blob)
    }

    /// Answers for a file that has `size` bytes in the media store and is not what was sent.
    fn damaged(&self, size: u64) -> MediaError {
        let Self { message: id, blob, size: recorded, .. } = self;
        error!(
            %id,
            %blob,
            recorded,
            size,
            "the file of a message is damaged: it has another size than recorded"
        );
        MediaError::Absent(AbsentMedia::Missing)
    }
}

impl AbsentMedia {
    const fn of(status: MediaStatus) -> Option<Self> {
        match status {
            MediaStatus::Stored => None,
            MediaStatus::Pending => Some(Self::Pending),
            MediaStatus::Skipped => Some(Self::Skipped),
            MediaStatus::Failed => Some(Self::Failed),
            MediaStatus::Expired => Some(Self::Expired),
            MediaStatus::Erased => Some(Self::Erased),
        }
    }
}

fn info(content: Content) -> Option<MediaInfo> {
    match content {
        Content::Image(info)
        | Content::Video(info)
        | Content::Audio(info)
        | Content::File(info) => Some(info),
        _ => None,
    }
}
