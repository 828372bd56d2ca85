//! A webhook as it is stored, and what is told as deliveries name it.

use serde::{Deserialize, Serialize};

use super::super::channels::channel_keys;
use super::super::{HappeningKind, StoreError, parsed};
use super::WebhookChange;
use crate::id::{ChannelId, UserId, WebhookId};
use crate::time::Timestamp;

/// A place that what happens is sent to. Its secret is not in here.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// Whose it is.
    pub user: UserId,
    /// Where to.
    pub url: String,
    /// What it is for, in its owner's words.
    pub description: String,
    /// What is told.
    pub events: Vec<HappeningKind>,
    /// The only channels that are told of; `None` for all of its owner's.
    pub channels: Option<Vec<ChannelId>>,
    /// Nothing from before this is told.
    pub not_before: Option<Timestamp>,
    /// Whether anything is told.
    pub enabled: bool,
    /// The last four characters of its secret.
    pub mask: String,
    /// Until when the secret before this one signs, too.
    pub old_until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    /// Why and when it was disabled by itself.
    pub disabled: Option<(DisabledReason, Timestamp)>,
}

/// Why a webhook was disabled without its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisabledReason {
    /// It answered 410.
    Gone,
    /// Everything failed for days.
    Failing,
}

/// What is told, by ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The same for every attempt and every webhook.
    pub id: String,
    /// What happened; `None` for a test.
    pub kind: Option<HappeningKind>,
    /// When.
    pub at: Timestamp,
    /// In which channel.
    pub channel: Option<ChannelId>,
    /// The message, or the person.
    pub subject: Option<String>,
    /// What else it is about: a webhook.
    pub detail: Option<String>,
}

#[derive(Debug, sqlx::FromRow)]
pub(super) struct WebhookRow {
    webhook_id: String,
    user_id: String,
    url: String,
    description: String,
    events: String,
    channel_ids: Option<String>,
    not_before: Option<i64>,
    enabled: i64,
    secret: String,
    old_secret: Option<String>,
    old_until: i64,
    created_at: i64,
    updated_at: i64,
    failing_since: Option<i64>,
    disabled_reason: Option<String>,
    disabled_at: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct Event {
    t: String,
}

#[derive(Deserialize)]
struct Channel {
    c: ChannelId,
}

impl DisabledReason {
    /// Its name on every surface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }

    /// The reason of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Gone, Self::Failing].into_iter().find(|reason| reason.name() == name)
    }
}

pub(super) fn events_json(events: &[HappeningKind]) -> Result<String, StoreError> {
    let events: Vec<_> = events.iter().map(|kind| Event { t: kind.name().to_owned() }).collect();
    Ok(serde_json::to_string(&events)?)
}

pub(super) fn channels_json(change: WebhookChange<'_>) -> Result<Option<String>, StoreError> {
    change.channels.map(channel_keys).transpose()
}

fn events_of(json: &str) -> Option<Vec<HappeningKind>> {
    let events: Vec<Event> = serde_json::from_str(json).ok()?;
    events.iter().map(|event| HappeningKind::parse(&event.t)).collect()
}

fn channels_of(json: &str) -> Option<Vec<ChannelId>> {
    let channels: Vec<Channel> = serde_json::from_str(json).ok()?;
    Some(channels.into_iter().map(|channel| channel.c).collect())
}

fn mask(secret: &str) -> String {
    let keep = secret.chars().count().saturating_sub(4);
    secret.chars().skip(keep).collect()
}

impl TryFrom<WebhookRow> for Webhook {
    type Error = StoreError;

    fn try_from(row: WebhookRow) -> Result<Self, StoreError> {
        let id = row.webhook_id;
        let channels = row.channel_ids.as_deref().map(|json| {
            let channels = channels_of(json);
            parsed(channels, "webhooks", "channel_ids", &id)
        });
        let reason = row.disabled_reason.as_deref().map(|name| {
            let reason = DisabledReason::parse(name);
            parsed(reason, "webhooks", "disabled_reason", &id)
        });
        let disabled_at = row.disabled_at.map(Timestamp::from_millis);
        Ok(Self {
            user: row.user_id.into(),
            url: row.url,
            description: row.description,
            events: parsed(events_of(&row.events), "webhooks", "events", &id)?,
            channels: channels.transpose()?,
            not_before: row.not_before.map(Timestamp::from_millis),
            enabled: row.enabled != 0,
            mask: mask(&row.secret),
            old_until: row.old_secret.map(|_| Timestamp::from_millis(row.old_until)),
            created_at: Timestamp::from_millis(row.created_at),
            updated_at: Timestamp::from_millis(row.updated_at),
            failing_since: row.failing_since.map(Timestamp::from_millis),
            disabled: reason.transpose()?.zip(disabled_at),
            id: id.into(),
        })
    }
}
