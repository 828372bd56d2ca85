//! LINE: its webhook bodies, its signature and the calls of its Messaging API.

mod call;
mod client;
mod decode;
mod endpoint;
mod inbound;
mod lenient;
mod message;
mod object;
mod origin;
mod picture;
mod refusal;
mod setup;
mod signature;
mod source;
mod storable;
mod traced;
mod webhook;
mod wire;

pub use client::{LineApi, LineClient};
pub(super) use decode::decode;
pub use inbound::LineWebhooks;
pub(super) use origin::origin;
pub use signature::SignatureKey;
pub use webhook::{WebhookBody, WebhookError};
