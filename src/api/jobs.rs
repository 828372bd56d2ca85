//! Background deletions: jobs that continue without the request that started them.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{HttpError, Path, PublicUrl};
use chatkeep_services::Services;
use chatkeep_services::access::{Reaches, WriteBackup};
use chatkeep_store::{ChannelJob, JobKind, JobStatus};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::route::{Describe, Output};

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

pub(super) async fn read(
    State(services): State<Services>,
    State(url): State<PublicUrl>,
    access: Reaches<WriteBackup>,
    Path(path): Path<JobPath>,
) -> Result<Json<JobView>, HttpError> {
    Ok(Json(JobView::new(services.deletion.job(&access, &path.job).await?, &url)))
}

impl<T> Removal<T> {
    /// Returns the response to a request that began this job.
    pub(super) fn of(
        job: ChannelJob,
        url: &PublicUrl,
        done: impl FnOnce(&ChannelJob) -> T,
    ) -> Self {
        if job.status == JobStatus::Done {
            return Self::Done(done(&job));
        }
        Self::Begun(Box::new(JobView::new(job, url)))
    }
}

impl JobView {
    fn new(job: ChannelJob, url: &PublicUrl) -> Self {
        Self {
            url: format!("{url}/api/channels/{}/jobs/{}", job.channel, job.id),
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
