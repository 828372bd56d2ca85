//! LINE: its webhook bodies, its signature and the calls of its Messaging API.

mod client;
mod decode;
mod signature;
mod webhook;

pub use client::{LineApi, LineClient};
pub use signature::SignatureKey;
pub use webhook::{WebhookBody, WebhookError};
