//! Background deletions: jobs that continue without the request that started them.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Role;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelJob, JobKind, JobStatus, NewChannelJob};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Api;
use super::auth::{Reaches, WriteBackup};
use super::error::ApiError;
use super::extract::Path;
use super::route::{Describe, Output};
use crate::random;

/// Background deletion of many messages.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Job)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobView {
    /// ID of the job.
    id: String,
    /// ID of the channel.
    channel_id: ChannelId,
    /// Kind of deletion.
    kind: KindView,
    /// The state of the job.
    status: StatusView,
    /// Number of messages deleted so far.
    done: i64,
    /// Number of messages to delete.
    total: i64,
    /// Time of the request.
    created_at: Timestamp,
    /// Time of completion or failure; null before.
    finished_at: Option<Timestamp>,
    /// Reason for the failure; null otherwise.
    error: Option<String>,
    /// Address of the job's status.
    url: String,
}

/// Kind of deletion job: `erasure` of a person's messages, `deletion` of messages sent before a
/// time.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum KindView {
    /// Erasure of a person's messages.
    Erasure,
    /// Deletion of messages sent before a time.
    Deletion,
}

/// State of a job, in order; it ends as `done` or `failed`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum StatusView {
    Pending,
    Running,
    Done,
    Failed,
}

/// Response to a deletion request: `T` when it is completed, otherwise the job.
pub(super) enum Removal<T> {
    Done(T),
    Begun(Box<JobView>),
}

#[derive(Deserialize, IntoParams)]
pub(super) struct JobPath {
    /// The job.
    #[serde(rename = "jobId")]
    job: String,
}

/// Allowed for the owner, and for the person whose messages are erased.
pub(super) async fn read(
    State(api): State<Api>,
    access: Reaches<WriteBackup>,
    Path(path): Path<JobPath>,
) -> Result<Json<JobView>, ApiError> {
    let job = api.store.jobs().channel_job(&access.channel, &path.job).await?;
    let owner = access.role == Some(Role::Owner);
    let own = |job: &ChannelJob| job.kind == JobKind::Erasure(access.caller.user.clone());
    match job {
        Some(job) if owner || own(&job) => Ok(Json(api.job_view(job))),
        None if owner => Err(ApiError::NotFound),
        _ => Err(ApiError::PermissionDenied),
    }
}

impl Api {
    /// Begins to remove what was sent before that time; a few messages are removed at once.
    pub(super) async fn remove<T>(
        &self,
        channel: &ChannelId,
        by: &UserId,
        (kind, sent_before): (JobKind, Timestamp),
        done: impl FnOnce(&ChannelJob) -> T,
    ) -> Result<Removal<T>, ApiError> {
        let id = format!("job_{}", random::text(16));
        let (kind, worker) = (&kind, self.removals.worker());
        let new = NewChannelJob { id: &id, channel, kind, sent_before, by, worker };
        let (mut job, claimed) = self.store.jobs().begin_job(&new, self.clock.now()).await?;
        if claimed {
            job = self.removals.finish(job).await?;
        }
        if job.status == JobStatus::Done {
            return Ok(Removal::Done(done(&job)));
        }
        Ok(Removal::Begun(Box::new(self.job_view(job))))
    }

    fn job_view(&self, job: ChannelJob) -> JobView {
        let base = self.login.base_url();
        JobView {
            url: format!("{base}/api/channels/{}/jobs/{}", job.channel, job.id),
            id: job.id,
            channel_id: job.channel,
            kind: match job.kind {
                JobKind::Erasure(_) => KindView::Erasure,
                JobKind::Deletion => KindView::Deletion,
            },
            status: match job.status {
                JobStatus::Pending => StatusView::Pending,
                JobStatus::Running => StatusView::Running,
                JobStatus::Done => StatusView::Done,
                JobStatus::Failed => StatusView::Failed,
            },
            done: job.done,
            total: job.total,
            created_at: job.created_at,
            finished_at: job.finished_at,
            error: job.error,
        }
    }
}

impl<T: Serialize> IntoResponse for Removal<T> {
    fn into_response(self) -> Response {
        let job = match self {
            Self::Done(body) => return Json(body).into_response(),
            Self::Begun(job) => job,
        };
        let location = HeaderValue::from_str(&job.url);
        let mut response = (StatusCode::ACCEPTED, Json(job)).into_response();
        if let Ok(location) = location {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response
    }
}

impl<T: Serialize + ToSchema> Output for Removal<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::OK, "Done");
        route.answers::<JobView>(
            StatusCode::ACCEPTED,
            "Accepted: the deletion continues in the background; `url` is the address of the job",
        );
    }
}
