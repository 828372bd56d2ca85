//! `GET` and `PUT …/assistant/config`.

use axum::extract::State;
use chatkeep_core::assistant::{
    AssistantConfig, KeywordMatch, NoMatchScope, QaConfig, QaMode, Strictness, TriggerConfig,
    WelcomeConfig,
};
use chatkeep_http::{Body, HttpError, IfMatch, Versioned};
use chatkeep_services::assistant::{
    AssistantChange, AssistantSettings, QaChange, SettingsAccess, TriggerChange, WelcomeChange,
};
use chatkeep_services::decode::whole;
use chatkeep_services::{Nullable, Services};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::editable::{Editable, Shown};
use crate::input::Keyword;

/// Settings of the assistant, as the member `assistant`.
#[derive(Serialize, ToSchema)]
#[schema(as = AssistantSettings)]
pub(crate) struct ConfigView {
    /// The settings of the assistant.
    assistant: AssistantView,
}

/// Settings of the assistant.
#[derive(Serialize, ToSchema)]
#[schema(as = AssistantConfig)]
pub(crate) struct AssistantView {
    /// Master switch: while false, the bot never replies.
    enabled: bool,
    /// Question-and-answer settings.
    qa: QaView,
    /// The welcome of new members.
    welcome: WelcomeConfigView,
    /// The group rules.
    rules: TriggerConfigView,
    /// The link to the channel's page.
    link: TriggerConfigView,
}

/// Question-and-answer settings.
#[derive(Serialize, ToSchema)]
#[schema(as = AssistantQa)]
#[serde(rename_all = "camelCase")]
struct QaView {
    #[serde(flatten)]
    config: QaConfigView,
    /// Mode in effect: `fuzzy` instead of `semantic` while the owner's plan does not include
    /// semantic mode.
    effective_mode: QaMode,
}

/// Question-and-answer settings.
#[derive(Serialize, ToSchema)]
#[schema(as = QaConfig)]
#[serde(rename_all = "camelCase", default)]
struct QaConfigView {
    /// `true` when questions and answers are switched on.
    enabled: bool,
    /// Matching mode.
    mode: QaMode,
    /// Reply that is sent when no rule matches.
    no_match_reply: Option<String>,
    /// Messages that get this reply.
    no_match_scope: NoMatchScope,
    /// Matching of keywords; also of the triggers of the group rules and of the link.
    keyword_match: KeywordMatch,
    /// Certainty that a reply of the modes `fuzzy` and `semantic` requires.
    strictness: Strictness,
    /// Seconds after a reply in which the same rule, or the link, stays silent.
    cooldown_seconds: u32,
}

/// Welcome settings.
#[derive(Serialize, ToSchema)]
#[schema(as = WelcomeConfig)]
#[serde(default)]
struct WelcomeConfigView {
    /// `true` when the welcome message is switched on.
    enabled: bool,
    /// Welcome text; the same as the first text of the welcome object.
    message: String,
}

/// Settings of a reply that certain words trigger.
#[derive(Serialize, ToSchema)]
#[schema(as = TriggerConfig)]
#[serde(rename_all = "camelCase", default)]
struct TriggerConfigView {
    /// `true` when the reply is switched on.
    enabled: bool,
    /// Words that make the bot send it.
    trigger_keywords: Vec<String>,
}

impl From<QaConfig> for QaConfigView {
    fn from(qa: QaConfig) -> Self {
        Self {
            enabled: qa.enabled,
            mode: qa.mode,
            no_match_reply: qa.no_match_reply,
            no_match_scope: qa.no_match_scope,
            keyword_match: qa.keyword_match,
            strictness: qa.strictness,
            cooldown_seconds: qa.cooldown_seconds,
        }
    }
}

impl From<WelcomeConfig> for WelcomeConfigView {
    fn from(welcome: WelcomeConfig) -> Self {
        Self { enabled: welcome.enabled, message: welcome.message }
    }
}

impl From<TriggerConfig> for TriggerConfigView {
    fn from(trigger: TriggerConfig) -> Self {
        Self { enabled: trigger.enabled, trigger_keywords: trigger.trigger_keywords }
    }
}

/// Defaults of the document.
impl Default for QaConfigView {
    fn default() -> Self {
        QaConfig::default().into()
    }
}

/// Defaults of the document.
impl Default for WelcomeConfigView {
    fn default() -> Self {
        WelcomeConfig::default().into()
    }
}

/// Defaults of the document.
impl Default for TriggerConfigView {
    fn default() -> Self {
        TriggerConfig::default().into()
    }
}

impl From<AssistantSettings> for AssistantView {
    fn from(settings: AssistantSettings) -> Self {
        let AssistantSettings { config, effective_mode, .. } = settings;
        let AssistantConfig { enabled, qa: config, welcome, rules, link } = config;
        let qa = QaView { config: config.into(), effective_mode };
        Self { enabled, qa, welcome: welcome.into(), rules: rules.into(), link: link.into() }
    }
}

/// Change of settings; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConfigPatch {
    /// Settings to change.
    #[schema(nullable = false)]
    assistant: Option<AssistantPatch>,
}

/// Change of the assistant's settings; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AssistantPatch {
    /// Master switch: while false, the bot never replies.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// Question-and-answer settings.
    #[schema(nullable = false)]
    qa: Option<QaEdit>,
    /// The welcome of new members.
    #[schema(nullable = false)]
    welcome: Option<WelcomePatch>,
    /// The group rules.
    #[schema(nullable = false)]
    rules: Option<TriggerPatch>,
    /// The link to the channel's page.
    #[schema(nullable = false)]
    link: Option<TriggerPatch>,
}

/// Change of the question-and-answer settings; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct QaPatch {
    /// Enables questions and answers.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// Matching mode: required similarity of a message to a rule; `semantic` requires the plan
    /// `pro`.
    #[schema(nullable = false)]
    mode: Option<QaMode>,
    /// Reply when no rule matches; null, or a blank text, for none.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 5000)]
    no_match_reply: Nullable<String>,
    /// Messages that get `noMatchReply`.
    #[schema(nullable = false)]
    no_match_scope: Option<NoMatchScope>,
    /// Method of matching keywords; also applies to the triggers of the group rules and of the
    /// link.
    #[schema(nullable = false)]
    keyword_match: Option<KeywordMatch>,
    /// Certainty that a reply of the modes `fuzzy` and `semantic` requires: about 2 (`careful`), 5
    /// (`balanced`) or 10 % (`eager`) of the messages that no rule is for get a reply.
    #[schema(nullable = false)]
    strictness: Option<Strictness>,
    /// Cooldown of a rule, and of the link, in seconds: it answers at most once in this time; 0 for
    /// no limit.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 86400, nullable = false)]
    cooldown_seconds: Option<u32>,
}

/// Change of the welcome settings; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WelcomePatch {
    /// Enables the welcome.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// Welcome text; may contain `{displayName}` and `{groupName}`.
    #[schema(max_length = 5000, nullable = false)]
    message: Option<String>,
}

/// Change of the settings of a reply that certain words trigger; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TriggerPatch {
    /// Enables the reply; the link needs `api.base_url`, the public address of the service.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// Words that make the bot send it.
    #[schema(value_type = Option<Vec<Keyword>>, max_items = 50, nullable = false)]
    trigger_keywords: Option<Vec<String>>,
}

/// A name without parameters, which the documentation needs.
type QaEdit = Editable<QaPatch>;

impl Shown for QaPatch {
    const READ_ONLY: &'static [&'static str] = &["effectiveMode"];
}

pub(crate) async fn read(
    State(services): State<Services>,
    access: SettingsAccess,
) -> Result<Versioned<ConfigView>, HttpError> {
    Ok(view(services.assistant.settings(&access).await?))
}

pub(crate) async fn change(
    State(services): State<Services>,
    access: SettingsAccess,
    IfMatch(versions): IfMatch,
    Body(patch): Body<ConfigPatch>,
) -> Result<Versioned<ConfigView>, HttpError> {
    let change = patch.assistant.map(AssistantChange::from).unwrap_or_default();
    let settings = services.assistant.change_settings(&access, change, versions.as_deref()).await?;
    Ok(view(settings))
}

fn view(settings: AssistantSettings) -> Versioned<ConfigView> {
    Versioned { version: settings.version, body: ConfigView { assistant: settings.into() } }
}

impl From<AssistantPatch> for AssistantChange {
    fn from(patch: AssistantPatch) -> Self {
        Self {
            enabled: patch.enabled,
            qa: patch.qa.map(|Editable(qa)| qa.into()),
            welcome: patch.welcome.map(WelcomeChange::from),
            rules: patch.rules.map(TriggerChange::from),
            link: patch.link.map(TriggerChange::from),
        }
    }
}

impl From<QaPatch> for QaChange {
    fn from(patch: QaPatch) -> Self {
        Self {
            enabled: patch.enabled,
            mode: patch.mode,
            no_match_reply: patch.no_match_reply,
            no_match_scope: patch.no_match_scope,
            keyword_match: patch.keyword_match,
            strictness: patch.strictness,
            cooldown_seconds: patch.cooldown_seconds,
        }
    }
}

impl From<WelcomePatch> for WelcomeChange {
    fn from(patch: WelcomePatch) -> Self {
        Self { enabled: patch.enabled, message: patch.message }
    }
}

impl From<TriggerPatch> for TriggerChange {
    fn from(patch: TriggerPatch) -> Self {
        Self { enabled: patch.enabled, trigger_keywords: patch.trigger_keywords }
    }
}
