//! What is kept as a whole: what is missing, and deleting what is old.

use axum::Json;
use axum::extract::State;
use chatkeep_core::id::ChannelId;
use chatkeep_core::store::{ChannelJob, Coverage, JobKind};
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::auth::{ChannelAccess, Member, Owner, ReadMessages, WriteBackup};
use super::error::ApiError;
use super::extract::Query;
use super::jobs::Removal;
use crate::services::FieldPath;
use crate::view::GapView;
use crate::when::When;

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DeleteQuery {
    /// Messages sent before this time go; a day is its first moment, in the channel's time zone.
    #[param(inline)]
    before: When,
    /// Only count.
    #[serde(default)]
    dry_run: bool,
}

/// What was deleted, or would be.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeletedView {
    /// Messages that were deleted, or would be.
    deleted_count: i64,
    /// Bytes that were freed, or would be, media included.
    freed_bytes: i64,
}

/// What is kept of a channel, and what is not.
#[derive(Serialize, ToSchema)]
#[schema(as = Coverage)]
#[serde(rename_all = "camelCase")]
pub(super) struct CoverageView {
    /// The channel.
    channel_id: ChannelId,
    /// When keeping began, or since when the key may read if that is later; null when nobody ever
    /// subscribed.
    since: Option<Timestamp>,
    /// When the oldest kept message was sent; null when none is kept.
    first_message_at: Option<Timestamp>,
    /// When the newest kept message was sent; null when none is kept.
    last_message_at: Option<Timestamp>,
    /// Times in which the channel was not kept, the oldest first.
    gaps: Vec<GapView>,
    /// Media files of which nothing is kept, by reason.
    missing_media: Vec<MissingMedia>,
    /// Days after which messages are removed; null keeps them.
    retention_days: Option<i64>,
    /// Messages sent before this were removed because of their age; null when none was.
    removed_before: Option<Timestamp>,
}

/// Media files of which nothing is kept, for one reason.
#[derive(Serialize, ToSchema)]
struct MissingMedia {
    /// `skipped`, `failed` or `expired`.
    status: String,
    /// The reason, such as `too_large`; null when there is none beside the status.
    reason: Option<String>,
    /// Files that are missing for this reason.
    count: i64,
}

pub(super) async fn delete(
    State(api): State<Api>,
    access: ChannelAccess<Owner, WriteBackup>,
    Query(query): Query<DeleteQuery>,
) -> Result<Removal<DeletedView>, ApiError> {
    let before = query.before.within(api.services.messages.zone(Some(&access.channel)).await?);
    let before = before.ok_or_else(|| {
        ApiError::invalid_value(FieldPath::parameter("before"), "is out of range")
    })?;
    if query.dry_run {
        let (deleted_count, freed_bytes) = api.store.count_before(&access.channel, before).await?;
        return Ok(Removal::Done(DeletedView { deleted_count, freed_bytes }));
    }
    let what = (JobKind::Deletion, before);
    let done =
        |job: &ChannelJob| DeletedView { deleted_count: job.done, freed_bytes: job.freed_bytes };
    api.remove(&access.channel, access.user(), what, done).await
}

pub(super) async fn coverage(
    State(api): State<Api>,
    access: ChannelAccess<Member, ReadMessages>,
) -> Result<Json<CoverageView>, ApiError> {
    let coverage = api.store.coverage(&access.channel, access.not_before()).await?;
    Ok(Json(CoverageView::new(access.channel, coverage)))
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
            removed_before: coverage.retained_from,
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
