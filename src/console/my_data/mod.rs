//! Data stored about the visitor themself, by chat: seeing it, saving it, having it erased, and
//! opting out of the backup. Open to everybody who is signed in, also where they may not read.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_core::id::ChannelId;
use chatkeep_http::attachment;
use chatkeep_i18n::Language;
use chatkeep_services::ServiceError;
use chatkeep_services::access::{HasScope, Reaches, ReadMessages, WriteBackup};
use chatkeep_store::ChannelJob;
use chatkeep_transfer::OwnFormat;
use chatkeep_view::segment;
use serde::Deserialize;

use super::Console;
use super::channel::Heading;
use super::error::PageError;
use super::form::{Done, FormErrors, SubmittedForm};
use super::frame::{Frame, rendered, rendered_as};
use super::people::agrees;
use super::visitor::{Asked, Visitor};
use page::{MyDataPage, OwnChannelPage, OwnJob, OwnRow, out_of_all, own_path};

mod page;

/// Path of the list.
const PATH: &str = "/console/my-data";
/// Channels of a page.
const LIMIT: u32 = 50;

#[derive(Debug, Default, Deserialize)]
pub(super) struct OwnListQuery {
    cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct OwnChannelQuery {
    /// Erasure that the page tells about.
    job: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct OwnExportQuery {
    #[serde(default)]
    format: String,
}

/// Form of either page: the button that was pressed, and the typed confirmation.
#[derive(Debug, Default, Deserialize)]
pub(super) struct MyDataForm {
    action: String,
    #[serde(default)]
    typed: String,
}

/// Text typed into a form that was refused, with the errors.
#[derive(Default)]
struct RefusedForm {
    typed: String,
    errors: FormErrors,
}

pub(super) async fn list(
    State(console): State<Console>,
    visitor: Visitor,
    Asked(query): Asked<OwnListQuery>,
) -> Result<Response, PageError> {
    listed(&console, &visitor, query.cursor.as_deref(), RefusedForm::default()).await
}

pub(super) async fn change_all(
    State(console): State<Console>,
    SubmittedForm { visitor, form }: SubmittedForm<MyDataForm>,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<WriteBackup>(&console)?;
    let service = &console.services.my_data;
    let done = match form.action.as_str() {
        "out" => service.set_opted_in_everywhere(&access, false).await.map(|()| Done::Saved),
        "in" => service.set_opted_in_everywhere(&access, true).await.map(|()| Done::Saved),
        "erase" => {
            let frame = visitor.frame(String::new());
            if !agrees(&form.typed, &own_name(&frame)) {
                let errors = mistyped(visitor.language);
                let refused = RefusedForm { typed: form.typed, errors };
                return listed(&console, &visitor, None, refused).await;
            }
            service.erase_everywhere(&access).await.map(|_| Done::Erasing)
        }
        _ => return Err(PageError::Input),
    };
    match done {
        Ok(done) => Ok(done.at(PATH)),
        Err(error) => {
            let errors = errors_of(error, visitor.language)?;
            let refused = RefusedForm { errors, ..RefusedForm::default() };
            listed(&console, &visitor, None, refused).await
        }
    }
}

pub(super) async fn one(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(query): Asked<OwnChannelQuery>,
) -> Result<Response, PageError> {
    shown(&console, &visitor, &channel, query.job.as_deref(), RefusedForm::default()).await
}

pub(super) async fn change(
    State(console): State<Console>,
    Path(channel): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<MyDataForm>,
) -> Result<Response, PageError> {
    let access = reaches::<WriteBackup>(&console, &visitor, &channel).await?;
    let (service, path) = (&console.services.my_data, own_path(&access.channel));
    let done = match form.action.as_str() {
        "out" => service.set_opted_in(&access, false).await.map(|()| Done::Saved.at(&path)),
        "in" => service.set_opted_in(&access, true).await.map(|()| Done::Saved.at(&path)),
        "erase" => {
            let named = Heading::of_own(&console, &visitor, &access).await?.name;
            if !agrees(&form.typed, &named) {
                let errors = mistyped(visitor.language);
                let refused = RefusedForm { typed: form.typed, errors };
                return shown(&console, &visitor, &channel, None, refused).await;
            }
            let leads = |job: ChannelJob| format!("{path}?job={}", segment(&job.id));
            service.erase(&access).await.map(|job| Redirect::to(&leads(job)).into_response())
        }
        _ => return Err(PageError::Input),
    };
    match done {
        Ok(response) => Ok(response),
        Err(error) => {
            let errors = errors_of(error, visitor.language)?;
            let refused = RefusedForm { errors, ..RefusedForm::default() };
            shown(&console, &visitor, &channel, None, refused).await
        }
    }
}

/// Sends everything of the visitor's as a file.
pub(super) async fn file(
    State(console): State<Console>,
    visitor: Visitor,
    Asked(query): Asked<OwnExportQuery>,
) -> Result<Response, PageError> {
    let format = match query.format.as_str() {
        "html" => OwnFormat::Html,
        "json" => OwnFormat::Json,
        _ => return Err(PageError::Input),
    };
    let access = visitor.scoped::<ReadMessages>(&console)?;
    let document = console.services.my_data.export(&access, format, visitor.language).await?;
    let name = format!("my-data.{}", format.extension());
    Ok(attachment(document, format.content_type(), &name))
}

/// Renders the list; after a refused form with what was typed.
async fn listed(
    console: &Console,
    visitor: &Visitor,
    cursor: Option<&str>,
    refused: RefusedForm,
) -> Result<Response, PageError> {
    let access = visitor.scoped::<ReadMessages>(console)?;
    let own = console.services.my_data.page(&access, LIMIT, cursor).await?;
    let language = visitor.language;
    let frame = visitor.frame(language.text("my-data-title"));
    let channels: Vec<_> = own.channels.iter().map(|own| OwnRow::new(own, visitor)).collect();
    let page = MyDataPage {
        out: out_of_all(&channels),
        channels,
        next: own.next.map(|cursor| format!("{PATH}?cursor={cursor}")),
        kept: own.kept_everywhere,
        name: own_name(&frame),
        typed: refused.typed,
        errors: refused.errors,
        frame,
    };
    let status = page.errors.status();
    if status == StatusCode::OK { rendered(&page) } else { Ok(rendered_as(status, &page)) }
}

/// Renders the page of a channel; after a refused form with what was typed.
async fn shown(
    console: &Console,
    visitor: &Visitor,
    channel: &str,
    job: Option<&str>,
    refused: RefusedForm,
) -> Result<Response, PageError> {
    let access = reaches::<ReadMessages>(console, visitor, channel).await?;
    let own = console.services.my_data.one(&access).await?;
    let zone = own.channel.zone(console.services.channels.default_zone());
    let job = match job {
        Some(id) => Some(erasure(console, visitor, channel, id).await?),
        None => console.services.my_data.running_erasure(&access).await?,
    };
    let job = job.map(|job| OwnJob::new(&job, visitor.language));
    let running = job.as_ref().is_some_and(|job| job.progress.is_some());
    // Reading everything again and again would slow the erasure down.
    let stored =
        if running { None } else { Some(console.services.my_data.messages(&access).await?) };
    let page = OwnChannelPage::new(&own, stored, visitor, (console.clock.now(), zone));
    let RefusedForm { typed, errors } = refused;
    let page = OwnChannelPage { job, typed, errors, ..page };
    let status = page.errors.status();
    if status == StatusCode::OK { rendered(&page) } else { Ok(rendered_as(status, &page)) }
}

/// Returns an erasure of the visitor's.
async fn erasure(
    console: &Console,
    visitor: &Visitor,
    channel: &str,
    id: &str,
) -> Result<ChannelJob, PageError> {
    let reach = reaches::<WriteBackup>(console, visitor, channel).await?;
    match console.services.deletion.job(&reach, id).await {
        Err(ServiceError::NotFound) => Err(PageError::NoPage),
        job => Ok(job?),
    }
}

async fn reaches<S: HasScope>(
    console: &Console,
    visitor: &Visitor,
    channel: &str,
) -> Result<Reaches<S>, PageError> {
    let caller = visitor.caller()?;
    Ok(console.services.access.reaches(caller, ChannelId::from(channel)).await?)
}

/// Returns the sentences about a refused change. Nothing conflicts but opting in too often.
fn errors_of(error: ServiceError, language: Language) -> Result<FormErrors, PageError> {
    match error {
        ServiceError::Conflict(_) => Ok(FormErrors::all(language.text("my-data-too-often"))),
        error => FormErrors::of(error, language),
    }
}

fn mistyped(language: Language) -> FormErrors {
    FormErrors::at("/typed", language.text("person-erase-mistyped"))
}

/// Returns the name that the visitor is shown with.
fn own_name(frame: &Frame) -> String {
    frame.person.as_ref().map(|person| person.name.clone()).unwrap_or_default()
}

impl Heading {
    /// Returns the heading of a channel for somebody whom it knows.
    ///
    /// # Errors
    /// [`ServiceError::PermissionDenied`] for others.
    async fn of_own(
        console: &Console,
        visitor: &Visitor,
        access: &Reaches<WriteBackup>,
    ) -> Result<Self, ServiceError> {
        let caller = access.caller.clone();
        let reads = console.services.access.reaches(caller, access.channel.clone()).await?;
        let own = console.services.my_data.one(&reads).await?;
        Ok(Self::new(&own.channel, visitor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opting_in_too_often_is_told() {
        let language = Language::English;
        let errors = errors_of(ServiceError::Conflict("too often"), language).unwrap();
        assert_eq!(errors.whole, Some(language.text("my-data-too-often")));
        let errors = errors_of(ServiceError::Unavailable, language).unwrap();
        assert_eq!(errors.whole, Some(language.text("form-busy")));
    }
}
