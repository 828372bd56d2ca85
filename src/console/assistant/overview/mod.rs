//! Overview of a chat's assistant: its switches, how it recognises questions, and its figures.

mod choices;
mod form;
#[cfg(test)]
mod tests;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_i18n::{Language, Value, grouped};
use chatkeep_services::access::{Admin, ReadMessages, WriteAssistant};
use chatkeep_services::assistant::{AssistantFigures, AssistantSettings, SettingsAccess};
use url::form_urlencoded;

pub(super) use self::form::OverviewForm;

use self::choices::{Choices, Switch, cooldowns, matches, modes, scopes, strictnesses, switches};
use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink};
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, SubmittedForm};
use super::super::frame::{Frame, rendered_as};
use super::super::visitor::Visitor;
use super::Section;
use super::idle::{IdleNotice, notices};
use super::seen::SeenValues;
use super::words::mode_key;

#[derive(Template)]
#[template(path = "console/assistant_overview.html", whitespace = "minimize")]
struct OverviewPage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    errors: FormErrors,
    version: i64,
    seen: SeenValues,
    cards: Vec<Card>,
    not_given: Option<NotGiven>,
    idle: Vec<IdleNotice>,
    master: Switch,
    switches: Vec<Switch>,
    modes: Choices,
    matches: Choices,
    strictnesses: Choices,
    scopes: Choices,
    cooldowns: Choices,
    /// Sentence about a mode that the plan replaces.
    replaced: Option<String>,
}

/// Replies that were not given, by reason.
struct NotGiven {
    heading: String,
    reasons: Vec<String>,
}

/// Figure that leads to its page.
struct Card {
    href: String,
    number: String,
    label: String,
}

pub(crate) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let settings = console.services.assistant.settings(&access).await?;
    let draft = OverviewForm::in_query(visitor.address.query());
    let form = draft.unwrap_or_else(|| OverviewForm::of(&settings));
    shown(&console, &visitor, &access, (&form, &settings), FormErrors::default()).await
}

pub(crate) async fn save(
    State(console): State<Console>,
    Path(channel): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<OverviewForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    if form.act == "compare" {
        let path = chatkeep_view::channel_path(access.channel());
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("mode", form.mode.name())
            .append_pair("match", form.keyword_match.name())
            .extend_pairs(form.strictness.map(|one| ("strictness", one.name())))
            .append_pair("overview", &form.encoded())
            .finish();
        return Ok(Redirect::to(&format!("{path}/assistant/switch?{query}")).into_response());
    }
    saved(&console, &visitor, &access, &form).await
}

/// Saves a form, or returns the page with what is wrong with it.
pub(super) async fn saved(
    console: &Console,
    visitor: &Visitor,
    access: &SettingsAccess,
    form: &OverviewForm,
) -> Result<Response, PageError> {
    let service = &console.services.assistant;
    let expected = [form.version_for(&service.settings(access).await?)];
    match service.change_settings(access, form.change(), Some(&expected)).await {
        Ok(_) => {
            let path = chatkeep_view::channel_path(access.channel());
            Ok(Done::Saved.at(&format!("{path}/assistant")))
        }
        Err(error) => {
            let errors = FormErrors::of(error, visitor.language)?;
            let settings = service.settings(access).await?;
            shown(console, visitor, access, (form, &settings), errors).await
        }
    }
}

/// Returns the page with the values of `form`, and the present ones where they differ.
async fn shown(
    console: &Console,
    visitor: &Visitor,
    access: &SettingsAccess,
    (form, settings): (&OverviewForm, &AssistantSettings),
    errors: FormErrors,
) -> Result<Response, PageError> {
    let language = visitor.language;
    let channel = Heading::of_page(console, visitor, access, Tab::Assistant).await?;
    let history =
        visitor.channel::<Admin, ReadMessages>(console, access.channel().as_str()).await?;
    let figures = console.services.assistant.assistant_figures(&history).await?;
    let config = &settings.config;
    let replaced = (config.qa.mode != settings.effective_mode).then(|| {
        let mode = language.text(mode_key(settings.effective_mode));
        language.format("overview-replaced", &[("mode", Value::from(&mode))])
    });
    let [master, switches @ ..] = switches(form, config, language);
    // The next attempt is against what is shown now.
    let filled = if errors.is_empty() { form.clone() } else { OverviewForm::of(settings) };
    let page = OverviewPage {
        frame: visitor.frame(language.text("assistant-overview")),
        sections: Section::Overview.links(&channel, visitor),
        cards: cards(&figures, &channel.path, language),
        not_given: not_given(&figures.not_given, language),
        idle: notices(console, visitor, access, &channel, Section::Overview).await?,
        channel,
        version: filled.version,
        seen: filled.seen,
        master,
        switches: switches.into(),
        modes: modes(form, settings, language),
        matches: matches(form, config, language),
        strictnesses: strictnesses(form, config, language),
        scopes: scopes(form, config, language),
        cooldowns: cooldowns(form, config, language),
        replaced,
        errors,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

fn cards(figures: &AssistantFigures, channel: &str, language: Language) -> Vec<Card> {
    let card = |path: &str, number: Option<i64>, label| Card {
        href: format!("{channel}/assistant/{path}"),
        number: number.map_or_else(|| "–".to_owned(), grouped),
        label: language.text(label),
    };
    let unanswered = figures.unanswered.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    vec![
        card("rules", Some(figures.rules), "overview-card-rules"),
        card("rules?sort=hits", Some(figures.answers), "overview-card-answers"),
        card("unanswered", unanswered, "overview-card-unanswered"),
    ]
}

/// Returns what is said about replies that were not given; `None` if there are none.
fn not_given(counts: &[(ReplyFailureReason, i64)], language: Language) -> Option<NotGiven> {
    let said = |key: &str, count: i64| language.format(key, &[("count", Value::from(count))]);
    let reason = |(reason, count): &(ReplyFailureReason, i64)| {
        let key = match reason {
            ReplyFailureReason::ExpiredToken => "overview-not-given-late",
            ReplyFailureReason::Quota => "overview-not-given-quota",
            ReplyFailureReason::Unavailable => "overview-not-given-unavailable",
            ReplyFailureReason::PlatformError => "overview-not-given-refused",
            ReplyFailureReason::Interrupted => "overview-not-given-interrupted",
        };
        said(key, *count)
    };
    let all = counts.iter().map(|(_, count)| count).sum();
    (all > 0).then(|| NotGiven {
        heading: said("overview-not-given", all),
        reasons: counts.iter().map(reason).collect(),
    })
}
