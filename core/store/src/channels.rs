//! Channels: chats with their properties, and the channels visible to a user.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::{ChannelKind, PlatformKind};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;
use chrono_tz::Tz;
use serde::{Deserialize, Serialize};

use super::ingest::BulkKey;
use super::{ChannelStore, StoreError, parsed};
use crate::presence_sql::{has_left, takes_part};
use crate::query::query_as;

/// Presence of the bot in a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelStatus {
    /// The bot is in the chat.
    Active,
    /// The bot left or was removed.
    Disabled,
}

/// Chat on a platform.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Channel id.
    pub id: ChannelId,
    /// Platform.
    pub platform: PlatformKind,
    /// Kind of the channel.
    pub kind: ChannelKind,
    /// Bot that is in it, or was last; empty while none is known.
    pub bot: String,
    /// Name, once known.
    pub name: Option<String>,
    /// Picture, once known.
    pub picture_url: Option<String>,
    /// Number of people: as the platform counts, or as many as are known.
    pub member_count: i64,
    /// Time at which the channel became known; set once.
    pub created_at: Timestamp,
    /// Creator of the record: `system`.
    pub created_by: String,
    /// Time of the latest change to active.
    pub enabled_at: Timestamp,
    /// Presence of the bot.
    pub status: ChannelStatus,
    /// Stored bytes.
    pub bytes: i64,
    /// Number of stored messages.
    pub message_count: i64,
    /// IANA name of the zone in which its days begin; `None` for the service's.
    pub time_zone: Option<String>,
    /// Days after which its messages are removed; `None`: never.
    pub retention_days: Option<i64>,
    /// `true` if earlier texts of edited messages are kept.
    pub keeps_earlier_texts: bool,
}

#[derive(Debug, sqlx_macros::FromRow)]
struct ChannelRow {
    channel_id: String,
    platform: String,
    r#type: String,
    bot: String,
    name: Option<String>,
    picture_url: Option<String>,
    member_count: i64,
    created_at: i64,
    created_by: String,
    enabled_at: i64,
    disabled_at: i64,
    resumed_at: i64,
    bytes: i64,
    message_count: i64,
    time_zone: Option<String>,
    retention_days: Option<i64>,
    keep_earlier_texts: bool,
}

macro_rules! channels {
    ($($rest:expr),+) => {
        concat!(
            "SELECT c.channel_id, c.platform, c.type, c.bot, c.name, c.picture_url,
                    COALESCE(c.member_count, (SELECT COUNT(*) FROM members n
                        WHERE n.channel_id = c.channel_id AND NOT ",
            has_left!("n"),
            ")) AS member_count,
                    c.created_at, c.created_by, c.enabled_at, c.disabled_at,
                    c.resumed_at, c.bytes,
                    c.message_count, c.time_zone, c.retention_days, c.keep_earlier_texts
             FROM channels c ",
            $($rest),+
        )
    };
}

const ONE: &str = channels!("WHERE c.channel_id = $1");

/// Channels in which the user is an active member, admin or owner.
const OF_USER: &str = channels!(
    "JOIN members m ON m.channel_id = c.channel_id
     WHERE m.user_id = $1 AND ",
    takes_part!("m"),
    " AND c.channel_id > $2
       AND (CAST($4 AS TEXT) IS NULL
            OR c.channel_id IN (SELECT value ->> 'c' FROM json_each($4)))
     ORDER BY c.channel_id LIMIT $3"
);

/// All channels by id, page by page.
const PAGE: &str = channels!("WHERE c.channel_id > $1 ORDER BY c.channel_id LIMIT $2");

/// Numbers of subscribers of the channels of a list.
const SUBSCRIBERS: &str = "
    SELECT channel_id, COUNT(*) FROM subscriptions
    WHERE cancelled_at = 0 AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))
    GROUP BY channel_id";

const IDS: &str = "SELECT channel_id FROM channels ORDER BY channel_id";

impl ChannelStore<'_> {
    /// Returns one channel.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn channel(&self, id: &ChannelId) -> Result<Option<Channel>, StoreError> {
        let row: Option<ChannelRow> =
            self.store.db.fetch_optional(query_as(ONE).bind(id.as_str())).await?;
        row.map(Channel::try_from).transpose()
    }

    /// Returns the ids of all channels, for operators.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn channel_ids(&self) -> Result<Vec<ChannelId>, StoreError> {
        let rows: Vec<(String,)> = self.store.db.fetch_all(query_as(IDS)).await?;
        Ok(rows.into_iter().map(|(id,)| id.into()).collect())
    }

    /// Returns all channels by id, after `after`, at most `limit`, each with its number of
    /// subscribers; for operators.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn list(
        &self,
        after: Option<&ChannelId>,
        limit: u32,
    ) -> Result<Vec<(Channel, i64)>, StoreError> {
        let after = after.map_or("", ChannelId::as_str);
        let rows: Vec<ChannelRow> =
            self.store.db.fetch_all(query_as(PAGE).bind(after).bind(i64::from(limit))).await?;
        let channels: Vec<_> = rows.into_iter().map(Channel::try_from).collect::<Result<_, _>>()?;
        let keys = channels.iter().map(|channel| BulkKey { c: channel.id.as_str(), m: None });
        let keys = serde_json::to_string(&keys.collect::<Vec<_>>())?;
        let counts: Vec<(String, i64)> =
            self.store.db.fetch_all(query_as(SUBSCRIBERS).bind(&keys)).await?;
        let counts: HashMap<_, _> = counts.into_iter().collect();
        let with_count = |channel: Channel| {
            let count = counts.get(channel.id.as_str()).copied().unwrap_or_default();
            (channel, count)
        };
        Ok(channels.into_iter().map(with_count).collect())
    }

    /// Returns the channels visible to a user, by id, after `after`, at most `limit`; only those of
    /// `only` if given.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn channels_of(
        &self,
        user: &UserId,
        only: Option<&[ChannelId]>,
        after: Option<&ChannelId>,
        limit: u32,
    ) -> Result<Vec<Channel>, StoreError> {
        let after = after.map_or("", ChannelId::as_str);
        let only = only.map(channel_keys).transpose()?;
        let rows: Vec<ChannelRow> = self
            .store
            .db
            .fetch_all(
                query_as(OF_USER)
                    .bind(user.as_str())
                    .bind(after)
                    .bind(i64::from(limit))
                    .bind(&only),
            )
            .await?;
        rows.into_iter().map(Channel::try_from).collect()
    }
}

/// Encodes channels as the JSON list that a statement reads.
pub(super) fn channel_keys<'a>(
    channels: impl IntoIterator<Item = &'a ChannelId>,
) -> Result<String, StoreError> {
    let key = |id: &'a ChannelId| BulkKey { c: id.as_str(), m: None };
    let keys: Vec<_> = channels.into_iter().map(key).collect();
    Ok(serde_json::to_string(&keys)?)
}

/// Decodes channels that [`channel_keys`] encoded.
pub(super) fn channels_of_keys(json: &str) -> Option<Vec<ChannelId>> {
    #[derive(Deserialize)]
    struct Key {
        c: ChannelId,
    }
    let keys: Vec<Key> = serde_json::from_str(json).ok()?;
    Some(keys.into_iter().map(|key| key.c).collect())
}

impl Channel {
    /// Returns the zone in which the channel's days begin: its own, else `service`, the service's.
    pub fn zone(&self, service: Tz) -> Tz {
        self.time_zone.as_deref().and_then(|name| name.parse().ok()).unwrap_or(service)
    }
}

impl TryFrom<ChannelRow> for Channel {
    type Error = StoreError;

    fn try_from(row: ChannelRow) -> Result<Self, StoreError> {
        let platform = PlatformKind::parse(&row.platform);
        let platform = parsed(platform, "channels", "platform", &row.channel_id)?;
        let kind = parsed(ChannelKind::parse(&row.r#type), "channels", "type", &row.channel_id)?;
        // An event from after the leave proves the bot's presence as well as a join does; a
        // subscription proves nothing.
        let joined = row.enabled_at;
        let back = if joined > row.disabled_at { joined } else { joined.max(row.resumed_at) };
        let gone = row.disabled_at > 0 && row.disabled_at >= back;
        let enabled = if back > 0 { back } else { row.created_at };
        Ok(Self {
            id: row.channel_id.into(),
            platform,
            kind,
            bot: row.bot,
            name: row.name,
            picture_url: row.picture_url,
            member_count: row.member_count,
            created_at: Timestamp::from_millis(row.created_at),
            created_by: row.created_by,
            enabled_at: Timestamp::from_millis(enabled),
            status: if gone { ChannelStatus::Disabled } else { ChannelStatus::Active },
            bytes: row.bytes,
            message_count: row.message_count,
            time_zone: row.time_zone,
            retention_days: row.retention_days,
            keeps_earlier_texts: row.keep_earlier_texts,
        })
    }
}
