//! `…/assistant/welcome` and `…/assistant/rules`.

use axum::extract::State;
use chatkeep_core::assistant::{AssistantConfig, SettingText, limits};
use chatkeep_core::id::ChannelId;
use chatkeep_store::{Setting, SettingVersions};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{REVISION, RevisionView, Settings};
use crate::api::Api;
use crate::api::editable::{Editable, Shown};
use crate::api::error::ApiError;
use crate::api::etag::{IfMatch, Versioned};
use crate::api::extract::Body;
use crate::api::input::text;
use crate::services::FieldPath;

/// The welcome message.
#[derive(Serialize, ToSchema)]
#[schema(as = Welcome)]
pub(in crate::api) struct WelcomeView {
    #[serde(flatten)]
    revision: RevisionView,
    /// Welcome text; empty when none is set.
    messages: Vec<WelcomeText>,
}

/// Text of the welcome message.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WelcomeText {
    /// Type of the text.
    #[serde(rename = "type")]
    kind: WelcomeKind,
    /// Welcome text; may contain `{displayName}` and `{groupName}`.
    #[schema(max_length = 5000)]
    content: String,
}

/// Type of a welcome text.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum WelcomeKind {
    Text,
}

/// The group rules.
#[derive(Serialize, ToSchema)]
#[schema(as = GroupRules)]
pub(in crate::api) struct RulesView {
    #[serde(flatten)]
    revision: RevisionView,
    /// Text of the group rules; empty when none is set.
    content: String,
}

/// Welcome text: `message`, or `messages` as in responses. `message` takes precedence.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct WelcomeBody {
    /// Welcome text; may contain `{displayName}` and `{groupName}`.
    #[schema(max_length = 5000, nullable = false)]
    message: Option<String>,
    /// List with the welcome text; empty for none.
    #[schema(max_items = 1, nullable = false)]
    messages: Option<Vec<WelcomeText>>,
}

impl Shown for WelcomeBody {
    const READ_ONLY: &'static [&'static str] = &REVISION;
}

impl WelcomeBody {
    fn text(self) -> Result<String, ApiError> {
        let (field, given) = match (self.message, self.messages) {
            (Some(message), _) => (FieldPath::body("/message"), message),
            (None, Some(mut messages)) => {
                if messages.len() > 1 {
                    let field = FieldPath::body("/messages");
                    return Err(ApiError::invalid_value(field, "must contain at most one text"));
                }
                let content = messages.pop().map(|one| one.content).unwrap_or_default();
                (FieldPath::body("/messages/0/content"), content)
            }
            (None, None) => {
                return Err(ApiError::invalid_value(FieldPath::body("/message"), "is missing"));
            }
        };
        text(field, given, 0, limits::TEXT)
    }
}

/// Group rules to set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RulesBody {
    /// Text of the group rules, which may contain line breaks; empty for none.
    #[schema(max_length = 5000)]
    content: String,
}

impl Shown for RulesBody {
    const READ_ONLY: &'static [&'static str] = &REVISION;
}

pub(in crate::api) async fn welcome(
    State(api): State<Api>,
    access: Settings,
) -> Result<Versioned<WelcomeView>, ApiError> {
    api.setting_text(&access.channel, api.store.assistant().welcome(&access.channel).await?).await
}

pub(in crate::api) async fn set_welcome(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Body(Editable(body)): Body<Editable<WelcomeBody>>,
) -> Result<Versioned<WelcomeView>, ApiError> {
    let message = body.text()?;
    let change = |mut config: AssistantConfig, versions: SettingVersions| {
        if if_match.is_some_and(|wanted| !wanted.contains(&versions.welcome)) {
            return Err(ApiError::Stale);
        }
        config.welcome.message = message;
        Ok(config)
    };
    let now = api.clock.now();
    api.store
        .assistant()
        .change_assistant_config(&access.channel, access.user(), now, change)
        .await??;
    api.assistant_changed(&access.channel).await;
    api.setting_text(&access.channel, api.store.assistant().welcome(&access.channel).await?).await
}

pub(in crate::api) async fn rules(
    State(api): State<Api>,
    access: Settings,
) -> Result<Versioned<RulesView>, ApiError> {
    api.setting_text(&access.channel, api.store.assistant().group_rules(&access.channel).await?)
        .await
}

pub(in crate::api) async fn set_rules(
    State(api): State<Api>,
    access: Settings,
    IfMatch(if_match): IfMatch,
    Body(Editable(body)): Body<Editable<RulesBody>>,
) -> Result<Versioned<RulesView>, ApiError> {
    let content = text(FieldPath::body("/content"), body.content, 0, limits::TEXT)?;
    let now = api.clock.now();
    let (channel, if_match) = (&access.channel, if_match.as_deref());
    if !api
        .store
        .assistant()
        .set_group_rules(channel, &content, if_match, access.user(), now)
        .await?
    {
        return Err(ApiError::Stale);
    }
    api.assistant_changed(&access.channel).await;
    api.setting_text(&access.channel, api.store.assistant().group_rules(&access.channel).await?)
        .await
}

impl Api {
    /// Returns a text with its version, the response of GET and PUT.
    async fn setting_text<T: From<(RevisionView, String)>>(
        &self,
        channel: &ChannelId,
        setting: Setting<SettingText>,
    ) -> Result<Versioned<T>, ApiError> {
        let SettingText { revision, text } = setting.value;
        let revision = self.revision(channel, revision).await?;
        Ok(Versioned { version: setting.version, body: (revision, text).into() })
    }
}

impl From<(RevisionView, String)> for WelcomeView {
    fn from((revision, content): (RevisionView, String)) -> Self {
        let one = WelcomeText { kind: WelcomeKind::Text, content };
        let messages = if one.content.is_empty() { Vec::new() } else { vec![one] };
        Self { revision, messages }
    }
}

impl From<(RevisionView, String)> for RulesView {
    fn from((revision, content): (RevisionView, String)) -> Self {
        Self { revision, content }
    }
}
