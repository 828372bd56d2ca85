//! `GET` and `PUT …/assistant/config`.

use axum::extract::State;
use chatkeep_core::assistant::{
    AssistantConfig, KeywordMatch, NoMatchScope, QaMode, RulesConfig, WelcomeConfig, limits,
};
use chatkeep_core::plan::Plan;
use chatkeep_core::store::{Setting, SettingVersions};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::Settings;
use crate::api::Api;
use crate::api::decode::nullable;
use crate::api::error::ApiError;
use crate::api::etag::{IfMatch, Versioned};
use crate::api::extract::Body;
use crate::api::field_path::FieldPath;
use crate::api::input::{Keyword, keywords, text, whole};

/// A day: a longer cooldown would be a switched-off rule.
const MAX_COOLDOWN: u32 = 86_400;

/// `{assistant: {…}}`.
#[derive(Serialize, ToSchema)]
#[schema(as = AssistantSettings)]
pub(in crate::api) struct ConfigView {
    assistant: AssistantConfig,
}

/// A change: what is absent stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ConfigPatch {
    assistant: AssistantPatch,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AssistantPatch {
    #[schema(nullable = false)]
    enabled: Option<bool>,
    #[schema(nullable = false)]
    qa: Option<QaPatch>,
    #[schema(nullable = false)]
    welcome: Option<WelcomePatch>,
    #[schema(nullable = false)]
    rules: Option<RulesPatch>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct QaPatch {
    #[schema(nullable = false)]
    enabled: Option<bool>,
    #[schema(nullable = false)]
    mode: Option<QaMode>,
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 5000)]
    no_match_reply: Nullable,
    #[schema(nullable = false)]
    no_match_scope: Option<NoMatchScope>,
    #[schema(nullable = false)]
    keyword_match: Option<KeywordMatch>,
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 86400, nullable = false)]
    cooldown_seconds: Option<u32>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WelcomePatch {
    #[schema(nullable = false)]
    enabled: Option<bool>,
    #[schema(max_length = 5000, nullable = false)]
    message: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RulesPatch {
    #[schema(nullable = false)]
    enabled: Option<bool>,
    #[schema(value_type = Option<Vec<Keyword>>, max_items = 50, nullable = false)]
    trigger_keywords: Option<Vec<String>>,
}

/// A text that may be absent (unchanged), `null` (none) or given.
#[derive(Default)]
enum Nullable {
    #[default]
    Unchanged,
    To(Option<String>),
}

impl<'de> Deserialize<'de> for Nullable {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        nullable(value).map(Self::To)
    }
}

pub(in crate::api) async fn read(
    State(api): State<Api>,
    access: Settings,
) -> Result<Versioned<ConfigView>, ApiError> {
    Ok(api.store.assistant_setting(&access.channel).await?.into())
}

pub(in crate::api) async fn change(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Body(patch): Body<ConfigPatch>,
) -> Result<Versioned<ConfigView>, ApiError> {
    let patch = patch.assistant;
    if patch.qa.as_ref().and_then(|qa| qa.mode) == Some(QaMode::Semantic) {
        let plan = api.store.owner_plan(&access.channel).await?;
        if plan != Some(Plan::Pro) {
            return Err(ApiError::SEMANTIC_NEEDS_PRO);
        }
    }
    let now = api.clock.now();
    let change = |config, versions: SettingVersions| {
        // What is wrong in any version is said first.
        let changed = patch.applied_to(config)?;
        if if_match.is_some_and(|wanted| !wanted.contains(&versions.config)) {
            return Err(ApiError::Stale);
        }
        Ok(changed)
    };
    let changed =
        api.store.change_assistant_config(&access.channel, access.user(), now, change).await?;
    api.assistant_changed(&access.channel).await;
    Ok(changed?.into())
}

impl From<Setting<AssistantConfig>> for Versioned<ConfigView> {
    fn from(setting: Setting<AssistantConfig>) -> Self {
        Self { version: setting.version, body: ConfigView { assistant: setting.value } }
    }
}

impl AssistantPatch {
    fn applied_to(self, mut config: AssistantConfig) -> Result<AssistantConfig, ApiError> {
        set(&mut config.enabled, self.enabled);
        if let Some(qa) = self.qa {
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
