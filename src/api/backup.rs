//! Coverage of a channel's backup, and deletion of old messages.

use axum::Json;
use axum::extract::State;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{HttpError, Query};
use chatkeep_services::Services;
use chatkeep_services::access::{ChannelAccess, Member, Owner, ReadMessages, WriteBackup};
use chatkeep_store::{ChannelJob, Coverage, MediaReason, MediaStatus};
use chatkeep_view::GapView;
use chatkeep_view::when::When;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::address::ApiUrl;
use super::jobs::Removal;

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DeleteQuery {
    /// Messages sent before this time are deleted. A date stands for its first moment in the
    /// channel's time zone.
    #[param(inline)]
    before: When,
    /// Counts the messages without deleting them.
    #[serde(default)]
    dry_run: bool,
}

/// Result of a deletion, or of a dry run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeletedView {
    /// Number of messages that were or would be deleted; messages that were unsent earlier are not
    /// counted.
    deleted_count: i64,
    /// Bytes that were or would be freed, media included.
    freed_bytes: i64,
}

/// Backup coverage of a channel: what is stored and what is missing.
#[derive(Serialize, ToSchema)]
#[schema(as = Coverage)]
#[serde(rename_all = "camelCase")]
pub(super) struct CoverageView {
    /// The channel.
    channel_id: ChannelId,
    /// Beginning of the backup, or the key's `notBefore` if that is later; null when nobody has
    /// ever subscribed.
    since: Option<Timestamp>,
    /// Time of the oldest stored message; null when there is none.
    first_message_at: Option<Timestamp>,
    /// Time of the newest stored message; null when there is none.
    last_message_at: Option<Timestamp>,
    /// Periods without backup, oldest first.
    gaps: Vec<GapView>,
    /// Media files that are not stored, by reason.
    missing_media: Vec<MissingMedia>,
    /// Days after which messages are deleted; null keeps them.
    retention_days: Option<i64>,
    /// Messages sent before this time were deleted, on request (even if there were none) or by
    /// retention; null if that never happened.
    removed_before: Option<Timestamp>,
}

/// Number of media files that are not stored for one reason.
#[derive(Serialize, ToSchema)]
struct MissingMedia {
    /// Status of the files.
    status: MediaStatus,
    /// Reason; null when the status says enough.
    reason: Option<MediaReason>,
    /// Number of files.
    count: i64,
}

pub(super) async fn delete(
    State(services): State<Services>,
    url: ApiUrl,
    access: ChannelAccess<Owner, WriteBackup>,
    Query(query): Query<DeleteQuery>,
) -> Result<Removal<DeletedView>, HttpError> {
    if query.dry_run {
        let estimate = services.deletion.estimate(&access, query.before).await?;
        let (deleted_count, freed_bytes) = (estimate.messages, estimate.bytes);
        return Ok(Removal::Done(DeletedView { deleted_count, freed_bytes }));
    }
    let job = services.deletion.delete(&access, query.before).await?;
    let done =
        |job: &ChannelJob| DeletedView { deleted_count: job.done, freed_bytes: job.freed_bytes };
    Ok(Removal::of(job, &url, done))
}

pub(super) async fn coverage(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMessages>,
) -> Result<Json<CoverageView>, HttpError> {
    let coverage = services.channels.coverage(&access).await?;
    Ok(Json(CoverageView::new(access.without_reading().clone(), coverage)))
}

impl CoverageView {
    fn new(channel_id: ChannelId, coverage: Coverage) -> Self {
        let media = coverage.media.into_iter();
        Self {
            channel_id,
            since: coverage.since,
            first_message_at: coverage.messages.map(|(first, _)| first),
            last_message_at: coverage.messages.map(|(_, last)| last),
            gaps: coverage.gaps.into_iter().map(GapView::from).collect(),
            retention_days: coverage.retention_days,
            removed_before: coverage.removed_before,
            missing_media: media
                .map(|lost| MissingMedia {
                    status: lost.status,
                    reason: lost.reason,
                    count: lost.count,
                })
                .collect(),
        }
    }
}
