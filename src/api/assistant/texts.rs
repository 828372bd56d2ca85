//! `…/assistant/welcome` and `…/assistant/rules`.

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::{AssistantConfig, Revision, SettingText, limits};
use serde::{Deserialize, Serialize};

use super::{Settings, text};
use crate::api::Api;
use crate::api::error::ApiError;
use crate::api::extract::Body;

/// The welcome message (interface specification, "Welcome message").
#[derive(Serialize)]
pub(in crate::api) struct WelcomeView {
    #[serde(flatten)]
    revision: Revision,
    messages: Vec<WelcomeText>,
}

#[derive(Serialize)]
struct WelcomeText {
    #[serde(rename = "type")]
    kind: &'static str,
    content: String,
}

/// The group rules (interface specification, "Group rules").
#[derive(Serialize)]
pub(in crate::api) struct RulesView {
    #[serde(flatten)]
    revision: Revision,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct WelcomeBody {
    message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RulesBody {
    content: String,
}

pub(in crate::api) async fn welcome(
    State(api): State<Api>,
    access: Settings,
) -> Result<Json<WelcomeView>, ApiError> {
    Ok(Json(api.store.welcome(&access.channel).await?.into()))
}

pub(in crate::api) async fn set_welcome(
    State(api): State<Api>,
    access: Settings,
    Body(body): Body<WelcomeBody>,
) -> Result<Json<WelcomeView>, ApiError> {
    let message = text("message", body.message, 0, limits::TEXT)?;
    let change = |mut config: AssistantConfig| -> Result<_, ApiError> {
        config.welcome.message = message;
        Ok(config)
    };
    let now = api.clock.now();
    api.store.change_assistant_config(&access.channel, &access.user, now, change).await??;
    Ok(Json(api.store.welcome(&access.channel).await?.into()))
}

pub(in crate::api) async fn rules(
    State(api): State<Api>,
    access: Settings,
) -> Result<Json<RulesView>, ApiError> {
    Ok(Json(api.store.group_rules(&access.channel).await?.into()))
}

pub(in crate::api) async fn set_rules(
    State(api): State<Api>,
    access: Settings,
    Body(body): Body<RulesBody>,
) -> Result<Json<RulesView>, ApiError> {
    let content = text("content", body.content, 0, limits::TEXT)?;
    let now = api.clock.now();
    api.store.set_group_rules(&access.channel, &content, &access.user, now).await?;
    Ok(Json(api.store.group_rules(&access.channel).await?.into()))
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
