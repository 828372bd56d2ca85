//! Webhooks as callers want them, and their validation.

use chatkeep_core::http::guard::{self, Forbidden};
use chatkeep_core::id::ChannelId;
use chatkeep_store::{OutboxEventKind, Webhook, WebhookChange};

use super::super::access::Caller;
use super::super::input::{channel_ids, text};
use super::super::{Defect, FieldPath, Nullable, ServiceError};

/// Maximum characters of an address and of a description; maximum number of channels.
const URL: usize = 2_048;
pub const WEBHOOK_DESCRIPTION: usize = 500;
const CHANNELS: usize = 1_000;

/// Locations in the request.
pub(super) const EVENTS: FieldPath = FieldPath::body("/events");
pub(super) const CHANNEL_IDS: FieldPath = FieldPath::body("/channelIds");

/// Webhook that a caller wants.
#[derive(Clone, Debug)]
pub struct WebhookDraft {
    /// Public `https` address to send events to.
    pub url: String,
    /// Event types to send: at least one, and only those that the caller's scopes cover.
    pub events: Vec<OutboxEventKind>,
    /// Channels whose events are sent; all that the caller may read when absent.
    pub channels: Option<Vec<String>>,
    /// Enables the webhook.
    pub enabled: bool,
    /// Description for people.
    pub description: String,
}

/// Change of a webhook; absent values are unchanged.
#[derive(Clone, Debug, Default)]
pub struct WebhookUpdate {
    /// Public `https` address to send events to.
    pub url: Option<String>,
    /// Event types to send.
    pub events: Option<Vec<OutboxEventKind>>,
    /// Channels whose events are sent.
    pub channels: Nullable<Vec<String>>,
    /// Enables the webhook; enabling it clears earlier failures.
    pub enabled: Option<bool>,
    /// Description for people.
    pub description: Option<String>,
}

impl WebhookUpdate {
    /// Returns the webhook with these changes.
    pub(super) fn over(self, known: &Webhook) -> WebhookDraft {
        let channels = self.channels.over(|| {
            let ids = known.channels.as_ref();
            ids.map(|ids| ids.iter().map(ToString::to_string).collect())
        });
        WebhookDraft {
            url: self.url.unwrap_or_else(|| known.url.clone()),
            events: self.events.unwrap_or_else(|| known.events.clone()),
            channels,
            enabled: self.enabled.unwrap_or(known.enabled),
            description: self.description.unwrap_or_else(|| known.description.clone()),
        }
    }
}

/// A checked [`WebhookDraft`].
pub(super) struct CheckedWebhook {
    url: String,
    events: Vec<OutboxEventKind>,
    channels: Option<Vec<ChannelId>>,
    enabled: bool,
    description: String,
}

impl WebhookDraft {
    /// Checks the draft: a webhook never exceeds the permissions of its creator.
    pub(super) fn checked(
        self,
        caller: &Caller,
        allow_private: bool,
    ) -> Result<CheckedWebhook, ServiceError> {
        let url = text(FieldPath::body("/url"), self.url, 1, URL)?;
        let url = guard::check(url.trim(), allow_private).map_err(refused)?.to_string();
        let mut events = Vec::new();
        for kind in self.events {
            if !events.contains(&kind) {
                events.push(kind);
            }
        }
        if events.is_empty() {
            return Err(ServiceError::defective(EVENTS, Defect::NoEvent));
        }
        if !events.iter().all(|kind| kind.is_within(&caller.bounds)) {
            return Err(ServiceError::InsufficientFor { field: EVENTS });
        }
        let channels = self.channels;
        let channels = channels.map(|ids| channel_ids(&CHANNEL_IDS, ids, CHANNELS)).transpose()?;
        let channels = match (channels, caller.channels()) {
            (None, own) => own.map(<[_]>::to_vec),
            (Some(asked), _) if caller.sees_all(&asked) => Some(asked),
            (Some(_), _) => return Err(ServiceError::InsufficientFor { field: CHANNEL_IDS }),
        };
        let field = FieldPath::body("/description");
        let description = text(field, self.description, 0, WEBHOOK_DESCRIPTION)?;
        Ok(CheckedWebhook { url, events, channels, enabled: self.enabled, description })
    }
}

impl CheckedWebhook {
    /// Returns true when the change equals the current webhook.
    pub(super) fn is(&self, known: &Webhook) -> bool {
        self.url == known.url
            && self.events == known.events
            && self.channels == known.channels
            && self.enabled == known.enabled
            && self.description == known.description
    }

    pub(super) fn change(&self) -> WebhookChange<'_> {
        WebhookChange {
            url: &self.url,
            description: &self.description,
            events: &self.events,
            channels: self.channels.as_deref(),
            enabled: self.enabled,
        }
    }
}

fn refused(why: Forbidden) -> ServiceError {
    ServiceError::defective(FieldPath::body("/url"), Defect::Address(why))
}
