//! DTO of an event, shared by all surfaces: the pull feed and outgoing webhooks.

use chatkeep_core::id::{ChannelId, SavedSearchId, UserId, WebhookId};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{OutboxEventKind, UnstoredReason};
use serde::Serialize;
use utoipa::ToSchema;

use super::{MemberView, MessageView};

/// Event of a channel.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventView {
    /// ID of the event, the same however often it is delivered.
    pub id: String,
    /// The name of the event.
    #[serde(rename = "type")]
    pub kind: OutboxEventKind,
    /// Time of the event.
    pub timestamp: Timestamp,
    /// Current state of the object that the event is about.
    pub data: EventData,
}

/// Body of a webhook request; its id is the header `webhook-id`.
#[derive(Serialize)]
pub struct WebhookPayload {
    /// Name of the kind of event.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Time of the event.
    pub timestamp: Timestamp,
    /// Current state of the object that the event is about.
    pub data: EventData,
}

/// Subject of the event in its present state.
#[derive(Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventData {
    /// ID of the channel of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub channel_id: Option<ChannelId>,
    /// The message that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub message: Option<EventMessage>,
    /// The person who joined or left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub member: Option<MemberView>,
    /// ID of the user whose account the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_id: Option<UserId>,
    /// Used quota in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub percentage: Option<f64>,
    /// The messages that were imported, or removed by undoing an import.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub import: Option<EventImport>,
    /// The saved search that found the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub search: Option<EventSearch>,
    /// ID of the disabled webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub webhook_id: Option<WebhookId>,
}

/// Imported messages of an event, by the times at which they were sent.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub struct EventImport {
    /// Messages sent at or after this time; null when any of the channel may be concerned.
    pub from: Option<Timestamp>,
    /// Messages sent before this time; null when any of the channel may be concerned.
    pub to: Option<Timestamp>,
}

/// Saved search of an event.
#[derive(Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventSearch {
    /// ID of the saved search.
    pub saved_search_id: SavedSearchId,
    /// Name of the saved search.
    pub name: String,
}

/// Message of an event.
#[derive(Clone, Serialize, ToSchema)]
pub struct EventMessage {
    #[expect(missing_docs, reason = "the document would describe the message anew")]
    #[serde(flatten)]
    pub message: MessageView,
    /// True if the message is stored. For one that is not, the API has nothing, and `content` is
    /// null.
    pub kept: bool,
    /// Reason for not storing it; null when it is stored.
    pub reason: Option<UnstoredReason>,
}

impl From<MessageView> for EventMessage {
    fn from(message: MessageView) -> Self {
        Self { message, kept: true, reason: None }
    }
}
