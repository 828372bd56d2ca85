//! DTOs in one form for every surface: REST, exports, events.

mod event;
mod links;
mod member;
mod message;
pub(crate) mod schema;

pub(crate) use event::{EventData, EventMessage, EventSearch, EventView, WebhookPayload};
pub(crate) use links::{
    LinkTarget, Links, ResourceName, channel_path, file_uri, message_path, message_uri, segment,
};
pub(crate) use member::MemberView;
pub(crate) use message::{GapView, MessageView, SenderView};
