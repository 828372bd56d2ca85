//! Page of operators about the set-up of the bots at LINE, and setting of their webhook addresses.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_i18n::Language;
use chatkeep_services::bot_setup::{BotReport, NoSuchBot, SetupFinding, Severity};
use serde::Deserialize;

use super::Console;
use super::dates::Dates;
use super::error::PageError;
use super::form::{Done, FormErrors, SubmittedForm};
use super::frame::{Frame, rendered, rendered_as};
use super::visitor::Visitor;

/// Path of the page.
const PATH: &str = "/console/operator/line";

/// Form of a bot whose address is to be set; without one, all are checked again.
#[derive(Debug, Deserialize)]
pub(super) struct BotForm {
    bot: Option<String>,
}

#[derive(Template)]
#[template(path = "console/operator_line.html", whitespace = "minimize")]
struct LineSetupPage {
    frame: Frame,
    /// Sentence about the time of the check.
    checked_at: String,
    bots: Vec<BotSection>,
    errors: FormErrors,
}

/// Section about a bot.
struct BotSection {
    name: String,
    findings: Vec<FindingRow>,
    /// Sentence about what setting the webhook address does; `None` where it mends nothing.
    fix: Option<String>,
}

struct FindingRow {
    tag: String,
    /// True for what needs attention.
    warns: bool,
    sentence: String,
    place: Option<String>,
}

impl From<NoSuchBot> for PageError {
    fn from(_: NoSuchBot) -> Self {
        Self::Input
    }
}

pub(super) async fn line(
    State(console): State<Console>,
    visitor: Visitor,
) -> Result<Response, PageError> {
    shown(&console, &visitor, FormErrors::default()).await
}

pub(super) async fn set_webhook(
    State(console): State<Console>,
    SubmittedForm { visitor, form }: SubmittedForm<BotForm>,
) -> Result<Response, PageError> {
    let operator = visitor.operator(&console)?;
    let Some(bot) = form.bot else {
        console.services.bot_setup.forget_check(&operator).await;
        return Ok(Redirect::to(PATH).into_response());
    };
    let done = console.services.bot_setup.set_webhooks(&operator, Some(&bot)).await?;
    let language = visitor.language;
    let errors = match done.first().and_then(|report| report.findings.first()) {
        Some(SetupFinding::WebhookSet { .. }) => return Ok(Done::Saved.at(PATH)),
        Some(failure) => FormErrors::all(failure.sentence(language)),
        None => FormErrors::all(language.text("operator-line-unset")),
    };
    shown(&console, &visitor, errors).await
}

/// Renders what LINE said last or says now; after a refused form with the reason.
async fn shown(
    console: &Console,
    visitor: &Visitor,
    errors: FormErrors,
) -> Result<Response, PageError> {
    let operator = visitor.operator(console)?;
    let checked = console.services.bot_setup.recent_check(&operator).await;
    let language = visitor.language;
    let zone = console.services.channels.default_zone();
    let dates = Dates { language, zone, now: console.clock.now() };
    let time = dates.zoned(checked.at);
    let page = LineSetupPage {
        frame: visitor.frame(language.text("operator-line-title")),
        checked_at: language.format("operator-line-checked", &[("time", (&time).into())]),
        bots: checked.reports.iter().map(|report| BotSection::new(report, language)).collect(),
        errors,
    };
    let status = page.errors.status();
    if status == StatusCode::OK { rendered(&page) } else { Ok(rendered_as(status, &page)) }
}

impl BotSection {
    /// Returns the section of a bot, with the gravest findings first.
    fn new(report: &BotReport, language: Language) -> Self {
        let mut findings: Vec<_> = report.findings.iter().collect();
        findings.sort_by_key(|finding| finding.severity());
        let fix = |address: &str| {
            language.format("operator-line-fix-text", &[("address", address.into())])
        };
        Self {
            name: report.bot.clone(),
            findings: findings.iter().map(|finding| FindingRow::new(finding, language)).collect(),
            fix: report.mendable_address().map(fix),
        }
    }
}

impl FindingRow {
    fn new(finding: &SetupFinding, language: Language) -> Self {
        let severity = finding.severity();
        Self {
            tag: language.text(&format!("operator-line-is-{}", severity.name())),
            warns: severity < Severity::Look,
            sentence: finding.sentence(language),
            place: finding.place(language),
        }
    }
}
