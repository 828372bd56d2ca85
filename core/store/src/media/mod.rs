//! Media of messages: a record of each file, and the claims on the blobs that hold them.
//!
//! # Guarantees: no message loses its file, and no file outlives its messages
//!
//! Two messages may hold one blob, uploads of one content may run in many processes, and the files
//! lie outside of the database's transactions. `blob_orphans` holds a mark for each blob that may
//! have to be deleted. The rules:
//!
//! 1. A blob is claimed (marked, with the time) before its file can be seen
//!    ([`MediaStore::claim_blob`](crate::MediaStore::claim_blob), called by `Blobs::put` of the
//!    blobs port). So a file without a message always has a mark, wherever a process dies.
//! 2. A transaction that makes a message hold a blob
//!    ([`MediaStore::store_media`](crate::MediaStore::store_media)) or release one (`erase_media`)
//!    locks the blob's mark, and creates it when there is none.
//! 3. Only the sweep ([`OrphanSweep`]) deletes files. In one transaction it locks marks, reads
//!    *after that* which of their blobs a message holds, drops those marks, and gives the others
//!    a new mark, with which they are leased for [`SWEEP_LEASE`]. Then it deletes files, outside
//!    of any transaction: an object store may take its time, and nobody should wait for it. In
//!    another transaction it removes the marks of deleted files that are still its own. What was
//!    leased before comes after all others: a file that cannot be deleted holds up none.
//! 4. A message may hold a blob when the mark is still the one that its claim saw, or when another
//!    message holds the blob, whose file is not lost. Else the sweep may have run in between, and
//!    the present mark, if any, belongs to the sweep, or to another upload, which may die before it
//!    puts the file: [`MediaOutcome::BlobGone`], and it is put again.
//! 5. A leased blob cannot be claimed: who wants to waits until the sweep is done, or the lease
//!    ends. Nobody but the sweep ends a lease.
//!
//! The mark's lock serializes holding, releasing, claiming and leasing of one blob. When a message's
//! transaction comes first, the sweep sees its row; when the lease comes first, the mark is another
//! one, no message holds the blob, and rule 4 applies; a new claim waits for the end of the lease,
//! and thus for the deletion, before the file is put anew. A deletion that failed may have been
//! carried out: the claims from before do not hold any more. A claim keeps the sweep away for
//! [`CLAIM`]; that only saves work, nothing depends on it.
//!
//! Leases go by the database's clock, and the sweep gives up each deletion long before the end of
//! its lease, by its own. So two cases are outside: a deletion that is carried out longer than a
//! lease after its request, because an object store took so long or the sweep's process stood
//! still, while the same content is uploaded again; and a clock of the database that is set forward
//! by as much during a deletion. Processes of earlier versions do not know leases: what they claim
//! during a deletion is put again, unless their message holds it before the deletion ends.
//!
//! Parts of exports in the background (`exports/`) hold blobs as messages do.
//!
//! A file that is found missing (`doctor/media_repair.rs`) gets no mark. Its record is `failed`, but
//! goes on naming the blob, and so holds it: a file that was only out of sight, as on a disk that was
//! not mounted, is not deleted when it is back. Readers of a record see no blob unless it is stored.

mod given_up;
mod identity;
mod list;
mod orphans;
mod reason;
mod stored;
mod sweep;

pub use orphans::{BlobClaim, CLAIM};
pub(super) use orphans::{erase_media, hold, mark, names, release};
pub use reason::MediaReason;
pub use stored::{MediaOutcome, NewMedia};
pub use sweep::{OrphanSweep, SWEEP_LEASE};

use super::{StoreError, parsed};
use chatkeep_core::blob::BlobId;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{MediaInfo, MessageType};
use chatkeep_core::named;
use chatkeep_core::time::Timestamp;
use serde::Deserialize;

/// Returns the type by which a file counts: its message's, as the record has it.
pub(super) fn file_kind(kind: Option<&str>) -> MessageType {
    kind.and_then(MessageType::parse).unwrap_or(MessageType::Other)
}

/// Status of a media message's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MediaStatus {
    /// Pending download.
    Pending,
    /// Stored.
    Stored,
    /// Received while backup was paused.
    Skipped,
    /// Failed download.
    Failed,
    /// No longer available on the platform.
    Expired,
    /// Its message was retracted.
    Erased,
}

named! {
    pub MediaStatus {
        Pending = "pending",
        Stored = "stored",
        Skipped = "skipped",
        Failed = "failed",
        Expired = "expired",
        Erased = "erased",
    }
}

/// Record of a media message's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaRecord {
    /// Status of the file.
    pub status: MediaStatus,
    /// Counted bytes; 0 unless stored.
    pub bytes: i64,
    /// Time of storing.
    pub stored_at: Option<Timestamp>,
    /// Blob with its bytes.
    pub blob: Option<BlobId>,
    /// Content type, as detected from its first bytes.
    pub content_type: Option<String>,
    /// Preview picture.
    pub preview: Option<Preview>,
    /// Reason for being failed, expired or skipped.
    pub reason: Option<MediaReason>,
}

/// Preview picture of a file. It counts for nothing: the platform made it, nobody sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Blob with its bytes.
    pub blob: BlobId,
    /// Content type.
    pub content_type: String,
}

/// Media message in a list.
#[derive(Clone, Debug)]
pub struct MediaItem {
    /// Channel.
    pub channel: ChannelId,
    /// Message.
    pub message: MessageId,
    /// Time of sending.
    pub sent_at: Timestamp,
    /// Message type.
    pub kind: MessageType,
    /// Record of the file.
    pub record: MediaRecord,
    /// Metadata from the platform.
    pub info: MediaInfo,
}

/// Filter of a channel's media, newest first.
#[derive(Clone, Debug, Default)]
pub struct MediaFilter {
    /// Earliest time of sending.
    pub from: Option<Timestamp>,
    /// Message type.
    pub kind: Option<MessageType>,
    /// Keyset: only what comes after this message in that order.
    pub after: Option<(Timestamp, MessageId)>,
    /// Maximum number of media.
    pub limit: u32,
}

/// Page of media.
#[derive(Debug)]
pub struct MediaPage {
    /// Media of the page.
    pub media: Vec<MediaItem>,
    /// Keyset of the next page; `None` at the end.
    pub next: Option<(Timestamp, MessageId)>,
}

/// Builds the columns of [`MediaRow`], of a table named `f`.
macro_rules! media_columns {
    () => {
        "f.status AS media_status, f.bytes AS media_bytes, f.stored_at AS media_stored_at,
         f.sha256 AS media_sha256, f.content_type AS media_type, f.preview_sha256, f.preview_type,
         f.reason AS media_reason"
    };
}
pub(super) use media_columns;

/// Builds the JSON array of the columns of [`MediaRow`], in the order of its fields.
macro_rules! packed_media_columns {
    () => {
        "json_array(media_status, media_bytes, media_stored_at, media_sha256, media_type,
                    preview_sha256, preview_type, media_reason)"
    };
}
pub(super) use packed_media_columns;

/// Media record beside a message; all NULL where there is none.
#[derive(Debug, Deserialize, sqlx_macros::FromRow)]
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

impl MediaRecord {
    /// Creates the record of a file whose message was retracted.
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
    /// Converts to the record; `None` where there was no row to join.
    pub(super) fn record(self, message: &str) -> Result<Option<MediaRecord>, StoreError> {
        let Some(status) = self.media_status else {
            return Ok(None);
        };
        let status = parsed(MediaStatus::parse(&status), "media", "status", message)?;
        // Any other record may go on naming a file that was lost.
        let is_stored = status == MediaStatus::Stored;
        let blob = |column, name: Option<String>| {
            let read = |name: String| parsed(BlobId::parse(&name), "media", column, message);
            name.filter(|_| is_stored).map(read).transpose()
        };
        let preview = blob("preview_sha256", self.preview_sha256)?;
        Ok(Some(MediaRecord {
            status,
            bytes: self.media_bytes.unwrap_or_default(),
            stored_at: self.media_stored_at.map(Timestamp::from_millis),
            blob: blob("sha256", self.media_sha256)?,
            content_type: self.media_type.filter(|_| is_stored),
            preview: preview
                .map(|blob| Preview { blob, content_type: self.preview_type.unwrap_or_default() }),
            reason: self.media_reason.as_deref().map(MediaReason::recorded),
        }))
    }
}
