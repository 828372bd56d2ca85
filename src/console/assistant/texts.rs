//! Texts of a chat's assistant: the welcome, the group rules, the reply when nothing matches, and the
//! words that make the bot answer with them or with the chat's link.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chatkeep_core::assistant::{AssistantConfig, NoMatchScope, limits};
use chatkeep_i18n::Language;
use chatkeep_services::access::{Admin, WriteAssistant};
use chatkeep_services::assistant::{
    AssistantChange, FieldText, QaChange, SettingsAccess, TextVersions, TriggerChange,
    VersionedText, WelcomeChange,
};
use chatkeep_services::{FieldPath, Nullable};
use chatkeep_view::channel_path;
use serde::Deserialize;

use super::super::Console;
use super::super::channel::{Heading, Tab, TabLink};
use super::super::error::PageError;
use super::super::form::{Done, FormErrors, SubmittedForm, limit_hint, lines, unbroken};
use super::super::frame::{Frame, rendered_as};
use super::super::labels::initial;
use super::super::visitor::Visitor;
use super::Section;
use super::idle::{IdleNotice, notices};
use super::rule_form::one_a_line;
use super::seen::{SeenValues, state};
use super::words::now;

/// Name of the group rules in errors.
const GROUP_RULES: FieldPath = FieldPath::body("/groupRules");

/// Form of the page. Lists of words have one word a line; an absent switch is off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct TextsForm {
    version: i64,
    rules_version: i64,
    /// Values that the form was filled with.
    seen: SeenValues,
    welcome: Option<String>,
    welcome_text: String,
    rules: Option<String>,
    rules_text: String,
    rules_words: String,
    no_match: String,
    link: Option<String>,
    link_words: String,
    /// `preview` shows the welcome and saves nothing.
    #[serde(rename = "do")]
    act: String,
}

#[derive(Template)]
#[template(path = "console/assistant_texts.html", whitespace = "minimize")]
struct TextsPage {
    frame: Frame,
    channel: Heading,
    sections: Vec<TabLink>,
    errors: FormErrors,
    idle: Vec<IdleNotice>,
    form: TextsForm,
    /// Present values where somebody else changed them, by field.
    present: Present,
    limit: String,
    words_hint: String,
    /// Sentence about the messages that get the no-match reply.
    no_match_scope: String,
    preview: Option<String>,
    /// Address that the link word answers with; `None` without a public address.
    address: Option<String>,
    /// Name of the bot in the preview.
    bot: String,
    bot_initial: String,
}

/// Present values that differ from those of the form.
#[derive(Default)]
struct Present {
    welcome: Option<String>,
    welcome_text: Option<String>,
    rules: Option<String>,
    rules_text: Option<String>,
    rules_words: Option<String>,
    no_match: Option<String>,
    link: Option<String>,
    link_words: Option<String>,
}

pub(crate) async fn page(
    State(console): State<Console>,
    visitor: Visitor,
    Path(channel): Path<String>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let form = present(&console, &access).await?;
    shown(&console, &visitor, &access, form, Present::default(), FormErrors::default()).await
}

pub(crate) async fn save(
    State(console): State<Console>,
    Path(channel): Path<String>,
    SubmittedForm { visitor, form }: SubmittedForm<TextsForm>,
) -> Result<Response, PageError> {
    let access = visitor.channel::<Admin, WriteAssistant>(&console, &channel).await?;
    let form = form.normalized();
    if form.act == "preview" {
        let (present, errors) = (Present::default(), FormErrors::default());
        return shown(&console, &visitor, &access, form, present, errors).await;
    }
    let group_rules = FieldText { field: GROUP_RULES, text: form.rules_text.clone() };
    let versions = form.versions_for(&present(&console, &access).await?);
    let service = &console.services.assistant;
    match service.change_texts(&access, form.change(), group_rules, versions).await {
        Ok(()) => {
            let path = channel_path(access.channel());
            Ok(Done::Saved.at(&format!("{path}/assistant/texts")))
        }
        Err(error) => {
            let errors = FormErrors::of(error, visitor.language)?;
            let present = present(&console, &access).await?;
            let changed =
                form.version != present.version || form.rules_version != present.rules_version;
            let differing = if changed {
                form.differing(&present, visitor.language)
            } else {
                Present::default()
            };
            let form = TextsForm {
                version: present.version,
                rules_version: present.rules_version,
                seen: present.seen,
                ..form
            };
            shown(&console, &visitor, &access, form, differing, errors).await
        }
    }
}

/// Returns the form with the present values.
async fn present(console: &Console, access: &SettingsAccess) -> Result<TextsForm, PageError> {
    let service = &console.services.assistant;
    let settings = service.settings(access).await?;
    let rules = service.group_rules(access).await?;
    Ok(TextsForm::of(settings.version, settings.config, rules))
}

async fn shown(
    console: &Console,
    visitor: &Visitor,
    access: &SettingsAccess,
    form: TextsForm,
    present: Present,
    errors: FormErrors,
) -> Result<Response, PageError> {
    let language = visitor.language;
    let channel = Heading::of_page(console, visitor, access, Tab::Assistant).await?;
    let preview = if form.welcome_text.trim().is_empty() {
        None
    } else {
        let name = visitor.user_session.as_ref().and_then(|user_session| user_session.name.clone());
        let service = &console.services.assistant;
        Some(service.welcome_preview(access, &form.welcome_text, name).await?)
    };
    let settings = console.services.assistant.settings(access).await?;
    let page = TextsPage {
        no_match_scope: language.text(match settings.config.qa.no_match_scope {
            NoMatchScope::Always => "texts-no-match-always",
            NoMatchScope::Addressed => "texts-no-match-addressed",
        }),
        frame: visitor.frame(language.text("assistant-texts")),
        sections: Section::Texts.links(&channel, visitor),
        idle: notices(console, visitor, access, &channel, Section::Texts).await?,
        channel,
        present,
        limit: limit_hint(limits::TEXT, language),
        words_hint: language.text("texts-words-hint"),
        preview,
        address: console.services.assistant.link(access),
        bot_initial: initial(&language.text("bot-name")),
        bot: language.text("bot-name"),
        form,
        errors,
    };
    Ok(rendered_as(page.errors.status(), &page))
}

impl TextsForm {
    fn of(version: i64, config: AssistantConfig, rules: VersionedText) -> Self {
        let switch = |on: bool| on.then(|| "yes".to_owned());
        let form = Self {
            version,
            rules_version: rules.version,
            seen: SeenValues::default(),
            welcome: switch(config.welcome.enabled),
            welcome_text: config.welcome.message,
            rules: switch(config.rules.enabled),
            rules_text: rules.text,
            rules_words: one_a_line(&config.rules.trigger_keywords),
            no_match: config.qa.no_match_reply.unwrap_or_default(),
            link: switch(config.link.enabled),
            link_words: one_a_line(&config.link.trigger_keywords),
            act: String::new(),
        };
        let seen = SeenValues::of(&[
            ("welcome", state(form.welcome.is_some())),
            ("welcome_text", &form.welcome_text),
            ("rules", state(form.rules.is_some())),
            ("rules_text", &form.rules_text),
            ("rules_words", &form.rules_words),
            ("no_match", &form.no_match),
            ("link", state(form.link.is_some())),
            ("link_words", &form.link_words),
        ]);
        Self { seen, ..form }
    }

    /// Returns the versions that the form may change: those of the present form if its texts are as
    /// they were when it was filled, whatever became of other settings.
    fn versions_for(&self, present: &Self) -> TextVersions {
        let known = if self.seen == present.seen { present } else { self };
        TextVersions { settings: known.version, group_rules: known.rules_version }
    }

    /// Browsers send line ends as two characters.
    fn normalized(mut self) -> Self {
        let texts = [
            &mut self.welcome_text,
            &mut self.rules_text,
            &mut self.rules_words,
            &mut self.no_match,
            &mut self.link_words,
        ];
        for text in texts {
            *text = unbroken(text);
        }
        self
    }

    fn change(&self) -> AssistantChange {
        let no_match = Some(self.no_match.clone()).filter(|text| !text.trim().is_empty());
        AssistantChange {
            enabled: None,
            qa: Some(QaChange { no_match_reply: Nullable::To(no_match), ..QaChange::default() }),
            welcome: Some(WelcomeChange {
                enabled: Some(self.welcome.is_some()),
                message: Some(self.welcome_text.clone()),
            }),
            rules: Some(TriggerChange {
                enabled: Some(self.rules.is_some()),
                trigger_keywords: Some(lines(&self.rules_words)),
            }),
            link: Some(TriggerChange {
                enabled: Some(self.link.is_some()),
                trigger_keywords: Some(lines(&self.link_words)),
            }),
        }
    }

    /// Returns the present values that differ from those of the form, and from those that it was
    /// filled with.
    fn differing(&self, present: &Self, language: Language) -> Present {
        let switch = |name, given: &Option<String>, present: &Option<String>| {
            let key = if present.is_some() { "overview-on" } else { "overview-off" };
            let differs = given.is_some() != present.is_some();
            (differs && self.seen.lacks(name, state(present.is_some())))
                .then(|| now(&language.text(key), language))
        };
        let replaced = |name, given: &str, present: &str| {
            (given != present && self.seen.lacks(name, present)).then(|| present.to_owned())
        };
        let list = |name, given: &str, present: &str| {
            let differs = lines(given) != lines(present);
            (differs && self.seen.lacks(name, present)).then(|| lines(present).join(" · "))
        };
        Present {
            welcome: switch("welcome", &self.welcome, &present.welcome),
            welcome_text: replaced("welcome_text", &self.welcome_text, &present.welcome_text),
            rules: switch("rules", &self.rules, &present.rules),
            rules_text: replaced("rules_text", &self.rules_text, &present.rules_text),
            rules_words: list("rules_words", &self.rules_words, &present.rules_words),
            no_match: replaced("no_match", &self.no_match, &present.no_match),
            link: switch("link", &self.link, &present.link),
            link_words: list("link_words", &self.link_words, &present.link_words),
        }
    }
}
