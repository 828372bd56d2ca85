//! Stored webhooks, and the event references of deliveries.

use chatkeep_core::bounds::{Bounds, Subject, common};
use chatkeep_core::id::{ChannelId, KeyId, UserId, WebhookId};
use chatkeep_core::named;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::channels::{channel_keys, channels_of_keys};
use super::super::keys::mask;
use super::super::{OutboxEventKind, StoreError, UnstoredMessage, parsed};

/// Webhook endpoint. Its secret is not included.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// Webhook id.
    pub id: WebhookId,
    /// Owner.
    pub user: UserId,
    /// URL of the endpoint.
    pub url: String,
    /// Purpose, in its owner's words.
    pub description: String,
    /// Kinds of events to deliver.
    pub events: Vec<OutboxEventKind>,
    /// Channels whose events are delivered; `None` for all of its owner's.
    pub channels: Option<Vec<ChannelId>>,
    /// Key that created it or changed it last; `None` for a session.
    pub key: Option<KeyId>,
    /// Bounds of that key or session: nothing beyond them is delivered.
    pub bounds: Bounds,
    /// `true` if events are delivered.
    pub enabled: bool,
    /// Last four characters of its secret.
    pub mask: String,
    /// Time until which the previous secret signs, too.
    pub old_until: Option<Timestamp>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Time of the first failure since the last success.
    pub failing_since: Option<Timestamp>,
    /// Reason and time of its automatic disabling.
    pub disabled: Option<(DisabledReason, Timestamp)>,
}

/// Reason for disabling a webhook automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledReason {
    /// The endpoint responded with 410.
    Gone,
    /// All attempts failed for days.
    Failing,
    /// The key that created it has ended or was deleted.
    KeyEnded,
}

named! {
    pub DisabledReason {
        Gone = "gone",
        Failing = "failing",
        KeyEnded = "key_ended",
    }
}

/// Event reference: the event by ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRef {
    /// Event id, the same for every attempt and every webhook.
    pub id: String,
    /// Kind of the event; `None` for a test.
    pub kind: Option<OutboxEventKind>,
    /// Time of the event.
    pub at: Timestamp,
    /// Channel.
    pub channel: Option<ChannelId>,
    /// Message id, or user id.
    pub subject: Option<String>,
    /// Further subject: a webhook, or a saved search.
    pub detail: Option<String>,
    /// Properties of an unstored message to deliver.
    pub unstored: Option<UnstoredMessage>,
}

/// Columns of a delivery that refer to its event.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct EventColumns {
    event_id: String,
    r#type: String,
    at: i64,
    channel_id: Option<String>,
    subject_id: Option<String>,
    detail_id: Option<String>,
    unstored: Option<String>,
}

impl EventColumns {
    /// Reads the reference of the delivery with this number.
    pub(super) fn read(self, number: i64) -> Result<EventRef, StoreError> {
        let (unstored, number) = (self.unstored.as_deref(), number.to_string());
        Ok(EventRef {
            unstored: UnstoredMessage::read(unstored, "webhook_deliveries", &number)?,
            id: self.event_id,
            kind: OutboxEventKind::parse(&self.r#type),
            at: Timestamp::from_millis(self.at),
            channel: self.channel_id.map(ChannelId::from),
            subject: self.subject_id,
            detail: self.detail_id,
        })
    }
}

impl Webhook {
    /// Returns the widest bounds of its deliveries: its bounds, and of these only the scopes that
    /// its events need and the channels that it was created for.
    pub fn reach(&self) -> Bounds {
        let mut scopes: Vec<_> = self.events.iter().filter_map(|kind| kind.scope()).collect();
        scopes.dedup();
        // Events about the whole account do not go by channel.
        let account = self.events.iter().any(|kind| kind.is_about_account());
        let channels = match (account, self.bounds.channels.as_deref()) {
            (true, None) => None,
            _ => self.chats(),
        };
        Bounds { scopes, channels, ..self.bounds.clone() }
    }

    /// Returns the channels of its events about channels: those that it was created for and that its
    /// bounds have; `None` for all of its owner's.
    pub fn chats(&self) -> Option<Vec<ChannelId>> {
        common(self.channels.as_deref(), self.bounds.channels.as_deref())
    }
}

impl EventRef {
    /// Returns the subject for [`Bounds::admit`].
    pub fn subject(&self) -> Subject<'_> {
        let Some(kind) = self.kind else {
            return Subject::of_itself(None);
        };
        kind.subject(self.channel.as_ref()).at(self.at)
    }
}

/// No `Debug`: it holds secrets.
#[derive(sqlx_macros::FromRow)]
pub(super) struct WebhookRow {
    webhook_id: String,
    user_id: String,
    url: String,
    description: String,
    events: String,
    channel_ids: Option<String>,
    key_id: Option<String>,
    #[sqlx(flatten)]
    bounds: BoundsColumns,
    enabled: i64,
    secret: String,
    old_secret: Option<String>,
    old_until: i64,
    created_at: i64,
    updated_at: i64,
    failing_since: Option<i64>,
    pub(super) disabled_reason: Option<String>,
    disabled_at: Option<i64>,
}

/// Columns of a webhook that hold its bounds. No `Debug`: one of them is a secret.
#[derive(Default, sqlx_macros::FromRow)]
pub(super) struct BoundsColumns {
    pub(super) scopes: String,
    #[sqlx(rename = "bound_channel_ids")]
    pub(super) channels: Option<String>,
    pub(super) not_before: Option<i64>,
    pub(super) ends_at: Option<i64>,
    #[sqlx(rename = "pseudonym_secret")]
    pub(super) pseudonyms: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Event {
    t: String,
}

pub(super) fn event_keys(events: &[OutboxEventKind]) -> Result<String, StoreError> {
    let events: Vec<_> = events.iter().map(|kind| Event { t: kind.name().to_owned() }).collect();
    Ok(serde_json::to_string(&events)?)
}

pub(super) fn channels_json(ids: Option<&[ChannelId]>) -> Result<Option<String>, StoreError> {
    ids.map(channel_keys).transpose()
}

impl BoundsColumns {
    /// Encodes bounds as columns.
    pub(super) fn of(bounds: &Bounds) -> Result<Self, StoreError> {
        Ok(Self {
            scopes: serde_json::to_string(&bounds.scopes)?,
            channels: bounds.channels.as_deref().map(channel_keys).transpose()?,
            not_before: bounds.not_before.map(Timestamp::millis),
            ends_at: bounds.expires_at.map(Timestamp::millis),
            pseudonyms: bounds.pseudonyms.as_ref().map(PseudonymKey::to_hex),
        })
    }

    /// Decodes the columns; `id` is the webhook's.
    pub(super) fn read(self, id: &str) -> Result<Bounds, StoreError> {
        let scopes: Option<Vec<Scope>> = serde_json::from_str(&self.scopes).ok();
        let channels = self.channels.as_deref().map(|json| {
            let channels = channels_of_keys(json);
            parsed(channels, "webhooks", "bound_channel_ids", id)
        });
        let pseudonyms = self.pseudonyms.as_deref().map(|text| {
            let key = PseudonymKey::parse(text);
            parsed(key, "webhooks", "pseudonym_secret", id)
        });
        Ok(Bounds {
            pseudonyms: pseudonyms.transpose()?,
            scopes: parsed(scopes, "webhooks", "scopes", id)?,
            channels: channels.transpose()?,
            not_before: self.not_before.map(Timestamp::from_millis),
            expires_at: self.ends_at.map(Timestamp::from_millis),
        })
    }
}

fn events_of(json: &str) -> Option<Vec<OutboxEventKind>> {
    let events: Vec<Event> = serde_json::from_str(json).ok()?;
    events.iter().map(|event| OutboxEventKind::parse(&event.t)).collect()
}

impl TryFrom<WebhookRow> for Webhook {
    type Error = StoreError;

    fn try_from(row: WebhookRow) -> Result<Self, StoreError> {
        let id = row.webhook_id;
        let channels = row.channel_ids.as_deref().map(|json| {
            let channels = channels_of_keys(json);
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
            key: row.key_id.map(KeyId::from),
            bounds: row.bounds.read(&id)?,
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
