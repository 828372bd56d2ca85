//! DTOs in one form for every surface: REST, exports, events.
//!
//! [`pseudonyms`] masks people in them, [`when`] reads times in requests, [`sanitize`] cleans texts
//! of people, [`html`] escapes texts in pages.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod event;
pub mod html;
mod links;
mod member;
mod message;
pub mod pseudonyms;
pub mod sanitize;
pub mod schema;
pub mod when;

pub use event::{EventData, EventImport, EventMessage, EventSearch, EventView, WebhookPayload};
pub use links::{
    LinkTarget, Links, ResourceName, channel_path, file_uri, message_path, message_uri, segment,
};
pub use member::MemberView;
pub use message::{EarlierTextView, GapView, MessageView, SenderView};
