//! Something that happened, as every surface tells it: the pull feed and outgoing webhooks.

use chatkeep_core::id::{ChannelId, UserId, WebhookId};
use chatkeep_core::store::{HappeningKind, UnkeptReason};
use chatkeep_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::{MemberView, MessageView};

/// Something that happened.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
pub(crate) struct EventView {
    /// The same however often it is told.
    pub(crate) id: String,
    /// The name of the event.
    #[serde(rename = "type")]
    pub(crate) kind: HappeningKind,
    /// When it happened.
    pub(crate) timestamp: Timestamp,
    /// What it happened to, as it is now.
    pub(crate) data: EventData,
}

/// What is sent to a webhook; its id is the header `webhook-id`.
#[derive(Serialize)]
pub(crate) struct WebhookBody {
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) timestamp: Timestamp,
    pub(crate) data: EventData,
}

/// What it happened to, as it is now.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventData {
    /// The channel that it happened in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) channel_id: Option<ChannelId>,
    /// The message that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) message: Option<EventMessage>,
    /// The person who joined or left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) member: Option<MemberView>,
    /// The user whose account it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) user_id: Option<UserId>,
    /// Percent of the quota that is used now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) percentage: Option<f64>,
    /// The webhook that was disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) webhook_id: Option<WebhookId>,
}

/// A message as events tell it.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct EventMessage {
    #[serde(flatten)]
    pub(crate) message: MessageView,
    /// Whether it is kept. Of one that is not, the API has nothing, and `content` is null.
    pub(crate) kept: bool,
    /// Why it is not kept; null when it is.
    pub(crate) reason: Option<UnkeptReason>,
}

impl From<MessageView> for EventMessage {
    fn from(message: MessageView) -> Self {
        Self { message, kept: true, reason: None }
    }
}
