//! Jobs of a channel: kinds, states and records.

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::named;
use chatkeep_core::time::Timestamp;

use crate::ingest::Removed;

/// Kind of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Erases that person's messages in the channel.
    Erasure(UserId),
    /// Deletes the channel's messages.
    Deletion,
}

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// Not started.
    Pending,
    /// Partly done.
    Running,
    /// Completed.
    Done,
    /// Failed for a recorded reason.
    Failed,
}

named! {
    pub JobStatus {
        Pending = "pending",
        Running = "running",
        Done = "done",
        Failed = "failed",
    }
}

/// Job of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelJob {
    /// Public id.
    pub id: String,
    /// Channel.
    pub channel: ChannelId,
    /// Kind of the job.
    pub kind: JobKind,
    /// Only messages sent before this time are removed.
    pub sent_before: Timestamp,
    /// Requesting user.
    pub created_by: UserId,
    /// Time of the request.
    pub created_at: Timestamp,
    /// Number of messages to remove; while it runs, the number at the time of the request.
    pub total: i64,
    /// Number of messages removed so far.
    pub done: i64,
    /// Bytes of the removed messages.
    pub freed_bytes: i64,
    /// State of the job.
    pub status: JobStatus,
    /// Reason for which it makes no progress, or has failed under an earlier version; suitable for the
    /// caller.
    pub error: Option<String>,
    /// Time of completion or failure.
    pub finished_at: Option<Timestamp>,
}

/// Job to begin.
#[derive(Clone, Copy, Debug)]
pub struct NewChannelJob<'a> {
    /// Public id.
    pub id: &'a str,
    /// Channel.
    pub channel: &'a ChannelId,
    /// Kind of the job.
    pub kind: &'a JobKind,
    /// Only messages sent before this time are removed.
    pub sent_before: Timestamp,
    /// Requesting user.
    pub by: &'a UserId,
    /// Name of the worker that claims the job at once if it is small; `None` leaves it to any.
    pub worker: Option<&'a str>,
}

/// Completed batch of a job.
#[derive(Debug)]
pub struct JobBatch {
    /// Removed messages.
    pub removed: Removed,
    /// Job after the batch.
    pub job: ChannelJob,
}

impl JobKind {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Erasure(_) => "erasure",
            Self::Deletion => "deletion",
        }
    }

    /// Returns the person whose messages are erased; `None` for a deletion.
    pub(super) const fn person(&self) -> Option<&UserId> {
        match self {
            Self::Erasure(user) => Some(user),
            Self::Deletion => None,
        }
    }

    /// Returns the id of that person; empty for a deletion.
    pub(super) fn user(&self) -> &str {
        self.person().map_or("", UserId::as_str)
    }
}

impl JobStatus {
    /// Returns `true` once the job has completed or failed.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}
