//! Deletions and exports in the background: jobs that continue without the request that started them.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{HttpError, Path};
use chatkeep_services::Services;
use chatkeep_services::access::JobAccess;
use chatkeep_services::jobs::Job;
use chatkeep_store::{ChannelJob, ExportJob, JobKind, JobStatus};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::address::ApiUrl;
use super::export_jobs::document_url;
use super::route::{Describe, Output};

/// Deletion of many messages, or export, in the background.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Job)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobView {
    /// ID of the job.
    id: String,
    /// ID of the channel.
    channel_id: ChannelId,
    /// Kind of job.
    kind: KindView,
    /// The state of the job.
    status: StatusView,
    /// Number of messages deleted or exported so far.
    done: i64,
    /// Number of messages to delete or to export.
    total: i64,
    /// Time of the request.
    created_at: Timestamp,
    /// Time of completion or failure; null before.
    finished_at: Option<Timestamp>,
    /// Reason for the failure, or for the lack of progress of a deletion that is being retried;
    /// null otherwise.
    error: Option<String>,
    /// Address of the job's status.
    url: String,
    /// Address of the document of an export; null for deletions, and until the export is completed.
    document_url: Option<String>,
}

/// Kind of job: `erasure` of a person's messages, `deletion` of messages sent before a time,
/// `export` of messages.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum KindView {
    /// Erasure of a person's messages.
    Erasure,
    /// Deletion of messages sent before a time.
    Deletion,
    /// Export of messages.
    Export,
}

/// State of a job, in order; it ends as `done` or `failed`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum StatusView {
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
    url: ApiUrl,
    access: JobAccess,
    Path(path): Path<JobPath>,
) -> Result<Json<JobView>, HttpError> {
    Ok(Json(match services.job(&access, &path.job).await? {
        Job::Removal(job) => JobView::new(job, &url),
        Job::Export(export) => JobView::of_export(export, &url),
    }))
}

impl<T> Removal<T> {
    /// Returns the response to a request that began this job.
    pub(super) fn of(job: ChannelJob, url: &ApiUrl, done: impl FnOnce(&ChannelJob) -> T) -> Self {
        if job.status == JobStatus::Done {
            return Self::Done(done(&job));
        }
        Self::Begun(Box::new(JobView::new(job, url)))
    }
}

impl JobView {
    fn new(job: ChannelJob, url: &ApiUrl) -> Self {
        Self {
            url: format!("{url}/channels/{}/jobs/{}", job.channel, job.id),
            id: job.id,
            channel_id: job.channel,
            kind: match job.kind {
                JobKind::Erasure(_) => KindView::Erasure,
                JobKind::Deletion => KindView::Deletion,
            },
            status: job.status.into(),
            done: job.done,
            total: job.total,
            created_at: job.created_at,
            finished_at: job.finished_at,
            error: job.error,
            document_url: None,
        }
    }

    fn of_export(export: ExportJob, url: &ApiUrl) -> Self {
        let is_completed = export.status == JobStatus::Done;
        Self {
            url: format!("{url}/channels/{}/jobs/{}", export.channel, export.id),
            document_url: is_completed.then(|| document_url(&export, url)),
            id: export.id,
            channel_id: export.channel,
            kind: KindView::Export,
            status: export.status.into(),
            done: export.done,
            total: export.total,
            created_at: export.created_at,
            finished_at: export.finished_at,
            error: export.error,
        }
    }
}

/// Returns the response to a request that began a job, which has that address.
pub(super) fn accepted(job: impl Serialize, address: &str) -> Response {
    let location = HeaderValue::from_str(address);
    let mut response = (StatusCode::ACCEPTED, Json(job)).into_response();
    if let Ok(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

impl From<JobStatus> for StatusView {
    fn from(status: JobStatus) -> Self {
        match status {
            JobStatus::Pending => Self::Pending,
            JobStatus::Running => Self::Running,
            JobStatus::Done => Self::Done,
            JobStatus::Failed => Self::Failed,
        }
    }
}

impl<T: Serialize> IntoResponse for Removal<T> {
    fn into_response(self) -> Response {
        match self {
            Self::Done(body) => Json(body).into_response(),
            Self::Begun(job) => {
                let address = job.url.clone();
                accepted(job, &address)
            }
        }
    }
}

impl<T: Serialize + ToSchema> Output for Removal<T> {
    fn describe(route: &mut Describe) {
        route.answers::<T>(StatusCode::OK, "Done");
        route.accepts::<JobView>(
            "Accepted: the deletion continues in the background; `url` is the address of the job",
        );
    }
}
