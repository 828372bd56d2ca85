//! Usage of storage: the bytes of each channel that count for a user who subscribes to it.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};

use super::{AccountStore, StoreError};
use crate::query::query_as;

/// Part of a channel in a user's usage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelUsage {
    /// Channel.
    pub channel: ChannelId,
    /// Stored bytes of the channel.
    pub bytes: i64,
    /// Baseline.
    pub bytes_at_subscribe: i64,
    /// Number of stored messages of the channel.
    pub message_count: i64,
}

/// Usage of a user by channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserUsage {
    /// One entry per active subscription.
    pub channels: Vec<ChannelUsage>,
}

impl UserUsage {
    /// Used bytes: those of each channel beyond its baseline.
    pub fn total(&self) -> i64 {
        self.channels.iter().map(|c| (c.bytes - c.bytes_at_subscribe).max(0)).sum()
    }
}

const USAGE: &str = "
    SELECT s.channel_id, c.bytes, s.bytes_at_subscribe, c.message_count
    FROM subscriptions s JOIN channels c ON c.channel_id = s.channel_id
    WHERE s.user_id = $1 AND s.cancelled_at = 0 ORDER BY s.channel_id";

impl AccountStore<'_> {
    /// Returns a user's usage by channel.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn usage(&self, user: &UserId) -> Result<UserUsage, StoreError> {
        let rows: Vec<(String, i64, i64, i64)> =
            self.store.db.fetch_all(query_as(USAGE).bind(user.as_str())).await?;
        let usage =
            |(channel, bytes, bytes_at_subscribe, message_count): (String, _, _, _)| ChannelUsage {
                channel: ChannelId::from(channel),
                bytes,
                bytes_at_subscribe,
                message_count,
            };
        Ok(UserUsage { channels: rows.into_iter().map(usage).collect() })
    }
}
