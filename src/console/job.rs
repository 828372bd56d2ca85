//! Deletions that take a while: a page that shows how far they are.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_http::is_local;
use chatkeep_i18n::{Language, Value};
use chatkeep_services::ServiceError;
use chatkeep_services::access::{Member, ReadMessages};
use chatkeep_store::{ChannelJob, JobStatus};
use chatkeep_view::segment;
use serde::Deserialize;

use super::Console;
use super::channel::{Heading, Tab};
use super::error::PageError;
use super::frame::{Frame, rendered};
use super::labels::size;
use super::visitor::{Asked, Visitor};

#[derive(Debug, Default, Deserialize)]
pub(super) struct JobQuery {
    /// Path to go back to.
    back: Option<String>,
}

#[derive(Template)]
#[template(path = "console/job.html", whitespace = "minimize")]
struct JobPage {
    frame: Frame,
    channel: Heading,
    title: String,
    text: String,
    /// Messages that are done, and all of them; `None` when it has ended.
    progress: Option<(i64, i64)>,
    back: String,
}

/// Leads to the page of a job, and from there back to `back`.
pub(super) fn begun(job: &ChannelJob, channel: &str, back: &str) -> Response {
    let back: String = url::form_urlencoded::byte_serialize(back.as_bytes()).collect();
    let to = format!("{channel}/jobs/{}?back={back}", segment(&job.id));
    Redirect::to(&to).into_response()
}

pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path((channel, id)): Path<(String, String)>,
    Asked(query): Asked<JobQuery>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let reach = console
        .services
        .access
        .reaches(visitor.caller()?, access.without_reading().clone())
        .await?;
    let job = match console.services.deletion.job(&reach, &id).await {
        Err(ServiceError::NotFound) => return Err(PageError::NoPage),
        job => job?,
    };
    let channel = Heading::of_page(&console, &visitor, &access, Tab::Settings).await?;
    let (title, text) = title_and_text(&job, visitor.language);
    let running = matches!(job.status, JobStatus::Pending | JobStatus::Running);
    let back = query.back.filter(|back| is_local(back)).unwrap_or_else(|| channel.path.clone());
    rendered(&JobPage {
        frame: visitor.frame(title.clone()),
        progress: running.then_some((job.done.min(job.total), job.total.max(1))),
        title,
        text,
        back,
        channel,
    })
}

/// Returns what there is to tell about a job: a title, and a sentence.
pub(super) fn title_and_text(job: &ChannelJob, language: Language) -> (String, String) {
    let freed = if job.freed_bytes > 0 { size(job.freed_bytes) } else { "0\u{a0}KB".to_owned() };
    let values =
        [("done", job.done.into()), ("total", job.total.into()), ("size", Value::from(&freed))];
    match job.status {
        JobStatus::Pending | JobStatus::Running if job.error.is_some() => {
            (language.text("job-delayed-title"), language.format("job-delayed-text", &values))
        }
        JobStatus::Pending | JobStatus::Running => {
            (language.text("job-running-title"), language.format("job-running-text", &values))
        }
        JobStatus::Done => {
            (language.text("job-done-title"), language.format("job-done-text", &values))
        }
        JobStatus::Failed => {
            (language.text("job-failed-title"), language.format("job-failed-text", &values))
        }
    }
}
