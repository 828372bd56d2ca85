//! DTOs in one form for every surface: REST, exports, events.

mod event;
mod links;
mod member;
mod message;
pub(crate) mod schema;

pub(crate) use event::{EventData, EventMessage, EventView, WebhookPayload};
pub(crate) use links::{Links, channel_path, message_path, segment};
pub(crate) use member::MemberView;
pub(crate) use message::{GapView, MessageView, SenderView};
