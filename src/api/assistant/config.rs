//! `GET` and `PUT …/assistant/config`.

use axum::extract::State;
use chatkeep_core::assistant::{
    AssistantConfig, KeywordMatch, NoMatchScope, QaConfig, QaMode, RulesConfig, WelcomeConfig,
    limits,
};
use chatkeep_core::plan::Plan;
use chatkeep_store::{Setting, SettingVersions};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Settings;
use crate::api::Api;
use crate::api::editable::{Editable, Nullable, Shown};
use crate::api::error::ApiError;
use crate::api::etag::{IfMatch, Versioned};
use crate::api::extract::Body;
use crate::api::input::{Keyword, keywords, text};
use crate::decode::whole;
use crate::services::FieldPath;

/// A day: a longer cooldown would be a switched-off rule.
const MAX_COOLDOWN: u32 = 86_400;

/// `{assistant: {…}}`.
#[derive(Serialize, ToSchema)]
#[schema(as = AssistantSettings)]
pub(in crate::api) struct ConfigView {
    /// The settings of the assistant.
    assistant: AssistantView,
}

/// Settings of the assistant.
#[derive(Serialize, ToSchema)]
#[schema(as = AssistantConfig)]
pub(in crate::api) struct AssistantView {
    /// Master switch: while false, the bot never replies.
    enabled: bool,
    /// Question-and-answer settings.
    qa: QaView,
    /// The welcome of new members.
    welcome: WelcomeConfig,
    /// The group rules.
    rules: RulesConfig,
}

/// Question-and-answer settings.
#[derive(Serialize, ToSchema)]
#[schema(as = AssistantQa)]
#[serde(rename_all = "camelCase")]
struct QaView {
    #[serde(flatten)]
    config: QaConfig,
    /// Mode in effect: `fuzzy` instead of `semantic` while the owner's plan does not include
    /// semantic mode.
    effective_mode: QaMode,
}

impl AssistantView {
    /// Returns the settings under the plan of the channel's owner.
    pub(in crate::api) fn new(config: AssistantConfig, plan: Option<Plan>) -> Self {
        let AssistantConfig { enabled, qa, welcome, rules } = config;
        let effective_mode = qa.mode.under(plan);
        Self { enabled, qa: QaView { config: qa, effective_mode }, welcome, rules }
    }
}

/// Change of settings; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ConfigPatch {
    /// Settings to change.
    assistant: AssistantPatch,
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
    rules: Option<RulesPatch>,
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
    /// Reply when no rule matches; null for none.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 5000)]
    no_match_reply: Nullable<String>,
    /// Messages that get `noMatchReply`.
    #[schema(nullable = false)]
    no_match_scope: Option<NoMatchScope>,
    /// Method of matching keywords; also applies to the triggers of the group rules.
    #[schema(nullable = false)]
    keyword_match: Option<KeywordMatch>,
    /// Cooldown of a rule in seconds: it answers at most once in this time; 0 for no limit.
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

/// Change of the group-rules settings; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RulesPatch {
    /// Enables the group rules.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// Words that make the bot reply with the group rules.
    #[schema(value_type = Option<Vec<Keyword>>, max_items = 50, nullable = false)]
    trigger_keywords: Option<Vec<String>>,
}

/// A name without parameters, which the documentation needs.
type QaEdit = Editable<QaPatch>;

impl Shown for QaPatch {
    const READ_ONLY: &'static [&'static str] = &["effectiveMode"];
}

pub(in crate::api) async fn read(
    State(api): State<Api>,
    access: Settings,
) -> Result<Versioned<ConfigView>, ApiError> {
    let plan = api.store.members().owner_plan(&access.channel).await?;
    Ok(versioned(api.store.assistant().assistant_setting(&access.channel).await?, plan))
}

pub(in crate::api) async fn change(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Body(patch): Body<ConfigPatch>,
) -> Result<Versioned<ConfigView>, ApiError> {
    let patch = patch.assistant;
    let plan = api.store.members().owner_plan(&access.channel).await?;
    let now = api.clock.now();
    let change = |config: AssistantConfig, versions: SettingVersions| {
        let mode = config.qa.mode;
        // Errors that apply to every version are reported first.
        let changed = patch.applied_to(config)?;
        // A mode from before a downgrade may stay: it runs as another one.
        if changed.qa.mode != mode && changed.qa.mode.under(plan) != changed.qa.mode {
            return Err(ApiError::SEMANTIC_NEEDS_PRO);
        }
        if if_match.is_some_and(|wanted| !wanted.contains(&versions.config)) {
            return Err(ApiError::Stale);
        }
        Ok(changed)
    };
    let changed = api
        .store
        .assistant()
        .change_assistant_config(&access.channel, access.user(), now, change)
        .await?;
    api.assistant_changed(&access.channel).await;
    Ok(versioned(changed?, plan))
}

fn versioned(setting: Setting<AssistantConfig>, plan: Option<Plan>) -> Versioned<ConfigView> {
    let assistant = AssistantView::new(setting.value, plan);
    Versioned { version: setting.version, body: ConfigView { assistant } }
}

impl AssistantPatch {
    fn applied_to(self, mut config: AssistantConfig) -> Result<AssistantConfig, ApiError> {
        set(&mut config.enabled, self.enabled);
        if let Some(Editable(qa)) = self.qa {
            qa.apply(&mut config)?;
        }
        if let Some(welcome) = self.welcome {
            welcome.apply(&mut config.welcome)?;
        }
        if let Some(rules) = self.rules {
            rules.apply(&mut config.rules)?;
        }
        Ok(config)
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

impl QaPatch {
    fn apply(self, config: &mut AssistantConfig) -> Result<(), ApiError> {
        let qa = &mut config.qa;
        if self.cooldown_seconds.is_some_and(|seconds| seconds > MAX_COOLDOWN) {
            let why = format_args!("must be at most {MAX_COOLDOWN}");
            return Err(ApiError::invalid_value(
                FieldPath::body("/assistant/qa/cooldownSeconds"),
                why,
            ));
        }
        if let Nullable::To(reply) = self.no_match_reply {
            let field = FieldPath::body("/assistant/qa/noMatchReply");
            let checked = reply.map(|reply| text(field, reply, 0, limits::ANSWER));
            qa.no_match_reply = checked.transpose()?;
        }
        set(&mut qa.enabled, self.enabled);
        set(&mut qa.mode, self.mode);
        set(&mut qa.no_match_scope, self.no_match_scope);
        set(&mut qa.keyword_match, self.keyword_match);
        set(&mut qa.cooldown_seconds, self.cooldown_seconds);
        Ok(())
    }
}

impl WelcomePatch {
    fn apply(self, welcome: &mut WelcomeConfig) -> Result<(), ApiError> {
        set(&mut welcome.enabled, self.enabled);
        if let Some(message) = self.message {
            let field = FieldPath::body("/assistant/welcome/message");
            welcome.message = text(field, message, 0, limits::TEXT)?;
        }
        Ok(())
    }
}

impl RulesPatch {
    fn apply(self, rules: &mut RulesConfig) -> Result<(), ApiError> {
        set(&mut rules.enabled, self.enabled);
        if let Some(words) = self.trigger_keywords {
            let field = FieldPath::body("/assistant/rules/triggerKeywords");
            rules.trigger_keywords = keywords(field, words, 0, limits::TRIGGERS)?;
        }
        Ok(())
    }
}
