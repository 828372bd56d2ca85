//! LINE: its webhook bodies, its signature and the calls of its Messaging API.

mod call;
mod client;
mod decode;
mod endpoint;
mod inbound;
mod lenient;
mod message;
mod picture;
mod refusal;
mod setup;
mod signature;
mod source;
mod storable;
mod trace;
mod traced;
mod webhook;
mod wire;

pub use client::{LineApi, LineClient};
pub(super) use decode::decode;
pub use inbound::LineWebhooks;
pub use signature::SignatureKey;
pub(super) use trace::trace;
pub use webhook::{WebhookBody, WebhookError};
