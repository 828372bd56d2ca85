//! Bodies of webhook requests and their validation.

use chatkeep_core::http::guard::{self, Forbidden};
use chatkeep_core::id::ChannelId;
use chatkeep_store::{OutboxEventKind, Webhook, WebhookChange};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::auth::Caller;
use crate::api::editable::{Nullable, Shown};
use crate::api::error::ApiError;
use crate::api::input;
use crate::decode::nullable;
use crate::services::FieldPath;

/// Maximum characters of an address and of a description; maximum number of channels.
const URL: usize = 2_048;
const DESCRIPTION: usize = 500;
const CHANNELS: usize = 1_000;

/// Locations in the body.
const EVENTS: FieldPath = FieldPath::body("/events");
const CHANNEL_IDS: FieldPath = FieldPath::body("/channelIds");

/// 403: events beyond the permissions of the caller, or of the webhook's creator.
pub(super) const BEYOND: ApiError = ApiError::InsufficientFor { field: EVENTS };

/// Webhook endpoint to create.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct WebhookBody {
    /// Public `https` address to send events to.
    #[schema(min_length = 1, max_length = 2048, format = "uri")]
    url: String,
    /// Event types to send: at least one, and only those that the caller's scopes cover.
    /// `message.*` requires `read:messages`, `member.*` `read:members`, `file.*` and `media.*`
    /// `read:media`; `usage.*` and `endpoint.disabled` require a key that is not restricted to
    /// channels.
    #[schema(min_items = 1, max_items = 14)]
    events: Vec<OutboxEventKind>,
    /// Channels whose events are sent; all that the caller may read when absent or null.
    #[serde(default, deserialize_with = "nullable")]
    #[schema(value_type = Option<Vec<input::ChannelName>>, max_items = 1000)]
    channel_ids: Option<Vec<String>>,
    /// Enables the webhook; true when absent.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// Description for people.
    #[serde(default)]
    #[schema(max_length = 500)]
    description: String,
}

/// Change of a webhook; absent fields are unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::api) struct WebhookPatch {
    /// Public `https` address to send events to.
    #[schema(min_length = 1, max_length = 2048, format = "uri", nullable = false)]
    url: Option<String>,
    /// Event types to send: at least one, and only those that the caller's scopes cover.
    #[schema(min_items = 1, max_items = 14, nullable = false)]
    events: Option<Vec<OutboxEventKind>>,
    /// Channels whose events are sent; null for all that the caller may read.
    #[serde(default)]
    #[schema(value_type = Option<Vec<input::ChannelName>>, max_items = 1000)]
    channel_ids: Nullable<Vec<String>>,
    /// Enables the webhook; enabling it clears earlier failures.
    #[schema(nullable = false)]
    enabled: Option<bool>,
    /// Description for people.
    #[schema(max_length = 500, nullable = false)]
    description: Option<String>,
}

impl Shown for WebhookPatch {
    const READ_ONLY: &'static [&'static str] = &[
        "webhookId",
        "mask",
        "previousUntil",
        "failingSince",
        "disabledReason",
        "disabledAt",
        "createdAt",
        "updatedAt",
    ];
}

impl WebhookPatch {
    /// Returns the webhook with these changes.
    pub(super) fn over(self, known: &Webhook) -> WebhookBody {
        let channel_ids = match self.channel_ids {
            Nullable::To(ids) => ids,
            Nullable::Unchanged => {
                let ids = known.channels.as_ref();
                ids.map(|ids| ids.iter().map(ToString::to_string).collect())
            }
        };
        WebhookBody {
            url: self.url.unwrap_or_else(|| known.url.clone()),
            events: self.events.unwrap_or_else(|| known.events.clone()),
            channel_ids,
            enabled: Some(self.enabled.unwrap_or(known.enabled)),
            description: self.description.unwrap_or_else(|| known.description.clone()),
        }
    }
}

/// A checked [`WebhookBody`].
pub(super) struct CheckedWebhook {
    url: String,
    events: Vec<OutboxEventKind>,
    channels: Option<Vec<ChannelId>>,
    enabled: bool,
    description: String,
}

impl WebhookBody {
    /// Validates the body: a webhook never exceeds the permissions of its creator.
    pub(super) fn checked(
        self,
        caller: &Caller,
        allow_private: bool,
    ) -> Result<CheckedWebhook, ApiError> {
        let url = input::text(FieldPath::body("/url"), self.url, 1, URL)?;
        let url = guard::check(url.trim(), allow_private).map_err(refused)?.to_string();
        let mut events = Vec::new();
        for kind in self.events {
            if !events.contains(&kind) {
                events.push(kind);
            }
        }
        if events.is_empty() {
            return Err(ApiError::invalid_value(EVENTS, "must contain at least one event"));
        }
        let covered = |kind: &OutboxEventKind| {
            let account = !kind.is_about_account() || caller.channels().is_none();
            account && kind.scope().is_none_or(|scope| caller.bounds.has(scope))
        };
        if !events.iter().all(covered) {
            return Err(BEYOND);
        }
        let ids = self.channel_ids;
        let channels =
            ids.map(|ids| input::channel_ids(&CHANNEL_IDS, ids, CHANNELS)).transpose()?;
        let channels = match (channels, caller.channels()) {
            (None, own) => own.map(<[_]>::to_vec),
            (Some(asked), _) if caller.sees_all(&asked) => Some(asked),
            (Some(_), _) => return Err(ApiError::InsufficientFor { field: CHANNEL_IDS }),
        };
        let description =
            input::text(FieldPath::body("/description"), self.description, 0, DESCRIPTION)?;
        Ok(CheckedWebhook {
            url,
            events,
            channels,
            enabled: self.enabled.unwrap_or(true),
            description,
        })
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

fn refused(why: Forbidden) -> ApiError {
    ApiError::invalid_value(FieldPath::body("/url"), format_args!("cannot be used: {why}"))
}
