//! Comparison: what another mode, or an edited rule, would have answered to what was said.

mod query;
#[cfg(test)]
mod tests;
mod view;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_core::assistant::{KeywordMatch, QaMode, Strictness};
use chatkeep_core::id::RuleId;
use chatkeep_services::access::{Admin, ReadMessages, WriteAssistant};
use chatkeep_services::assistant::{Progress, RuleUpdate, SettingsAccess};
use chatkeep_view::{channel_path, segment};
use serde::Deserialize;
use url::form_urlencoded;

use self::query::SwitchQuery;
use self::view::{SwitchResult, View};
use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink, dates};
use super::super::error::PageError;
use super::super::form::{FormErrors, SubmittedForm};
use super::super::frame::{Frame, rendered_as};
use super::super::visitor::Visitor;
use super::Section;
use super::overview::{OverviewForm, saved};
use super::rule::saved_form;
use super::rule_form::RuleForm;
use super::rules::rules_path;
use super::words::{match_key, mode_key, strictness_key};

/// Maximum length of a message in characters.
const SAID: usize = 240;
/// Maximum length of an address in bytes.
const ADDRESS: usize = 8_000;

/// Form that switches.
#[derive(Debug, Deserialize)]
pub(crate) struct SwitchForm {
    /// Version of the settings that a page of an earlier version was made of.
    version: i64,
    mode: QaMode,
    #[serde(rename = "match")]
    keyword_match: KeywordMatch,
    /// Absent in a page of an earlier version.
    strictness: Option<Strictness>,
    /// Form of the settings that is saved with it; empty in a page of an earlier version.
    #[serde(default)]
    overview: String,
}

#[derive(Template)]
#[template(path = "console/assistant_switch.html", whitespace = "minimize")]
struct SwitchPage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    errors: FormErrors,
    /// Name of what is compared with today's settings.
    other: String,
    modes: Vec<(&'static str, String, bool)>,
    matches: Vec<(&'static str, String, bool)>,
    strictnesses: Vec<(&'static str, String, bool)>,
    /// Fields of the rule that is compared, or of the form that the page was opened from.
    draft: Vec<(&'static str, String)>,
    /// Forms that go on with that rule.
    edited: Option<EditedRule>,
    /// Address of the form that the page was opened from, with what was chosen there.
    unsaved: Option<String>,
    /// Percent of the work, while it goes on.
    running: Option<u8>,
    result: Option<SwitchResult>,
}

/// Edited rule that is compared, which the page saves or leads back to.
struct EditedRule {
    /// Address of the rule's page, to which its form is sent.
    address: String,
    /// Address of the rule's page with what was typed.
    edit: String,
    /// Form as it was typed; `None` where its answer is not complete.
    form: Option<RuleForm>,
    is_new: bool,
}

pub(crate) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    let query = visitor.address.query().unwrap_or_default();
    let query: SwitchQuery = serde_html_form::from_str(query).map_err(|_| PageError::Input)?;
    shown(&console, &visitor, &channel, query).await
}

pub(crate) async fn switch(
    State(console): State<Console>,
    Path(channel): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<SwitchForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let SwitchForm { version, mode, keyword_match, strictness, overview } = form;
    let settings = console.services.assistant.settings(&access).await?;
    let form = OverviewForm::decoded(&overview)
        .unwrap_or_else(|| OverviewForm::of_version(version, &settings));
    let form = form.with(Some(mode), Some(keyword_match), strictness);
    saved(&console, &visitor, &access, &form).await
}

async fn shown(
    console: &Console,
    visitor: &Visitor,
    channel: &str,
    query: SwitchQuery,
) -> Result<Response, PageError> {
    let settings_access = visitor.channel::<Admin, WriteAssistant>(console, channel).await?;
    let access = visitor.channel::<Admin, ReadMessages>(console, channel).await?;
    let (language, service) = (visitor.language, &console.services.assistant);
    let settings = service.settings(&settings_access).await?;
    let heading = Heading::of_page(console, visitor, &access, Tab::Assistant).await?;
    let dates = dates(console, visitor, &access).await?;
    let page = format!("{}/assistant/switch", heading.path);
    let edited = edited(console, &settings_access, &query).await?;
    let (mut running, mut result, mut errors) = (None, None, FormErrors::default());
    if query.changes(&settings) {
        match service.comparison(&access, query.request()).await {
            Ok(Progress::Running(percent)) => running = Some(percent),
            Ok(Progress::Finished(found)) => {
                let view = View { query: &query, settings: &settings, page: &page, dates };
                result = Some(view.result(console, &access, &found).await?);
            }
            Err(error) => errors = FormErrors::of(error, language)?,
        }
    }
    let page = SwitchPage {
        frame: visitor.frame(language.text("assistant-switch")),
        sections: Section::Switch.links(&heading, visitor),
        unsaved: query.form().map(|form| form.address(&format!("{}/assistant", heading.path))),
        channel: heading,
        other: query.name(&settings, language),
        modes: QaMode::ALL
            .into_iter()
            .map(|mode| {
                let chosen = mode == query.mode.unwrap_or(settings.config.qa.mode);
                (mode.name(), language.text(mode_key(mode)), chosen)
            })
            .collect(),
        matches: KeywordMatch::ALL
            .into_iter()
            .map(|one| {
                let chosen = one == query.keyword_match.unwrap_or(settings.config.qa.keyword_match);
                (one.name(), language.text(match_key(one)), chosen)
            })
            .collect(),
        strictnesses: Strictness::ALL
            .into_iter()
            .map(|one| {
                let chosen = one == query.strictness.unwrap_or(settings.config.qa.strictness);
                (one.name(), language.text(strictness_key(one)), chosen)
            })
            .collect(),
        draft: query.draft(),
        edited,
        running,
        result,
        errors,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

/// Returns the edited rule of a query; `None` where it has none, or the rule is gone.
async fn edited(
    console: &Console,
    access: &SettingsAccess,
    query: &SwitchQuery,
) -> Result<Option<EditedRule>, PageError> {
    if !query.has_rule() {
        return Ok(None);
    }
    let (saved, name) = match &query.rule {
        Some(rule) => {
            let saved = saved_form(console, access, &rule.as_str().into()).await?;
            let Some(saved) = saved else { return Ok(None) };
            (saved, segment(rule))
        }
        None => (RuleForm::default(), "new".to_owned()),
    };
    let address = format!("{}/{name}", rules_path(access.channel()));
    let pairs = query.draft().into_iter().filter(|(name, _)| *name != "rule");
    let draft = form_urlencoded::Serializer::new(String::new())
        .append_pair("draft", "true")
        .extend_pairs(pairs)
        .finish();
    Ok(Some(EditedRule {
        edit: format!("{address}?{draft}"),
        address,
        form: query.texts().map(|texts| texts.over(saved)),
        is_new: query.rule.is_none(),
    }))
}

/// Leads to what a rule as it is being edited would have answered. Absent texts, and an empty answer,
/// stand for the saved ones; of a long answer, its beginning is enough, but cannot be saved from there.
/// `None` if the address would be too long for browsers and proxies. `form` is the one that has the
/// texts.
pub(super) fn compared(
    access: &SettingsAccess,
    rule: Option<&RuleId>,
    texts: RuleUpdate,
    form: &RuleForm,
) -> Option<Response> {
    let mut not_for = texts.not_for.clone().unwrap_or_default();
    if texts.not_for.is_some() && not_for.is_empty() {
        not_for.push(String::new());
    }
    let mut query = SwitchQuery {
        rule: rule.map(|rule| rule.as_str().to_owned()),
        keyword: texts.keywords.unwrap_or_default(),
        question: texts.question.unwrap_or_default(),
        answer: texts.answer.unwrap_or_default(),
        not_for,
        version: form.version,
        seen: form.seen.clone(),
        ..SwitchQuery::default()
    };
    let page = format!("{}/assistant/switch", channel_path(access.channel()));
    if query.address(&page, None, 0).len() > ADDRESS {
        query.answer = query.answer.chars().take(SAID).collect();
        query.cut = String::from("yes");
    }
    let address = query.address(&page, None, 0);
    (address.len() <= ADDRESS).then(|| Redirect::to(&address).into_response())
}
