//! Media of messages: what is known of each file, and the claims on the blobs that hold them.
//!
//! # Why no message loses its file, and no file outlives its messages
//!
//! Two messages may hold one blob, uploads of one content may run in many processes, and the file
//! lies where the database's transactions do not reach. `blob_orphans` holds a mark for each blob
//! that may have to go. The rules:
//!
//! 1. A blob is claimed (marked, with the time) before its file can be seen
//!    ([`Store::claim_blob`], called by [`crate::blobs::Blobs::put`]). So a file without a message
//!    always has a mark, wherever a process dies.
//! 2. Whoever makes a message hold a blob ([`Store::store_media`]) or let go of one
//!    (`erase_media`) locks the blob's mark in that transaction, making it where there is none.
//! 3. Only the sweep ([`Store::orphans`]) deletes files. It locks marks, reads *after that* which
//!    of their blobs a message holds, drops those marks, deletes the files of the others, and only
//!    then removes their marks and commits.
//! 4. A message may hold a blob when the mark is still the one that its claim saw, or when another
//!    message holds the blob. Else the sweep may have been there in between, and whatever mark is
//!    there now is of somebody who may die before they put the file: [`MediaKept::BlobGone`], and
//!    it is put again.
//!
//! The mark's lock puts holding, letting go and sweeping of one blob in a row. When a message's
//! transaction comes first, the sweep sees its row; when the sweep comes first, the mark is gone
//! and rule 4 applies; a new claim waits for the sweep's lock, and thus for the deletion, before
//! the file is put anew. A claim keeps the sweep away for [`CLAIM`]; that only saves work, nothing
//! depends on it. One thing is outside: a deletion that an object store carries out long after it
//! was given up as failed.

mod orphans;
mod write;

use sqlx::query_as;

pub use orphans::{BlobClaim, CLAIM, OrphanSweep};
pub(super) use orphans::{erase_media, mark, names};
pub use write::{MediaKept, NewMedia};

use super::db::read;
use super::{Store, StoreError, parsed};
use crate::blobs::BlobId;
use crate::id::{ChannelId, MessageId};
use crate::message::{Content, MediaInfo, MessageType};
use crate::time::Timestamp;

/// What became of a media message's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaStatus {
    /// It is to be downloaded.
    Pending,
    /// It is kept.
    Stored,
    /// It came while backup was paused.
    Skipped,
    /// It could not be downloaded.
    Failed,
    /// The platform no longer had it.
    Expired,
    /// Its message was taken back.
    Erased,
}

impl MediaStatus {
    const ALL: [Self; 6] =
        [Self::Pending, Self::Stored, Self::Skipped, Self::Failed, Self::Expired, Self::Erased];

    /// Its name on every surface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Stored => "stored",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Erased => "erased",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// What is known of a media message's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaRecord {
    /// What became of it.
    pub status: MediaStatus,
    /// What it counts for in bytes; 0 unless it is stored.
    pub bytes: i64,
    /// When it was stored.
    pub stored_at: Option<Timestamp>,
    /// Where its bytes are.
    pub blob: Option<BlobId>,
    /// Its type, as found in its first bytes.
    pub content_type: Option<String>,
    /// A small picture of it.
    pub preview: Option<Preview>,
    /// Why it is failed, expired or skipped.
    pub reason: Option<String>,
}

/// A small picture of a file. It counts for nothing: the platform made it, nobody sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Where its bytes are.
    pub blob: BlobId,
    /// Its type.
    pub content_type: String,
}

/// A media message in a list.
#[derive(Clone, Debug)]
pub struct MediaItem {
    /// The channel.
    pub channel: ChannelId,
    /// The message.
    pub message: MessageId,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// Its type.
    pub kind: MessageType,
    /// Its file.
    pub record: MediaRecord,
    /// What the platform told of it.
    pub info: MediaInfo,
}

/// Which media of a channel to read, newest first.
#[derive(Clone, Debug, Default)]
pub struct MediaFilter {
    /// Not sent before this.
    pub from: Option<Timestamp>,
    /// Of this type only.
    pub kind: Option<MessageType>,
    /// Only what comes after this message in that order.
    pub after: Option<(Timestamp, MessageId)>,
    /// How many at most.
    pub limit: u32,
}

/// A page of media.
#[derive(Debug)]
pub struct MediaPage {
    /// The media.
    pub media: Vec<MediaItem>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<(Timestamp, MessageId)>,
}

/// The columns of [`MediaRow`], of a table named `f`.
macro_rules! media_columns {
    () => {
        "f.status AS media_status, f.bytes AS media_bytes, f.stored_at AS media_stored_at,
         f.sha256 AS media_sha256, f.content_type AS media_type, f.preview_sha256, f.preview_type,
         f.reason AS media_reason"
    };
}
pub(super) use media_columns;

/// A media record beside a message; all NULL where there is none.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct MediaRow {
    media_status: Option<String>,
    media_bytes: Option<i64>,
    media_stored_at: Option<i64>,
    media_sha256: Option<String>,
    media_type: Option<String>,
    preview_sha256: Option<String>,
    preview_type: Option<String>,
    media_reason: Option<String>,
}

#[derive(Debug, sqlx::FromRow)]
struct ItemRow {
    channel_id: String,
    message_id: String,
    r#type: Option<String>,
    sent_at: Option<i64>,
    content: Option<String>,
    #[sqlx(flatten)]
    media: MediaRow,
}

macro_rules! items {
    ($rest:literal) => {
        concat!(
            "SELECT f.channel_id, f.message_id, f.type, f.sent_at, m.content, ",
            media_columns!(),
            " FROM media f
              JOIN messages m ON m.channel_id = f.channel_id AND m.message_id = f.message_id ",
            $rest
        )
    };
}

const PAGE: &str = items!(
    "WHERE f.channel_id = $1 AND f.sent_at >= $2 AND (f.sent_at, f.message_id) < ($3, $4)
       AND (CAST($5 AS TEXT) IS NULL OR f.type = $5)
     ORDER BY f.sent_at DESC, f.message_id DESC LIMIT $6"
);

const ONE: &str = items!("WHERE f.channel_id = $1 AND f.message_id = $2");

const PENDING: &str = items!(
    "WHERE f.status = 'pending' AND f.created_at < $1
     ORDER BY f.created_at, f.channel_id, f.message_id LIMIT $2"
);

impl Store {
    /// A page of a channel's media, newest first. Files that were erased are not in it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn media_page(
        &self,
        channel: &ChannelId,
        filter: &MediaFilter,
    ) -> Result<MediaPage, StoreError> {
        let from = filter.from.map_or(i64::MIN, Timestamp::millis);
        let (at, id) = match &filter.after {
            Some((at, id)) => (at.millis(), id.as_str()),
            None => (i64::MAX, ""),
        };
        let kind = filter.kind.map(MessageType::name);
        let wanted = i64::from(filter.limit) + 1;
        let rows: Vec<ItemRow> = read!(self, c => query_as(PAGE)
            .bind(channel.as_str()).bind(from).bind(at).bind(id).bind(kind).bind(wanted)
            .fetch_all(c))?;
        let mut media = rows.into_iter().map(MediaItem::try_from).collect::<Result<Vec<_>, _>>()?;
        let more = media.len() > filter.limit as usize;
        media.truncate(filter.limit as usize);
        let next = media.last().filter(|_| more).map(|item| (item.sent_at, item.message.clone()));
        Ok(MediaPage { media, next })
    }

    /// One media message; `None` when there is none, or it was taken back.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn media(
        &self,
        channel: &ChannelId,
        message: &MessageId,
    ) -> Result<Option<MediaItem>, StoreError> {
        let row: Option<ItemRow> = read!(self, c => query_as(ONE)
            .bind(channel.as_str()).bind(message.as_str()).fetch_optional(c))?;
        row.map(MediaItem::try_from).transpose()
    }

    /// Media whose files are to be downloaded since before `before`, oldest first: what a lost job
    /// left lying.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn pending_media(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<MediaItem>, StoreError> {
        let rows: Vec<ItemRow> = read!(self, c => query_as(PENDING)
            .bind(before.millis()).bind(i64::from(limit)).fetch_all(c))?;
        rows.into_iter().map(MediaItem::try_from).collect()
    }
}

impl MediaRecord {
    /// The record of a file whose message was taken back.
    pub(super) fn erased() -> Self {
        Self {
            status: MediaStatus::Erased,
            bytes: 0,
            stored_at: None,
            blob: None,
            content_type: None,
            preview: None,
            reason: None,
        }
    }
}

impl MediaRow {
    /// The record; `None` where there was no row to join.
    pub(super) fn record(self, message: &str) -> Result<Option<MediaRecord>, StoreError> {
        let Some(status) = self.media_status else {
            return Ok(None);
        };
        let blob = |column, name: Option<String>| {
            let read = |name: String| parsed(BlobId::parse(&name), "media", column, message);
            name.map(read).transpose()
        };
        let preview = blob("preview_sha256", self.preview_sha256)?;
        Ok(Some(MediaRecord {
            status: parsed(MediaStatus::parse(&status), "media", "status", message)?,
            bytes: self.media_bytes.unwrap_or_default(),
            stored_at: self.media_stored_at.map(Timestamp::from_millis),
            blob: blob("sha256", self.media_sha256)?,
            content_type: self.media_type,
            preview: preview
                .map(|blob| Preview { blob, content_type: self.preview_type.unwrap_or_default() }),
            reason: self.media_reason,
        }))
    }
}

impl TryFrom<ItemRow> for MediaItem {
    type Error = StoreError;

    fn try_from(row: ItemRow) -> Result<Self, StoreError> {
        let id = row.message_id;
        let kind = row.r#type.as_deref().and_then(MessageType::parse);
        let content = row.content.as_deref().map(serde_json::from_str::<Content>).transpose();
        let info = match parsed(content.ok(), "messages", "content", &id)? {
            Some(
                Content::Image(info)
                | Content::Video(info)
                | Content::Audio(info)
                | Content::File(info),
            ) => info,
            _ => MediaInfo::default(),
        };
        Ok(Self {
            kind: parsed(kind, "media", "type", &id)?,
            sent_at: parsed(row.sent_at.map(Timestamp::from_millis), "media", "sent_at", &id)?,
            record: parsed(row.media.record(&id)?, "media", "status", &id)?,
            channel: row.channel_id.into(),
            message: id.into(),
            info,
        })
    }
}
