//! Exports that are written in the background, and the download of their documents.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_http::{Body, HttpError, Path, download};
use chatkeep_services::Services;
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_services::exports::ExportRequest;
use chatkeep_store::ExportJob;
use chatkeep_view::when::When;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::address::ApiUrl;
use super::export::{AskedLanguage, FormatParam, documents};
use super::jobs::{StatusView, accepted};
use super::route::{Answer, Describe, Output};
use super::subscriptions::Success;

/// Export to write in the background.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewExport)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportBody {
    /// Format of the document: `jsonl` can be imported again, `csv` is for spreadsheets, `html` for
    /// browsers, in the language of the header `Accept-Language` (English, Chinese, Japanese or
    /// Thai).
    format: FormatParam,
    /// Only messages sent at or after this time. A date stands for its first moment in the
    /// channel's time zone.
    #[serde(default)]
    #[schema(nullable = false)]
    from: Option<When>,
    /// Only messages sent before this time, and before the request. A date stands for its first
    /// moment in the channel's time zone.
    #[serde(default)]
    #[schema(nullable = false)]
    to: Option<When>,
}

#[derive(Deserialize, IntoParams)]
pub(super) struct ExportPath {
    /// The export.
    #[serde(rename = "exportId")]
    export: String,
}

/// The caller's exports of a channel.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportList {
    /// Exports, newest first.
    exports: Vec<ExportView>,
    /// Always null: there are no further pages.
    next_cursor: Option<String>,
}

/// Export that is written in the background.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Export)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportView {
    /// ID of the export, and of its job.
    id: String,
    /// ID of the channel.
    channel_id: ChannelId,
    /// Format of the document.
    #[schema(value_type = FormatParam)]
    format: String,
    /// Time from which on the messages were sent; null without a limit.
    from: Option<Timestamp>,
    /// Time before which the messages were sent.
    to: Timestamp,
    /// The state of the export.
    status: StatusView,
    /// Number of messages exported so far.
    done: i64,
    /// Number of messages to export.
    total: i64,
    /// Size of the document in bytes; until it is completed, of what is written.
    bytes: i64,
    /// Time of the request.
    created_at: Timestamp,
    /// Time of completion or failure; null before.
    finished_at: Option<Timestamp>,
    /// Time at which the export is deleted; null until it is completed or has failed.
    expires_at: Option<Timestamp>,
    /// Reason for the failure; null otherwise.
    error: Option<String>,
    /// Address of the export's job.
    url: String,
    /// Address of the document; 409 until the export is completed.
    document_url: String,
}

/// Export that was begun.
pub(super) struct Begun(ExportView);

/// Document of a completed export, or a range of it.
pub(super) struct ExportFile(Response);

pub(super) async fn begin(
    State(services): State<Services>,
    url: ApiUrl,
    access: ChannelAccess<Member, ReadMessages>,
    AskedLanguage(language): AskedLanguage,
    Body(body): Body<ExportBody>,
) -> Result<Begun, HttpError> {
    let ExportBody { format, from, to } = body;
    let request = ExportRequest { format: format.into(), from, to, language };
    let export = services.export_jobs.begin(&access, request).await?;
    Ok(Begun(ExportView::new(export, &url)))
}

pub(super) async fn list(
    State(services): State<Services>,
    url: ApiUrl,
    access: ChannelAccess<Member, ReadMessages>,
) -> Result<Json<ExportList>, HttpError> {
    let exports = services.export_jobs.list(&access).await?;
    let exports = exports.into_iter().map(|export| ExportView::new(export, &url)).collect();
    Ok(Json(ExportList { exports, next_cursor: None }))
}

pub(super) async fn one(
    State(services): State<Services>,
    url: ApiUrl,
    access: ChannelAccess<Member, ReadMessages>,
    Path(path): Path<ExportPath>,
) -> Result<Json<ExportView>, HttpError> {
    let export = services.export_jobs.export(&access, &path.export).await?;
    Ok(Json(ExportView::new(export, &url)))
}

pub(super) async fn document(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMessages>,
    Path(path): Path<ExportPath>,
    asked: HeaderMap,
) -> Result<ExportFile, HttpError> {
    let document = services.export_jobs.document(&access, &path.export).await?;
    Ok(ExportFile(download(&services.export_jobs, document, &asked)))
}

pub(super) async fn delete(
    State(services): State<Services>,
    access: ChannelAccess<Member, ReadMessages>,
    Path(path): Path<ExportPath>,
) -> Result<Json<Success>, HttpError> {
    services.export_jobs.delete(&access, &path.export).await?;
    Ok(Success::answer())
}

impl ExportView {
    fn new(export: ExportJob, url: &ApiUrl) -> Self {
        Self {
            url: format!("{url}/channels/{}/jobs/{}", export.channel, export.id),
            document_url: document_url(&export, url),
            id: export.id,
            channel_id: export.channel,
            format: export.format,
            from: export.from,
            to: export.before,
            status: export.status.into(),
            done: export.done,
            total: export.total,
            bytes: export.bytes,
            created_at: export.created_at,
            finished_at: export.finished_at,
            expires_at: export.expires_at,
            error: export.error,
        }
    }
}

/// Returns the address of an export's document.
pub(super) fn document_url(export: &ExportJob, url: &ApiUrl) -> String {
    format!("{url}/channels/{}/backup/exports/{}/document", export.channel, export.id)
}

impl IntoResponse for Begun {
    fn into_response(self) -> Response {
        let address = self.0.url.clone();
        accepted(self.0, &address)
    }
}

impl Output for Begun {
    fn describe(route: &mut Describe) {
        route.accepts::<ExportView>(
            "Accepted: the export is written in the background; `url` is the address of the job. \
             Repeating the request before the export is completed returns the same export",
        );
    }
}

impl IntoResponse for ExportFile {
    fn into_response(self) -> Response {
        self.0
    }
}

impl Output for ExportFile {
    fn describe(route: &mut Describe) {
        let answers = [
            (StatusCode::OK, "The document"),
            (StatusCode::PARTIAL_CONTENT, "The requested range of the document"),
        ];
        for (status, description) in answers {
            let content = documents();
            let headers = vec!["Accept-Ranges", "Content-Disposition", "Content-Range"];
            route.answers.push(Answer { status, description, content, headers, links: Vec::new() });
        }
        route.takes_range();
        route.refuses(&[
            StatusCode::NOT_FOUND,
            StatusCode::CONFLICT,
            StatusCode::RANGE_NOT_SATISFIABLE,
        ]);
    }
}
