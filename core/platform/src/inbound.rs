//! Inbound side of the platform port: webhooks, from the request to events for the bus.
//!
//! The ingress takes a request in this order: the path finds the bot and with it the adapter,
//! [`InboundWebhooks::may_be_signed`] reads the headers, the body is read within
//! [`InboundWebhooks::max_body`], [`InboundWebhooks::verify`] checks its signature, and only then
//! [`InboundWebhooks::parse`] looks into it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use chatkeep_core::event::Envelope;
use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use http::HeaderMap;

/// Shared adapter of a bot's webhooks.
pub type SharedWebhooks = Arc<dyn InboundWebhooks>;

/// Webhooks of a platform, as one configured bot receives them.
pub trait InboundWebhooks: fmt::Debug + Send + Sync {
    /// Returns the segment of the path: `/webhook/<path>/<bot>`.
    fn path(&self) -> &'static str;

    /// Returns the platform's name in sentences.
    fn label(&self) -> &'static str;

    /// Returns the maximum size of a body in bytes, within the limit of the ingress itself.
    fn max_body(&self) -> usize {
        usize::MAX
    }

    /// Returns whether the headers have the form of a signed request: the body of any other is not
    /// even read.
    fn may_be_signed(&self, headers: &HeaderMap) -> bool;

    /// Checks that the platform signed the body for this bot.
    ///
    /// # Errors
    /// [`Unverified`] when it did not.
    fn verify(&self, headers: &HeaderMap, body: Bytes) -> Result<VerifiedBody, Unverified>;

    /// Splits a body into the events that it reports, as envelopes for the bus.
    ///
    /// # Errors
    /// [`NotAWebhook`] when the body is signed and yet not in the platform's format.
    fn parse(
        &self,
        body: &VerifiedBody,
        bot: &str,
        received_at: Timestamp,
    ) -> Result<InboundEvents, NotAWebhook>;
}

/// Body whose signature an adapter has checked.
#[derive(Clone, Debug)]
pub struct VerifiedBody(Bytes);

impl VerifiedBody {
    /// Wraps a body; for adapters, after they have checked its signature.
    pub const fn new(body: Bytes) -> Self {
        Self(body)
    }

    /// Returns the bytes of the body.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Events of a webhook.
#[derive(Debug)]
pub struct InboundEvents {
    /// The events, in their order; none for a connection check.
    pub envelopes: Vec<Envelope>,
    /// Platform's id of the bot that they are for, if the body names it.
    pub destination: Option<UserId>,
}

/// Error of a body that the platform did not sign for this bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature is wrong or missing")]
pub struct Unverified;

/// Error of a signed body that is not in the platform's format.
#[derive(Debug, thiserror::Error)]
#[error("the body is not a webhook of the platform")]
pub struct NotAWebhook(#[source] pub Box<dyn std::error::Error + Send + Sync>);
