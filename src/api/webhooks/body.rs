//! Bodies of webhook requests.

use chatkeep_services::Nullable;
use chatkeep_services::decode::nullable;
use chatkeep_services::webhooks::{WebhookDraft, WebhookUpdate};
use chatkeep_store::OutboxEventKind;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::editable::Shown;
use crate::input;

/// Webhook endpoint to create.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WebhookBody {
    /// Public `https` address to send events to.
    #[schema(min_length = 1, max_length = 2048, format = "uri")]
    url: String,
    /// Event types to send: at least one, and only those that the caller's scopes cover.
    /// `message.*`, `search.*` and `import.*` require `read:messages`, `member.*` `read:members`,
    /// `file.*` and `media.*` `read:media`; `usage.*` and `endpoint.disabled` require a key that is
    /// not restricted to channels.
    #[schema(min_items = 1, max_items = 17)]
    events: Vec<OutboxEventKind>,
    /// Channels whose events are sent; all that the caller may read when absent or null.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<input::ChannelIdInput>>, max_items = 1000)]
    channel_ids: Option<Vec<String>>,
    /// Enables the webhook; true when absent.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// Description for people.
    #[serde(default)]
    #[schema(max_length = 500)]
    description: String,
}

/// Change of a webhook; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct WebhookPatch {
    /// Public `https` address to send events to.
    #[schema(min_length = 1, max_length = 2048, format = "uri", nullable = false)]
    url: Option<String>,
    /// Event types to send: at least one, and only those that the caller's scopes cover.
    #[schema(min_items = 1, max_items = 17, nullable = false)]
    events: Option<Vec<OutboxEventKind>>,
    /// Channels whose events are sent; null for all that the caller may read.
    #[serde(default)]
    #[schema(value_type = Option<Vec<input::ChannelIdInput>>, max_items = 1000)]
    channel_ids: Nullable<Vec<String>>,
    /// Enables the webhook; enabling it clears earlier failures.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// Description for people.
    #[schema(max_length = 500, nullable = false)]
    description: Option<String>,
}

impl Shown for WebhookPatch {
    const READ_ONLY: &'static [&'static str] = &[
        "webhookId",
        "mask",
        "previousUntil",
        "failingSince",
        "disabledReason",
        "disabledAt",
        "createdAt",
        "updatedAt",
    ];
}

impl From<WebhookBody> for WebhookDraft {
    fn from(body: WebhookBody) -> Self {
        Self {
            url: body.url,
            events: body.events,
            channels: body.channel_ids,
            enabled: body.enabled.unwrap_or(true),
            description: body.description,
        }
    }
}

impl From<WebhookPatch> for WebhookUpdate {
    fn from(patch: WebhookPatch) -> Self {
        Self {
            url: patch.url,
            events: patch.events,
            channels: patch.channel_ids,
            enabled: patch.enabled,
            description: patch.description,
        }
    }
}
