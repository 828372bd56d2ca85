//! Export of a channel's messages: the choice of what and how, and the file.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderName, StatusCode};
use axum::response::Response;
use chatkeep_http::attachment;
use chatkeep_i18n::Language;
use chatkeep_services::access::{ChannelAccess, Member, ReadMessages};
use chatkeep_services::exports::ExportRequest;
use chatkeep_transfer::Format;
use chatkeep_view::when::When;
use chrono::NaiveDate;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::Console;
use super::assets::ASSETS;
use super::channel::{Heading, Tab};
use super::dates::{NoDay, day_of};
use super::error::PageError;
use super::frame::{Frame, rendered_as};
use super::visitor::{Asked, Visitor};

/// Header of the number of messages in a file, for showing progress.
const COUNT: HeaderName = HeaderName::from_static("x-message-count");

/// Form of an export. Empty days stand for no limit.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ExportForm {
    #[serde(default, deserialize_with = "format")]
    format: Option<Format>,
    #[serde(default)]
    from: String,
    #[serde(default)]
    to: String,
}

fn format<'de, D: Deserializer<'de>>(name: D) -> Result<Option<Format>, D::Error> {
    let name = String::deserialize(name)?;
    Format::parse(&name).map(Some).ok_or_else(|| D::Error::custom("there is no such format"))
}

/// Errors of a form: keys of the sentences beside the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mistakes {
    from: Option<&'static str>,
    to: Option<&'static str>,
}

#[derive(Template)]
#[template(path = "console/export.html", whitespace = "minimize")]
struct ExportPage {
    frame: Frame,
    channel: Heading,
    form: ExportForm,
    formats: Vec<FormatChoice>,
    wrong_from: Option<String>,
    wrong_to: Option<String>,
    /// Sentence about the progress, with names in braces for the figures.
    progress: String,
    ready: String,
    script: &'static str,
}

/// Format to choose.
struct FormatChoice {
    value: &'static str,
    label: String,
    hint: String,
    chosen: bool,
}

/// Shows the form.
pub(super) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(form): Asked<ExportForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    shown(&console, &visitor, &access, (form, Mistakes::default())).await
}

/// Sends the file; the form again for what cannot be exported.
pub(super) async fn file(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
    Asked(form): Asked<ExportForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Member, ReadMessages>(&console, &channel).await?;
    let request = match form.request(visitor.language) {
        Ok(request) => request,
        Err(mistakes) => return shown(&console, &visitor, &access, (form, mistakes)).await,
    };
    let exports = &console.services.exports;
    let count = exports.count(&access, request).await?;
    let document = exports.document(&access, request).await?;
    let name = format!("messages.{}", request.format.extension());
    let mut response = attachment(document, request.format.content_type(), &name);
    response.headers_mut().insert(COUNT, count.into());
    Ok(response)
}

/// Renders the form with what is wrong in it.
pub(super) async fn shown(
    console: &Console,
    visitor: &Visitor,
    access: &ChannelAccess<Member, ReadMessages>,
    (form, mistakes): (ExportForm, Mistakes),
) -> Result<Response, PageError> {
    let language = visitor.language;
    let text = |key: Option<&str>| key.map(|key| language.text(key));
    // The script puts the figures in.
    let figure = |key| {
        let names = ["done", "total", "size"].map(|name| (name, format!("{{{name}}}")));
        let values = names.each_ref().map(|(name, value)| (*name, value.into()));
        language.format(key, &values)
    };
    let page = ExportPage {
        frame: visitor.frame(language.text("export-title")),
        channel: Heading::of_page(console, visitor, access, Tab::Messages).await?,
        formats: FORMATS
            .map(|(format, label, hint)| FormatChoice {
                value: format.extension(),
                label: language.text(label),
                hint: language.text(hint),
                chosen: format == form.format(),
            })
            .into(),
        form,
        wrong_from: text(mistakes.from),
        wrong_to: text(mistakes.to),
        progress: figure("export-progress"),
        ready: figure("export-ready"),
        script: &ASSETS.export.path,
    };
    let wrong = mistakes != Mistakes::default();
    Ok(rendered_as(if wrong { StatusCode::BAD_REQUEST } else { StatusCode::OK }, &page))
}

/// Formats with their labels, the one for people first.
pub(super) const FORMATS: [(Format, &str, &str); 3] = [
    (Format::Html, "export-html", "export-html-hint"),
    (Format::Csv, "export-csv", "export-csv-hint"),
    (Format::Jsonl, "export-jsonl", "export-jsonl-hint"),
];

impl ExportForm {
    /// Returns the chosen format; the one for reading without a choice.
    fn format(&self) -> Format {
        self.format.unwrap_or(Format::Html)
    }

    /// Returns the export of the form. The last day is in it.
    pub(super) fn request(&self, language: Language) -> Result<ExportRequest, Mistakes> {
        let day = |text: &str| day_of(text).map_err(|NoDay| "export-bad-date");
        let end = |day: NaiveDate| day.succ_opt().ok_or("export-bad-date");
        let (from, to) = (day(&self.from), day(&self.to));
        let ends = to.and_then(|to| to.map(end).transpose());
        match (from, ends) {
            (Ok(Some(from)), Ok(Some(end))) if end <= from => {
                Err(Mistakes { to: Some("export-bad-order"), ..Mistakes::default() })
            }
            (Ok(from), Ok(end)) => {
                let (from, to) = (from.map(When::of_day), end.map(When::of_day));
                Ok(ExportRequest { format: self.format(), from, to, language })
            }
            (from, to) => Err(Mistakes { from: from.err(), to: to.err() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(from: &str, to: &str) -> Result<ExportRequest, Mistakes> {
        let (from, to) = (from.to_owned(), to.to_owned());
        ExportForm { format: Some(Format::Csv), from, to }.request(Language::Thai)
    }

    #[test]
    fn the_last_day_is_exported_too() {
        let request = request("2024-02-28", "2024-02-29").unwrap();
        assert_eq!(request.format, Format::Csv);
        assert_eq!(request.from, When::parse("2024-02-28"));
        assert_eq!(request.to, When::parse("2024-03-01"));
    }

    #[test]
    fn mistakes_are_told_beside_their_field() {
        let mistakes = |from, to| request(from, to).map(|_| ()).unwrap_err();
        let order = Some("export-bad-order");
        assert_eq!(mistakes("2024-03-02", "2024-03-01"), Mistakes { from: None, to: order });
        let date = Some("export-bad-date");
        assert_eq!(mistakes("2024-13-01", ""), Mistakes { from: date, to: None });
        assert_eq!(mistakes("x", "y"), Mistakes { from: date, to: date });
        // A bound beyond the calendar is no bound.
        assert_eq!(mistakes("+10000-01-01", "+10000-01-02"), Mistakes { from: date, to: date });
        let last = request("9999-12-31", "9999-12-31").unwrap();
        let ends = [last.from, last.to].map(|when| when.unwrap().within(chrono_tz::UTC).unwrap());
        assert!(ends[0] < ends[1]);
        assert!(request("", "").is_ok() && request("2024-03-01", "2024-03-01").is_ok());
    }
}
