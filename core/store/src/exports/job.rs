//! Exports, their parts and files: records.

use chatkeep_core::blob::BlobId;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::time::Timestamp;

use super::EXPORT_INTERRUPTIONS;
use crate::{BlobClaim, JobStatus};

/// Position of a message in an export: its time of sending and its id.
pub type ExportKeyset = (Timestamp, MessageId);

/// Export that is written in the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportJob {
    /// Public id.
    pub id: String,
    /// Channel.
    pub channel: ChannelId,
    /// Requesting user, who alone may read it.
    pub created_by: UserId,
    /// Time of the request.
    pub created_at: Timestamp,
    /// Name of the format.
    pub format: String,
    /// Earliest time of sending.
    pub from: Option<Timestamp>,
    /// Time before which messages were sent.
    pub before: Timestamp,
    /// Time before which the requesting credential may know of nothing.
    pub not_before: Option<Timestamp>,
    /// Name of the time zone of days, and of the times on a page.
    pub time_zone: String,
    /// Tag of the language of a page for reading.
    pub language: String,
    /// Number of messages; until it is completed, the number at the time of the request.
    pub total: i64,
    /// Number of messages written so far.
    pub done: i64,
    /// Size of what is written so far, in bytes.
    pub bytes: i64,
    /// State of the export. A completed one is pending again while parts of it are written anew.
    pub status: JobStatus,
    /// Reason for the failure, suitable for the caller.
    pub error: Option<String>,
    /// Time of completion or failure.
    pub finished_at: Option<Timestamp>,
    /// Time at which it is deleted; `None` until it is completed or has failed.
    pub expires_at: Option<Timestamp>,
    /// Number of times in a row that the process which wrote it ended, or hung, before a part was
    /// completed.
    pub interruptions: i64,
}

impl ExportJob {
    /// Returns `true` if it has failed because it ended the process that wrote it again and again.
    pub fn was_interrupted(&self) -> bool {
        self.status == JobStatus::Failed && self.interruptions >= EXPORT_INTERRUPTIONS
    }
}

/// Export to begin.
#[derive(Clone, Copy, Debug)]
pub struct NewExportJob<'a> {
    /// Public id.
    pub id: &'a str,
    /// Channel.
    pub channel: &'a ChannelId,
    /// Requesting user.
    pub by: &'a UserId,
    /// Name of the format.
    pub format: &'a str,
    /// Earliest time of sending.
    pub from: Option<Timestamp>,
    /// Time before which messages were sent.
    pub before: Timestamp,
    /// Time before which the requesting credential may know of nothing.
    pub not_before: Option<Timestamp>,
    /// Name of the time zone of days, and of the times on a page.
    pub time_zone: &'a str,
    /// Tag of the language of a page for reading.
    pub language: &'a str,
    /// Estimated number of messages.
    pub total: i64,
}

/// Part of an export that a worker has to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportPart {
    /// Number of the part, from 0.
    pub number: i64,
    /// Position of the last message before it; `None` for the first part.
    pub after: Option<ExportKeyset>,
    /// Position of its last message, for a part that was written before.
    pub until: Option<ExportKeyset>,
    /// `true` if it was written before as the last part.
    pub is_last: bool,
    /// Number of messages in the parts before it.
    pub messages_before: u64,
    /// Name of this attempt at writing it, which ends when one of its messages is changed or removed.
    pub attempt: String,
}

/// Next step of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportStep {
    /// This part is to be written.
    Part(ExportPart),
    /// All parts are written; the export is completed.
    Completed(Box<ExportJob>),
    /// Another worker has claimed it, or it was deleted.
    Lost,
}

/// File with a part of an export.
#[derive(Debug)]
pub struct WrittenPart<'a> {
    /// Claim on its blob.
    pub claim: &'a BlobClaim,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of messages.
    pub messages: u64,
    /// Position of its last message; `None` if it has none.
    pub last: Option<&'a ExportKeyset>,
    /// `true` if no part follows.
    pub is_last: bool,
}

/// Outcome of storing a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartOutcome {
    /// Stored, with the export's progress.
    Stored(Box<ExportJob>),
    /// One of its messages was changed or removed meanwhile, or the file was swept: write it again.
    Outdated,
    /// Another worker has claimed the export, or it was deleted.
    Lost,
}

/// File of a part of a completed export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartBlob {
    /// Number of the part.
    pub part: i64,
    /// Blob with its bytes.
    pub blob: BlobId,
    /// Size in bytes.
    pub bytes: u64,
}
