//! `…/assistant/welcome` and `…/assistant/rules`.

use axum::extract::State;
use chatkeep_core::assistant::{AssistantConfig, Revision, SettingText, limits};
use chatkeep_core::store::{Setting, SettingVersions};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Settings;
use crate::api::Api;
use crate::api::error::ApiError;
use crate::api::etag::{IfMatch, Versioned};
use crate::api::extract::Body;
use crate::api::field_path::FieldPath;
use crate::api::input::text;

/// The welcome message (interface specification, "Welcome message").
#[derive(Serialize, ToSchema)]
#[schema(as = Welcome)]
pub(in crate::api) struct WelcomeView {
    #[serde(flatten)]
    revision: Revision,
    messages: Vec<WelcomeText>,
}

#[derive(Serialize, ToSchema)]
struct WelcomeText {
    #[serde(rename = "type")]
    kind: &'static str,
    content: String,
}

/// The group rules (interface specification, "Group rules").
#[derive(Serialize, ToSchema)]
#[schema(as = GroupRules)]
pub(in crate::api) struct RulesView {
    #[serde(flatten)]
    revision: Revision,
    content: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct WelcomeBody {
    /// May hold `{displayName}` and `{groupName}`.
    #[schema(max_length = 5000)]
    message: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RulesBody {
    #[schema(max_length = 5000)]
    content: String,
}

pub(in crate::api) async fn welcome(
    State(api): State<Api>,
    access: Settings,
) -> Result<Versioned<WelcomeView>, ApiError> {
    Ok(versioned(api.store.welcome(&access.channel).await?))
}

pub(in crate::api) async fn set_welcome(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Body(body): Body<WelcomeBody>,
) -> Result<Versioned<WelcomeView>, ApiError> {
    let message = text(FieldPath::body("/message"), body.message, 0, limits::TEXT)?;
    let change = |mut config: AssistantConfig, versions: SettingVersions| {
        if if_match.is_some_and(|wanted| !wanted.contains(&versions.welcome)) {
            return Err(ApiError::Stale);
        }
        config.welcome.message = message;
        Ok(config)
    };
    let now = api.clock.now();
    api.store.change_assistant_config(&access.channel, access.user(), now, change).await??;
    api.assistant_changed(&access.channel).await;
    Ok(versioned(api.store.welcome(&access.channel).await?))
}

pub(in crate::api) async fn rules(
    State(api): State<Api>,
    access: Settings,
) -> Result<Versioned<RulesView>, ApiError> {
    Ok(versioned(api.store.group_rules(&access.channel).await?))
}

pub(in crate::api) async fn set_rules(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Body(body): Body<RulesBody>,
) -> Result<Versioned<RulesView>, ApiError> {
    let content = text(FieldPath::body("/content"), body.content, 0, limits::TEXT)?;
    let now = api.clock.now();
    let (channel, if_match) = (&access.channel, if_match.as_deref());
    if !api.store.set_group_rules(channel, &content, if_match, access.user(), now).await? {
        return Err(ApiError::Stale);
    }
    api.assistant_changed(&access.channel).await;
    Ok(versioned(api.store.group_rules(&access.channel).await?))
}

fn versioned<T: From<SettingText>>(setting: Setting<SettingText>) -> Versioned<T> {
    Versioned { version: setting.version, body: setting.value.into() }
}

impl From<SettingText> for WelcomeView {
    fn from(text: SettingText) -> Self {
        let one = WelcomeText { kind: "text", content: text.text };
        let messages = if one.content.is_empty() { Vec::new() } else { vec![one] };
        Self { revision: text.revision, messages }
    }
}

impl From<SettingText> for RulesView {
    fn from(text: SettingText) -> Self {
        Self { revision: text.revision, content: text.text }
    }
}
