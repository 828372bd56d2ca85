//! `…/assistant/welcome` and `…/assistant/rules`.

use axum::extract::State;
use chatkeep_http::{Body, HttpError, IfMatch, Versioned};
use chatkeep_services::assistant::{FieldText, SettingsAccess, VersionedText};
use chatkeep_services::{FieldPath, Services};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{REVISION, RevisionView};
use crate::editable::{Editable, Shown};

/// The welcome message.
#[derive(Serialize, ToSchema)]
#[schema(as = Welcome)]
pub(crate) struct WelcomeView {
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
pub(crate) struct RulesView {
    #[serde(flatten)]
    revision: RevisionView,
    /// Text of the group rules; empty when none is set.
    content: String,
}

/// Welcome text: `message`, or `messages` as in responses; both only if they are the same. Without
/// either nothing changes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WelcomeBody {
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
    /// Returns the text with its place in the body; `None` without one.
    fn text(self) -> Result<Option<FieldText>, HttpError> {
        let field = FieldPath::body("/messages");
        let listed = match self.messages {
            Some(messages) if messages.len() > 1 => {
                return Err(HttpError::invalid_value(field, "must contain at most one text"));
            }
            Some(mut messages) => Some(messages.pop().map(|one| one.content).unwrap_or_default()),
            None => None,
        };
        match (self.message, listed) {
            (Some(text), Some(listed)) if text != listed => {
                Err(HttpError::invalid_value(field, "must be the same text as message"))
            }
            (Some(text), _) => Ok(Some(FieldText { field: FieldPath::body("/message"), text })),
            (None, Some(text)) => {
                Ok(Some(FieldText { field: FieldPath::body("/messages/0/content"), text }))
            }
            (None, None) => Ok(None),
        }
    }
}

/// Group rules to set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RulesBody {
    /// Text of the group rules, which may contain line breaks; empty for none. When absent, nothing
    /// changes.
    #[schema(max_length = 5000, nullable = false)]
    content: Option<String>,
}

impl Shown for RulesBody {
    const READ_ONLY: &'static [&'static str] = &REVISION;
}

pub(crate) async fn welcome(
    State(services): State<Services>,
    access: SettingsAccess,
) -> Result<Versioned<WelcomeView>, HttpError> {
    Ok(welcome_view(services.assistant.welcome(&access).await?))
}

pub(crate) async fn set_welcome(
    State(services): State<Services>,
    access: SettingsAccess,
    IfMatch(versions): IfMatch,
    Body(Editable(body)): Body<Editable<WelcomeBody>>,
) -> Result<Versioned<WelcomeView>, HttpError> {
    let text = body.text()?;
    Ok(welcome_view(services.assistant.set_welcome(&access, text, versions.as_deref()).await?))
}

pub(crate) async fn rules(
    State(services): State<Services>,
    access: SettingsAccess,
) -> Result<Versioned<RulesView>, HttpError> {
    Ok(rules_view(services.assistant.group_rules(&access).await?))
}

pub(crate) async fn set_rules(
    State(services): State<Services>,
    access: SettingsAccess,
    IfMatch(versions): IfMatch,
    Body(Editable(body)): Body<Editable<RulesBody>>,
) -> Result<Versioned<RulesView>, HttpError> {
    let field = FieldPath::body("/content");
    let text = body.content.map(|text| FieldText { field, text });
    Ok(rules_view(services.assistant.set_group_rules(&access, text, versions.as_deref()).await?))
}

fn welcome_view(setting: VersionedText) -> Versioned<WelcomeView> {
    let VersionedText { version, revision, text: content } = setting;
    let one = WelcomeText { kind: WelcomeKind::Text, content };
    let messages = if one.content.is_empty() { Vec::new() } else { vec![one] };
    Versioned { version, body: WelcomeView { revision: revision.into(), messages } }
}

fn rules_view(setting: VersionedText) -> Versioned<RulesView> {
    let VersionedText { version, revision, text: content } = setting;
    Versioned { version, body: RulesView { revision: revision.into(), content } }
}
