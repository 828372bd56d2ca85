//! What is known of a job.

use crate::id::{ChannelId, UserId};
use crate::store::keep::Removed;
use crate::time::Timestamp;

/// What a job does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Erases what that person wrote in the channel.
    Erasure(UserId),
    /// Deletes the channel's messages.
    Deletion,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// Nobody has begun.
    Pending,
    /// Some of it is done.
    Running,
    /// All of it is done.
    Done,
    /// It cannot be done; [`ChannelJob::error`] says why.
    Failed,
}

/// A job of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelJob {
    /// Its public id.
    pub id: String,
    /// The channel.
    pub channel: ChannelId,
    /// What it does.
    pub kind: JobKind,
    /// Only messages sent before this are removed.
    pub sent_before: Timestamp,
    /// Who asked for it.
    pub created_by: UserId,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Messages to remove; while it runs, as many as there were when it was asked for.
    pub total: i64,
    /// Messages removed so far.
    pub done: i64,
    /// Bytes that they counted for.
    pub freed_bytes: i64,
    /// How far it is.
    pub status: JobStatus,
    /// Why it failed, as the caller may know it.
    pub error: Option<String>,
    /// When it was done or failed.
    pub finished_at: Option<Timestamp>,
}

/// A job to begin.
#[derive(Clone, Copy, Debug)]
pub struct NewChannelJob<'a> {
    /// Its public id.
    pub id: &'a str,
    /// The channel.
    pub channel: &'a ChannelId,
    /// What it does.
    pub kind: &'a JobKind,
    /// Only messages sent before this are removed.
    pub sent_before: Timestamp,
    /// Who asks for it.
    pub by: &'a UserId,
    /// Who works on it at once if it is small: names the claim.
    pub worker: &'a str,
}

/// A batch of a job that was done.
#[derive(Debug)]
pub struct JobBatch {
    /// What was taken away.
    pub removed: Removed,
    /// The job after it.
    pub job: ChannelJob,
}

impl JobKind {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Erasure(_) => "erasure",
            Self::Deletion => "deletion",
        }
    }

    /// The person whose messages are erased; empty for a deletion.
    pub(super) fn user(&self) -> &str {
        match self {
            Self::Erasure(user) => user.as_str(),
            Self::Deletion => "",
        }
    }
}

impl JobStatus {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "pending" => Self::Pending,
            "running" => Self::Running,
            "done" => Self::Done,
            "failed" => Self::Failed,
            _ => return None,
        })
    }

    /// Whether nothing more will happen.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}
