//! Exports in the background: the visitor's exports of a channel, their progress and their files.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_http::download;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::ServiceError;
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_store::{EXPORTS_OF_PERSON, ExportJob, JobStatus};
use chatkeep_transfer::Format;
use chatkeep_view::segment;
use serde::Deserialize;

use super::Console;
use super::channel::{Heading, Tab, dates};
use super::dates::Dates;
use super::error::PageError;
use super::export::{ExportForm, FORMATS, shown};
use super::form::{Done, SubmittedForm};
use super::frame::{Frame, rendered};
use super::labels::size;
use super::visitor::Visitor;

#[derive(Template)]
#[template(path = "console/exports.html", whitespace = "minimize")]
struct ExportsPage {
    frame: Frame,
    channel: Heading,
    exports: Vec<ExportCard>,
    /// True while one of them is being written.
    is_running: bool,
    /// Sentence about for whom they are, for how long, and how many.
    about: String,
}

/// Export, as the page shows it.
struct ExportCard {
    /// Kind of file.
    title: String,
    /// Times of sending.
    span: String,
    /// Kind and times, which name it in the labels of its actions.
    named: String,
    /// Sentence about its state.
    text: String,
    /// Messages that are written, and all of them; `None` when it has ended.
    progress: Option<(i64, i64)>,
    /// True if it could not be written.
    has_failed: bool,
    /// Path of its document once it is completed.
    document: Option<String>,
    /// Label of the button that deletes it, which cancels it while it is written for the first time.
    drop: String,
    id: String,
}

/// Form of a button of the page.
#[derive(Debug, Deserialize)]
pub(super) struct DeletionForm {
    export: String,
}

/// Shows the visitor's exports of a channel.
pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let exports = console.services.export_jobs.list(&access).await?;
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Messages).await?;
    let dates = dates(&console, &visitor, &access).await?;
    let card = |export| ExportCard::new(export, &channel.path, dates);
    let exports: Vec<_> = exports.into_iter().map(card).collect();
    rendered(&ExportsPage {
        about: visitor.language.format("exports-text", &[("count", EXPORTS_OF_PERSON.into())]),
        is_running: exports.iter().any(|export| export.progress.is_some()),
        exports,
        frame: visitor.frame(visitor.language.text("exports-title")),
        channel,
    })
}

/// Begins an export; the form again for what cannot be exported.
pub(super) async fn begin(
    State(console): State<Console>,
    Path(channel): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<ExportForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let request = match form.request(visitor.language) {
        Ok(request) => request,
        Err(mistakes) => return shown(&console, &visitor, &access, (form, mistakes)).await,
    };
    console.services.export_jobs.begin(&access, request).await?;
    Ok(Redirect::to(&path_of(&access)).into_response())
}

/// Deletes an export. One that is gone already is deleted, too.
pub(super) async fn delete(
    State(console): State<Console>,
    Path(channel): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<DeletionForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    match console.services.export_jobs.delete(&access, &form.export).await {
        Ok(()) | Err(ServiceError::NotFound) => Ok(Done::Deleted.at(&path_of(&access))),
        Err(error) => Err(error.into()),
    }
}

/// Sends the document of a completed export. While it is not completed, as when it is written again,
/// the list says so.
pub(super) async fn document(
    State(console): State<Console>,
    visitor: Visitor,
    Path((channel, export)): Path<(String, String)>,
    asked: HeaderMap,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    match console.services.export_jobs.document(&access, &export).await {
        Ok(document) => Ok(download(&console.services.export_jobs, document, &asked)),
        Err(ServiceError::Conflict(_)) => Ok(Redirect::to(&path_of(&access)).into_response()),
        Err(ServiceError::NotFound) => Err(PageError::NoExport),
        Err(error) => Err(error.into()),
    }
}

fn path_of(access: &ChannelAccess<Member, ReadMessages>) -> String {
    format!("{}/exports", chatkeep_view::channel_path(access.without_reading()))
}

impl ExportCard {
    fn new(export: ExportJob, channel: &str, dates: Dates) -> Self {
        let language = dates.language;
        let format = Format::parse(&export.format);
        let label = FORMATS.iter().find(|(known, ..)| Some(*known) == format);
        let is_done = export.status == JobStatus::Done;
        let open = matches!(export.status, JobStatus::Pending | JobStatus::Running);
        // One that is written again was there before.
        let is_new = open && export.expires_at.is_none();
        let document = || format!("{channel}/exports/{}/document", segment(&export.id));
        let title = label.map_or_else(String::new, |(_, label, _)| language.text(label));
        let span = span(&export, dates);
        Self {
            named: [&*title, &*span].join(&language.text("list-comma")),
            title,
            span,
            text: text(&export, dates),
            progress: open.then_some((export.done.min(export.total), export.total.max(1))),
            has_failed: export.status == JobStatus::Failed,
            document: is_done.then(document),
            drop: language.text(if is_new { "cancel" } else { "delete" }),
            id: export.id,
        }
    }
}

/// Returns the days of an export.
fn span(export: &ExportJob, dates: Dates) -> String {
    let last = dates.date(dates.day(export.before.minus(std::time::Duration::from_millis(1))));
    match export.from {
        Some(from) => {
            let first = dates.date(dates.day(from));
            let days = [("first", Value::from(&first)), ("last", Value::from(&last))];
            dates.language.format("exports-days", &days)
        }
        None => dates.language.format("exports-until", &[("last", Value::from(&last))]),
    }
}

fn text(export: &ExportJob, dates: Dates) -> String {
    let language: Language = dates.language;
    match export.status {
        JobStatus::Pending | JobStatus::Running => {
            let counts = [("done", export.done.into()), ("total", export.total.into())];
            // Completed before: a message in it was changed or removed since.
            let key = match export.expires_at {
                Some(_) => "exports-again",
                None if export.done == 0 => "exports-waiting",
                None => "exports-running",
            };
            language.format(key, &counts)
        }
        JobStatus::Failed if export.was_interrupted() => language.text("exports-given-up"),
        JobStatus::Failed => language.text("exports-failed"),
        JobStatus::Done => {
            let (bytes, end) = (size(export.bytes), export.expires_at);
            let end = end.map(|end| dates.moment(end)).unwrap_or_default();
            let values = [
                ("total", export.total.into()),
                ("size", Value::from(&bytes)),
                ("end", Value::from(&end)),
            ];
            language.format("exports-ready", &values)
        }
    }
}
