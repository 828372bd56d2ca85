//! Figures of many channels at once, for lists of channels.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_core::time::Timestamp;

use super::channels::channel_keys;
use super::ledger::{Ledger, SubscriberRow};
use super::subscriptions::BackupState;
use super::{
    AccountStore, AssistantStore, MediaStore, MemberStore, MessageStore, StoreError, StoredMessage,
};
use crate::db::Sql;
use crate::query::query_as;
use crate::replies::parsed_reason;
use crate::subscriptions::subscribers;

const NEWEST: &str = "
    SELECT k.value ->> 'c',
           (SELECT m.message_id FROM messages m
            WHERE m.channel_id = k.value ->> 'c' AND m.sent_at IS NOT NULL
            ORDER BY m.sent_at DESC, m.message_id DESC LIMIT 1)
    FROM json_each($1) k";

/// Builds the lookup of the newest messages of the channel of a key. Each key is one lookup of the
/// index by time, which has them in order.
macro_rules! recent {
    () => {
        "SELECT r.message_id FROM messages r
         WHERE r.channel_id = k.value ->> 'c' AND r.sent_at IS NOT NULL AND r.sent_at >= $2
         ORDER BY r.sent_at DESC, r.message_id DESC LIMIT $3"
    };
}

const RECENT: Sql = Sql {
    sqlite: concat!(
        "SELECT m.channel_id, m.message_id FROM json_each($1) k CROSS JOIN messages m
         WHERE m.channel_id = k.value ->> 'c' AND m.message_id IN (",
        recent!(),
        ")"
    ),
    postgres: concat!(
        "SELECT k.value ->> 'c', m.message_id FROM json_each($1) k CROSS JOIN LATERAL (",
        recent!(),
        ") m"
    ),
};

const MISSING_MEDIA: &str = "
    SELECT f.channel_id, COUNT(*) FROM media f
    WHERE f.channel_id IN (SELECT value ->> 'c' FROM json_each($1))
      AND f.sent_at >= $2 AND f.status IN ('skipped', 'failed', 'expired')
    GROUP BY f.channel_id";

const ADMINISTERED: &str = "
    SELECT channel_id FROM members
    WHERE user_id = $2 AND role IN ('owner', 'admin')
      AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))";

const ANSWERS: &str = "
    SELECT COUNT(*) FROM replies WHERE channel_id = $1 AND created_at >= $2 AND status = 'sent'";

const NOT_GIVEN: &str = "
    SELECT reason, COUNT(*) FROM replies
    WHERE channel_id = $1 AND created_at >= $2 AND status = 'failed' AND reason IS NOT NULL
    GROUP BY reason ORDER BY COUNT(*) DESC, reason";

const SUBSCRIBERS: &str = subscribers!("s.channel_id IN (SELECT value ->> 'c' FROM json_each($1))");

impl AccountStore<'_> {
    /// Returns the state of the backup of each of these channels.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn backup_states(
        &self,
        channels: &[ChannelId],
    ) -> Result<HashMap<ChannelId, BackupState>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<SubscriberRow> =
            self.store.db.fetch_all(query_as(SUBSCRIBERS).bind(&keys)).await?;
        let ledger = Ledger::new(channels.iter().cloned(), rows)?;
        let state = |channel: &ChannelId| {
            let state = if !ledger.subscribed(channel) {
                BackupState::Off
            } else if ledger.paused(channel) {
                BackupState::Paused
            } else {
                BackupState::Running
            };
            (channel.clone(), state)
        };
        Ok(channels.iter().map(state).collect())
    }
}

impl MemberStore<'_> {
    /// Returns those of these channels in which the user has the role of an admin or the owner.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn administered(
        &self,
        user: &UserId,
        channels: &[ChannelId],
    ) -> Result<Vec<ChannelId>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<(String,)> =
            self.store.db.fetch_all(query_as(ADMINISTERED).bind(&keys).bind(user.as_str())).await?;
        Ok(rows.into_iter().map(|(channel,)| channel.into()).collect())
    }
}

impl AssistantStore<'_> {
    /// Returns the number of replies of a channel's bot since that time.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn answers_since(
        &self,
        channel: &ChannelId,
        since: Timestamp,
    ) -> Result<i64, StoreError> {
        let answers = query_as(ANSWERS).bind(channel.as_str()).bind(since.millis());
        let (count,): (i64,) = self.store.db.fetch_one(answers).await?;
        Ok(count)
    }

    /// Returns the number of replies since that time that were not given, as far as is known, by
    /// the recorded reason; the most frequent first.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn replies_not_given(
        &self,
        channel: &ChannelId,
        since: Timestamp,
    ) -> Result<Vec<(ReplyFailureReason, i64)>, StoreError> {
        let not_given = query_as(NOT_GIVEN).bind(channel.as_str()).bind(since.millis());
        let counts: Vec<(String, i64)> = self.store.db.fetch_all(not_given).await?;
        let typed =
            |(reason, count): (String, i64)| Ok((parsed_reason(&reason, channel.as_str())?, count));
        counts.into_iter().map(typed).collect()
    }
}

impl MessageStore<'_> {
    /// Returns the newest stored message of each of these channels that has any.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
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

impl MessageStore<'_> {
    /// Returns the newest stored messages of each of these channels that has any, newest first, at
    /// most `limit` of each and none from before `since`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn recent_messages(
        &self,
        channels: &[ChannelId],
        since: Option<Timestamp>,
        limit: u32,
    ) -> Result<HashMap<ChannelId, Vec<StoredMessage>>, StoreError> {
        let keys = channel_keys(channels)?;
        let since = since.map_or(i64::MIN, Timestamp::millis);
        let recent = query_as(RECENT).bind(&keys).bind(since).bind(i64::from(limit));
        let rows: Vec<(String, String)> = self.store.db.fetch_all(recent).await?;
        let recent: Vec<_> = rows.into_iter().map(|(c, m)| (c.into(), m.into())).collect();
        let mut messages = self.chosen_messages(&recent).await?;
        messages.sort_by(|a, b| (b.sent_at, &b.id).cmp(&(a.sent_at, &a.id)));
        let mut by_channel: HashMap<ChannelId, Vec<StoredMessage>> = HashMap::new();
        for message in messages {
            by_channel.entry(message.channel.clone()).or_default().push(message);
        }
        Ok(by_channel)
    }
}

impl MediaStore<'_> {
    /// Returns the number of media files of messages sent since that time that could not be
    /// stored, for each of these channels that has any.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn lost_media(
        &self,
        channels: &[ChannelId],
        since: Timestamp,
    ) -> Result<HashMap<ChannelId, i64>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<(String, i64)> = self
            .store
            .db
            .fetch_all(query_as(MISSING_MEDIA).bind(&keys).bind(since.millis()))
            .await?;
        Ok(rows.into_iter().map(|(channel, count)| (channel.into(), count)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn the_newest_messages_are_looked_up_by_indexes() {
        let steps = plan(RECENT.sqlite).await.join("\n");
        assert!(steps.contains("messages_by_time (channel_id=? AND sent_at>?)"), "{steps}");
        assert!(!steps.contains("SCAN m") && !steps.contains("SCAN r"), "{steps}");
        assert!(!steps.contains("TEMP B-TREE"), "{steps}");
    }
}
