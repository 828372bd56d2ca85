//! Figures of many channels at once, for lists of channels.

use std::collections::HashMap;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::time::Timestamp;

use super::channels::channel_keys;
use super::{MediaStore, MessageStore, StoreError, StoredMessage};
use crate::query::query_as;

const NEWEST: &str = "
    SELECT k.value ->> 'c',
           (SELECT m.message_id FROM messages m
            WHERE m.channel_id = k.value ->> 'c' AND m.sent_at IS NOT NULL
            ORDER BY m.sent_at DESC, m.message_id DESC LIMIT 1)
    FROM json_each($1) k";

const LOST: &str = "
    SELECT f.channel_id, COUNT(*) FROM media f
    WHERE f.channel_id IN (SELECT value ->> 'c' FROM json_each($1))
      AND f.sent_at >= $2 AND f.status IN ('skipped', 'failed', 'expired')
    GROUP BY f.channel_id";

const STORED: &str = "
    SELECT channel_id, COUNT(*) FROM media
    WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1)) AND status = 'stored'
    GROUP BY channel_id";

impl MessageStore<'_> {
    /// Returns the newest stored message of each of these channels that has any.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn newest_messages(
        &self,
        channels: &[ChannelId],
    ) -> Result<HashMap<ChannelId, StoredMessage>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<(String, Option<String>)> =
            self.store.db.fetch_all(query_as(NEWEST).bind(&keys)).await?;
        let newest = rows.into_iter().filter_map(|(channel, message)| {
            Some((ChannelId::from(channel), MessageId::from(message?)))
        });
        let newest: Vec<_> = newest.collect();
        let messages = self.chosen_messages(&newest).await?;
        Ok(messages.into_iter().map(|message| (message.channel.clone(), message)).collect())
    }
}

impl MediaStore<'_> {
    /// Returns the number of stored media files for each of these channels that has any.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn stored_media(
        &self,
        channels: &[ChannelId],
    ) -> Result<HashMap<ChannelId, i64>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<(String, i64)> =
            self.store.db.fetch_all(query_as(STORED).bind(&keys)).await?;
        Ok(rows.into_iter().map(|(channel, count)| (channel.into(), count)).collect())
    }

    /// Returns the number of media files of messages sent since that time that could not be
    /// stored, for each of these channels that has any.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn lost_media(
        &self,
        channels: &[ChannelId],
        since: Timestamp,
    ) -> Result<HashMap<ChannelId, i64>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<(String, i64)> =
            self.store.db.fetch_all(query_as(LOST).bind(&keys).bind(since.millis())).await?;
        Ok(rows.into_iter().map(|(channel, count)| (channel.into(), count)).collect())
    }
}
