//! Overview of a chat's assistant: its switches, how it recognizes questions, and its figures.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use chatkeep_core::assistant::{AssistantConfig, KeywordMatch, NoMatchScope, QaMode};
use chatkeep_i18n::{Language, Value};
use serde::Deserialize;
use url::form_urlencoded;

use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink};
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, Posted};
use super::super::frame::{Frame, rendered_as};
use super::super::visitor::Visitor;
use super::Section;
use crate::services::access::{Admin, ReadMessages, WriteAssistant};
use crate::services::assistant::{
    AssistantChange, AssistantFigures, AssistantSettings, GroupRulesChange, QaChange,
    SettingsAccess, WelcomeChange,
};

/// Usual cooldowns, in seconds.
const COOLDOWNS: [u32; 8] = [0, 10, 30, 60, 300, 900, 3_600, 86_400];

/// Form of the page. An absent switch is off.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::console) struct OverviewForm {
    version: i64,
    enabled: Option<String>,
    qa: Option<String>,
    welcome: Option<String>,
    rules: Option<String>,
    mode: QaMode,
    #[serde(rename = "match")]
    keyword_match: KeywordMatch,
    scope: NoMatchScope,
    cooldown: u32,
    /// `compare` leads to what would change.
    #[serde(default, rename = "do")]
    act: String,
}

#[derive(Template)]
#[template(path = "console/assistant_overview.html", whitespace = "minimize")]
struct OverviewPage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    errors: FormErrors,
    version: i64,
    cards: Vec<Card>,
    master: Switch,
    switches: Vec<Switch>,
    modes: Choices,
    matches: Choices,
    scopes: Choices,
    cooldowns: Choices,
    /// Sentence about a mode that the plan replaces.
    replaced: Option<String>,
}

/// Figure that leads to its page.
struct Card {
    href: String,
    number: String,
    label: String,
}

/// Switch of the form.
struct Switch {
    name: &'static str,
    label: String,
    hint: String,
    on: bool,
    /// Present state, where somebody else changed it.
    now: Option<String>,
}

/// Values of one field of the form.
struct Choices {
    name: &'static str,
    label: String,
    options: Vec<Choice>,
    /// Present value, where somebody else changed it.
    now: Option<String>,
}

struct Choice {
    value: String,
    label: String,
    hint: String,
    chosen: bool,
    /// False for what the plan does not include.
    possible: bool,
}

pub(in crate::console) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let settings = console.services.assistant.settings(&access).await?;
    let form = OverviewForm::of(&settings);
    shown(&console, &visitor, &access, (&form, &settings), FormErrors::default()).await
}

pub(in crate::console) async fn save(
    State(console): State<Console>,
    Path(channel): Path<String>,
    Posted { visitor, form }: Posted<OverviewForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let path = crate::view::channel_path(access.channel());
    if form.act == "compare" {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("mode", mode_name(form.mode))
            .append_pair("match", match_name(form.keyword_match))
            .finish();
        return Ok(Redirect::to(&format!("{path}/assistant/switch?{query}")).into_response());
    }
    let service = &console.services.assistant;
    match service.change_settings(&access, form.change(), Some(&[form.version])).await {
        Ok(_) => Ok(Done::Saved.at(&format!("{path}/assistant"))),
        Err(error) => {
            let errors = FormErrors::of(error, visitor.language)?;
            let settings = service.settings(&access).await?;
            shown(&console, &visitor, &access, (&form, &settings), errors).await
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
    let page = OverviewPage {
        frame: visitor.frame(language.text("assistant-overview")),
        sections: Section::Overview.links(&channel, visitor),
        cards: cards(figures, &channel.path, language),
        channel,
        version: settings.version,
        master,
        switches: switches.into(),
        modes: modes(form, settings, language),
        matches: matches(form, config, language),
        scopes: scopes(form, config, language),
        cooldowns: cooldowns(form, config, language),
        replaced,
        errors,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

fn cards(figures: AssistantFigures, channel: &str, language: Language) -> Vec<Card> {
    let card = |path: &str, number: Option<i64>, label| Card {
        href: format!("{channel}/assistant/{path}"),
        number: number.map_or_else(|| "–".to_owned(), |number| number.to_string()),
        label: language.text(label),
    };
    let unanswered = figures.unanswered.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    vec![
        card("rules", Some(figures.rules), "overview-card-rules"),
        card("rules?sort=hits", Some(figures.answers), "overview-card-answers"),
        card("unanswered", unanswered, "overview-card-unanswered"),
    ]
}

fn switches(form: &OverviewForm, config: &AssistantConfig, language: Language) -> [Switch; 4] {
    let switch = |name, keys: (&str, &str), given: &Option<String>, present: bool| {
        let on = given.is_some();
        let state = language.text(if present { "overview-on" } else { "overview-off" });
        Switch {
            name,
            label: language.text(keys.0),
            hint: language.text(keys.1),
            on,
            now: (on != present).then(|| now(&state, language)),
        }
    };
    [
        switch(
            "enabled",
            ("overview-enabled", "overview-enabled-hint"),
            &form.enabled,
            config.enabled,
        ),
        switch("qa", ("overview-qa", "overview-qa-hint"), &form.qa, config.qa.enabled),
        switch(
            "welcome",
            ("overview-welcome", "overview-welcome-hint"),
            &form.welcome,
            config.welcome.enabled,
        ),
        switch(
            "rules",
            ("overview-group-rules", "overview-group-rules-hint"),
            &form.rules,
            config.rules.enabled,
        ),
    ]
}

fn modes(form: &OverviewForm, settings: &AssistantSettings, language: Language) -> Choices {
    let present = settings.config.qa.mode;
    let choice = |mode: QaMode| Choice {
        value: mode_name(mode).to_owned(),
        label: language.text(mode_key(mode)),
        hint: language.text(match mode {
            QaMode::Keyword => "qa-mode-keyword-hint",
            QaMode::Fuzzy => "qa-mode-fuzzy-hint",
            QaMode::Semantic if settings.semantic => "qa-mode-semantic-hint",
            QaMode::Semantic => "qa-mode-semantic-pro",
        }),
        chosen: mode == form.mode,
        possible: mode != QaMode::Semantic || settings.semantic || present == mode,
    };
    Choices {
        name: "mode",
        label: language.text("overview-mode"),
        options: MODES.into_iter().map(choice).collect(),
        now: (present != form.mode).then(|| now(&language.text(mode_key(present)), language)),
    }
}

fn matches(form: &OverviewForm, config: &AssistantConfig, language: Language) -> Choices {
    let present = config.qa.keyword_match;
    let option = |value: KeywordMatch, hint| Choice {
        value: match_name(value).to_owned(),
        label: language.text(match_key(value)),
        hint: language.text(hint),
        chosen: value == form.keyword_match,
        possible: true,
    };
    Choices {
        name: "match",
        label: language.text("overview-match"),
        options: vec![
            option(KeywordMatch::Exact, "overview-match-exact-hint"),
            option(KeywordMatch::Contains, "overview-match-contains-hint"),
        ],
        now: (present != form.keyword_match)
            .then(|| now(&language.text(match_key(present)), language)),
    }
}

fn scopes(form: &OverviewForm, config: &AssistantConfig, language: Language) -> Choices {
    let key = |scope| match scope {
        NoMatchScope::Always => "overview-scope-always",
        NoMatchScope::Addressed => "overview-scope-addressed",
    };
    let present = config.qa.no_match_scope;
    let option = |value: NoMatchScope, name: &str, hint| Choice {
        value: name.to_owned(),
        label: language.text(key(value)),
        hint: language.text(hint),
        chosen: value == form.scope,
        possible: true,
    };
    Choices {
        name: "scope",
        label: language.text("overview-scope"),
        options: vec![
            option(NoMatchScope::Addressed, "addressed", "overview-scope-addressed-hint"),
            option(NoMatchScope::Always, "always", "overview-scope-always-hint"),
        ],
        now: (present != form.scope).then(|| now(&language.text(key(present)), language)),
    }
}

fn cooldowns(form: &OverviewForm, config: &AssistantConfig, language: Language) -> Choices {
    let present = config.qa.cooldown_seconds;
    let mut seconds: Vec<_> = COOLDOWNS.into_iter().chain([present, form.cooldown]).collect();
    seconds.sort_unstable();
    seconds.dedup();
    let option = |value: u32| Choice {
        value: value.to_string(),
        label: duration(value, language),
        hint: String::new(),
        chosen: value == form.cooldown,
        possible: true,
    };
    Choices {
        name: "cooldown",
        label: language.text("overview-cooldown"),
        options: seconds.into_iter().map(option).collect(),
        now: (present != form.cooldown).then(|| now(&duration(present, language), language)),
    }
}

/// Returns a cooldown in the largest unit that divides it.
fn duration(seconds: u32, language: Language) -> String {
    let (key, count) = match seconds {
        0 => return language.text("overview-cooldown-none"),
        seconds if seconds % 3_600 == 0 => ("overview-hours", seconds / 3_600),
        seconds if seconds % 60 == 0 => ("overview-minutes", seconds / 60),
        seconds => ("overview-seconds", seconds),
    };
    language.format(key, &[("count", i64::from(count).into())])
}

/// Returns the sentence about a present value that somebody else set.
pub(super) fn now(value: &str, language: Language) -> String {
    language.format("form-now", &[("value", Value::from(value))])
}

/// All modes, in the order in which they are offered.
pub(super) const MODES: [QaMode; 3] = [QaMode::Keyword, QaMode::Fuzzy, QaMode::Semantic];

/// Returns the key of a mode's name.
pub(super) const fn mode_key(mode: QaMode) -> &'static str {
    match mode {
        QaMode::Keyword => "qa-mode-keyword",
        QaMode::Fuzzy => "qa-mode-fuzzy",
        QaMode::Semantic => "qa-mode-semantic",
    }
}

/// Returns a mode as forms and addresses name it.
pub(super) const fn mode_name(mode: QaMode) -> &'static str {
    match mode {
        QaMode::Keyword => "keyword",
        QaMode::Fuzzy => "fuzzy",
        QaMode::Semantic => "semantic",
    }
}

/// Returns the key of the name of a matching of keywords.
pub(super) const fn match_key(keyword_match: KeywordMatch) -> &'static str {
    match keyword_match {
        KeywordMatch::Exact => "overview-match-exact",
        KeywordMatch::Contains => "overview-match-contains",
    }
}

/// Returns a matching of keywords as forms and addresses name it.
pub(super) const fn match_name(keyword_match: KeywordMatch) -> &'static str {
    match keyword_match {
        KeywordMatch::Exact => "exact",
        KeywordMatch::Contains => "contains",
    }
}

impl OverviewForm {
    fn of(settings: &AssistantSettings) -> Self {
        let config = &settings.config;
        let switch = |on: bool| on.then(|| "yes".to_owned());
        Self {
            version: settings.version,
            enabled: switch(config.enabled),
            qa: switch(config.qa.enabled),
            welcome: switch(config.welcome.enabled),
            rules: switch(config.rules.enabled),
            mode: config.qa.mode,
            keyword_match: config.qa.keyword_match,
            scope: config.qa.no_match_scope,
            cooldown: config.qa.cooldown_seconds,
            act: String::new(),
        }
    }

    fn change(&self) -> AssistantChange {
        let qa = QaChange {
            enabled: Some(self.qa.is_some()),
            mode: Some(self.mode),
            no_match_scope: Some(self.scope),
            keyword_match: Some(self.keyword_match),
            cooldown_seconds: Some(self.cooldown),
            ..QaChange::default()
        };
        let welcome =
            WelcomeChange { enabled: Some(self.welcome.is_some()), ..WelcomeChange::default() };
        let rules =
            GroupRulesChange { enabled: Some(self.rules.is_some()), ..GroupRulesChange::default() };
        AssistantChange {
            enabled: Some(self.enabled.is_some()),
            qa: Some(qa),
            welcome: Some(welcome),
            rules: Some(rules),
            link: None,
        }
    }
}
