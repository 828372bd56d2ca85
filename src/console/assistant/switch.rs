//! Before you switch: what another mode, or an edited rule, would have answered to what was said.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_core::assistant::{KeywordMatch, QaMode, RuleDraft};
use chatkeep_core::id::RuleId;
use chatkeep_i18n::{Language, Value};
use chatkeep_store::ReplySource;
use serde::Deserialize;
use url::form_urlencoded;

use super::super::Console;
use super::super::bubble::{hue, initial, name_of, shortened, summary};
use super::super::channel::{Heading, Tab, TabLink, dates};
use super::super::dates::Dates;
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, Posted};
use super::super::frame::{Frame, rendered_as};
use super::super::visitor::Visitor;
use super::Section;
use super::overview::{MODES, match_key, match_name, mode_key, mode_name};
use crate::services::access::{Admin, ReadMessages, WriteAssistant};
use crate::services::assistant::{
    AssistantChange, AssistantSettings, ComparedAnswer, ComparedMessage, Comparison,
    ComparisonRequest, Difference, HistoryAccess, Progress, QaChange, RuleEdit, SettingsAccess,
};
use crate::view::{channel_path, message_path, segment};

/// Messages of a page.
const SIZE: usize = 20;
/// Maximum length of a message in characters.
const SAID: usize = 240;
/// Asks a browser to load the page again, with or without script.
pub(super) const REFRESH: HeaderName = HeaderName::from_static("refresh");
/// Seconds until then.
pub(super) const AGAIN: HeaderValue = HeaderValue::from_static("1");
/// Differences with their names in addresses and the keys of their names.
const DIFFERENCES: [(Difference, &str, &str); 4] = [
    (Difference::New, "new", "switch-new"),
    (Difference::Lost, "lost", "switch-lost"),
    (Difference::Other, "other", "switch-other"),
    (Difference::Same, "same", "switch-same"),
];

/// Settings to compare with: another mode or matching, or an edited rule.
#[derive(Clone, Debug, Default, Deserialize)]
pub(in crate::console) struct SwitchQuery {
    mode: Option<QaMode>,
    #[serde(rename = "match")]
    keyword_match: Option<KeywordMatch>,
    /// Rule that is edited; absent for a new one.
    rule: Option<String>,
    #[serde(default)]
    keyword: Vec<String>,
    #[serde(default)]
    question: String,
    #[serde(default)]
    answer: String,
    /// Only messages with that difference.
    show: Option<String>,
    #[serde(default)]
    page: usize,
}

/// Form that switches.
#[derive(Debug, Deserialize)]
pub(in crate::console) struct SwitchForm {
    version: i64,
    mode: QaMode,
    #[serde(rename = "match")]
    keyword_match: KeywordMatch,
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
    /// Percent of the work, while it goes on.
    running: Option<u8>,
    result: Option<Shown>,
}

/// Result of a comparison.
struct Shown {
    told: String,
    tiles: Vec<Tile>,
    /// Heading of the list.
    listed: String,
    rows: Vec<Row>,
    earlier: Option<String>,
    later: Option<String>,
    /// Sentence about a result that is not complete.
    incomplete: Option<String>,
    switch: Option<SwitchButton>,
}

/// Form that switches to what was compared.
struct SwitchButton {
    version: i64,
    mode: &'static str,
    keyword_match: &'static str,
    label: String,
}

/// Number of messages with one difference.
struct Tile {
    href: String,
    number: String,
    label: String,
    current: bool,
}

/// A message and its answers.
struct Row {
    link: String,
    name: String,
    initial: String,
    hue: u8,
    when: String,
    datetime: String,
    said: String,
    /// Name of the difference.
    mark: String,
    /// True if both answers are the same.
    same: bool,
    today: Answer,
    other: Answer,
}

/// An answer, or its absence.
struct Answer {
    /// Text of the answer; `None` for no answer.
    text: Option<String>,
    /// Source of the answer.
    source: String,
    /// Path of the rule.
    rule: Option<String>,
}

pub(in crate::console) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    let query = visitor.address.query().unwrap_or_default();
    let query: SwitchQuery = serde_html_form::from_str(query).map_err(|_| PageError::Input)?;
    shown(&console, &visitor, &channel, query, FormErrors::default()).await
}

pub(in crate::console) async fn switch(
    State(console): State<Console>,
    Path(channel): Path<String>,
    Posted { visitor, form }: Posted<SwitchForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let qa = QaChange {
        mode: Some(form.mode),
        keyword_match: Some(form.keyword_match),
        ..QaChange::default()
    };
    let change = AssistantChange { qa: Some(qa), ..AssistantChange::default() };
    let service = &console.services.assistant;
    match service.change_settings(&access, change, Some(&[form.version])).await {
        Ok(_) => {
            let path = channel_path(access.channel());
            Ok(Done::Saved.at(&format!("{path}/assistant")))
        }
        Err(error) => {
            let errors = FormErrors::of(error, visitor.language)?;
            let (mode, keyword_match) = (Some(form.mode), Some(form.keyword_match));
            let query = SwitchQuery { mode, keyword_match, ..SwitchQuery::default() };
            shown(&console, &visitor, &channel, query, errors).await
        }
    }
}

async fn shown(
    console: &Console,
    visitor: &Visitor,
    channel: &str,
    query: SwitchQuery,
    mut errors: FormErrors,
) -> Result<Response, PageError> {
    let settings_access = visitor.channel::<Admin, WriteAssistant>(console, channel).await?;
    let access = visitor.channel::<Admin, ReadMessages>(console, channel).await?;
    let (language, service) = (visitor.language, &console.services.assistant);
    let settings = service.settings(&settings_access).await?;
    let heading = Heading::of_page(console, visitor, &access, Tab::Assistant).await?;
    let dates = dates(console, visitor, &access).await?;
    let page = format!("{}/assistant/switch", heading.path);
    let (mut running, mut result) = (None, None);
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
        channel: heading,
        other: query.name(&settings, language),
        modes: MODES
            .into_iter()
            .map(|mode| {
                let chosen = mode == query.mode.unwrap_or(settings.config.qa.mode);
                (mode_name(mode), language.text(mode_key(mode)), chosen)
            })
            .collect(),
        matches: [KeywordMatch::Exact, KeywordMatch::Contains]
            .into_iter()
            .map(|one| {
                let chosen = one == query.keyword_match.unwrap_or(settings.config.qa.keyword_match);
                (match_name(one), language.text(match_key(one)), chosen)
            })
            .collect(),
        running,
        result,
        errors,
    };
    let mut response = rendered_as(page.errors.status(), &page);
    if page.running.is_some() {
        response.headers_mut().insert(REFRESH, AGAIN);
    }
    Ok(response)
}

impl SwitchQuery {
    /// Returns true if it is about an edited rule.
    fn has_rule(&self) -> bool {
        self.rule.is_some() || !self.keyword.is_empty()
    }

    /// Returns true if anything differs from the settings.
    fn changes(&self, settings: &AssistantSettings) -> bool {
        let qa = &settings.config.qa;
        self.has_rule()
            || self.mode.is_some_and(|mode| mode != qa.mode)
            || self.keyword_match.is_some_and(|one| one != qa.keyword_match)
    }

    fn request(&self) -> ComparisonRequest {
        let rule = self.has_rule().then(|| RuleEdit {
            rule: self.rule.as_deref().map(RuleId::from),
            keywords: self.keyword.clone(),
            question: self.question.clone(),
            answer: self.answer.clone(),
        });
        ComparisonRequest { mode: self.mode, keyword_match: self.keyword_match, rule }
    }

    /// Returns the name of what is compared with today's settings.
    fn name(&self, settings: &AssistantSettings, language: Language) -> String {
        if self.has_rule() {
            return language.text("switch-with-rule");
        }
        let qa = &settings.config.qa;
        let mode = self.mode.unwrap_or(qa.mode);
        let name = language.text(mode_key(mode));
        match self.keyword_match.filter(|one| *one != qa.keyword_match) {
            Some(one) if mode == qa.mode => language.text(match_key(one)),
            Some(one) => format!("{name} · {}", language.text(match_key(one))),
            None => name,
        }
    }

    /// Returns the address of a page of the result.
    fn address(&self, page: &str, show: Option<&str>, number: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(mode) = self.mode {
            query.append_pair("mode", mode_name(mode));
        }
        if let Some(one) = self.keyword_match {
            query.append_pair("match", match_name(one));
        }
        if let Some(rule) = &self.rule {
            query.append_pair("rule", rule);
        }
        for keyword in &self.keyword {
            query.append_pair("keyword", keyword);
        }
        for (name, value) in [("question", &self.question), ("answer", &self.answer)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        if let Some(show) = show {
            query.append_pair("show", show);
        }
        if number > 0 {
            query.append_pair("page", &number.to_string());
        }
        format!("{page}?{}", query.finish())
    }
}

/// View of a comparison.
struct View<'a> {
    query: &'a SwitchQuery,
    settings: &'a AssistantSettings,
    /// Path of the page.
    page: &'a str,
    dates: Dates,
}

impl View<'_> {
    async fn result(
        &self,
        console: &Console,
        access: &HistoryAccess,
        found: &Comparison,
    ) -> Result<Shown, PageError> {
        let Self { query, page, dates, .. } = *self;
        let language = dates.language;
        let show =
            DIFFERENCES.into_iter().find(|(_, name, _)| Some(*name) == query.show.as_deref());
        let only = show.map(|(difference, ..)| difference);
        let service = &console.services.assistant;
        let listed = service.compared_messages(access, found, only, (query.page, SIZE)).await?;
        let show = show.map(|(_, name, key)| (name, key));
        let address = |number| query.address(page, show.map(|(name, _)| name), number);
        let date = dates.date(dates.day(found.from));
        let told = language.format(
            "switch-told",
            &[
                ("scanned", count(found.scanned)),
                ("date", Value::from(&date)),
                ("changed", count(found.changed())),
            ],
        );
        Ok(Shown {
            told,
            tiles: self.tiles(found, show.map(|(name, _)| name)),
            listed: language.text(show.map_or("switch-listed", |(_, key)| key)),
            rows: listed.messages.into_iter().map(|one| self.row(one)).collect(),
            earlier: query.page.checked_sub(1).map(address),
            later: listed.more.then(|| address(query.page + 1)),
            incomplete: (!found.complete)
                .then(|| language.format("history-incomplete", &[("count", count(found.scanned))])),
            switch: (!query.has_rule()).then(|| self.button(found)),
        })
    }

    fn tiles(&self, found: &Comparison, show: Option<&str>) -> Vec<Tile> {
        let tile = |(difference, name, key): (Difference, &str, &str)| {
            let current = show == Some(name);
            Tile {
                href: self.query.address(self.page, (!current).then_some(name), 0),
                number: found.count(difference).to_string(),
                label: self.dates.language.text(key),
                current,
            }
        };
        DIFFERENCES.into_iter().map(tile).collect()
    }

    fn row(&self, one: ComparedMessage) -> Row {
        let (dates, language) = (self.dates, self.dates.language);
        let ComparedMessage { message, difference, today, other } = one;
        let name = name_of(&message, language);
        let colour = message.sender.as_ref().map_or("bot", |sender| sender.id.as_str());
        let key = DIFFERENCES.into_iter().find(|(one, ..)| *one == difference);
        Row {
            link: message_path(&message.channel, &message.id),
            initial: initial(&name),
            hue: hue(colour),
            name,
            when: dates.moment(message.sent_at),
            datetime: message.sent_at.to_string(),
            said: shortened(&summary(&message, language), SAID),
            mark: key.map(|(_, _, key)| language.text(key)).unwrap_or_default(),
            same: difference == Difference::Same,
            today: self.answer(today),
            other: self.answer(other),
        }
    }

    fn answer(&self, answer: Option<ComparedAnswer>) -> Answer {
        let language = self.dates.language;
        let Some(ComparedAnswer { source, rule, text }) = answer else {
            let source = language.text("switch-no-answer");
            return Answer { text: None, source, rule: None };
        };
        let key = match source {
            ReplySource::Rules => "switch-source-rules",
            ReplySource::Link => "switch-source-link",
            ReplySource::Qa | ReplySource::NoMatch | ReplySource::Welcome => "switch-source-rule",
        };
        let rules = self.page.trim_end_matches("/switch");
        let rule = rule.map(|rule| format!("{rules}/rules/{}", segment(rule.as_str())));
        Answer { text: Some(text), source: language.text(key), rule }
    }

    fn button(&self, found: &Comparison) -> SwitchButton {
        let (language, qa) = (self.dates.language, &self.settings.config.qa);
        let name = language.text(mode_key(found.modes.1));
        let mode = self.query.mode.unwrap_or(qa.mode);
        let label = if mode == qa.mode {
            language.text("switch-button-match")
        } else {
            language.format("switch-button", &[("mode", Value::from(&name))])
        };
        SwitchButton {
            version: self.settings.version,
            mode: mode_name(mode),
            keyword_match: match_name(self.query.keyword_match.unwrap_or(qa.keyword_match)),
            label,
        }
    }
}

/// Leads to what a rule as it is being edited would have answered. An empty answer stands for the
/// saved one; of a long one, its beginning is enough.
pub(super) fn compared(
    access: &SettingsAccess,
    rule: Option<&RuleId>,
    draft: RuleDraft,
) -> Response {
    let query = SwitchQuery {
        rule: rule.map(|rule| rule.as_str().to_owned()),
        keyword: draft.keywords,
        question: draft.question,
        answer: draft.answer.chars().take(SAID).collect(),
        ..SwitchQuery::default()
    };
    let page = format!("{}/assistant/switch", channel_path(access.channel()));
    Redirect::to(&query.address(&page, None, 0)).into_response()
}

/// Returns a number for a text.
pub(super) fn count(number: usize) -> Value<'static> {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}
