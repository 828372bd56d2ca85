//! Stored data about one person, by channel: for the person themself.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::channels::channel_keys;
use super::{MemberStore, StoreError};
use crate::query::query_as;

/// Messages of one person in one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnMessages {
    /// Number of messages, without tombstones.
    pub messages: i64,
    /// Bytes of their contents, earlier texts and stored files.
    pub bytes: i64,
    /// Number of messages with a stored file.
    pub files: i64,
    /// Times of sending of the first and the last one.
    pub sent: Option<(Timestamp, Timestamp)>,
}

/// Channels that know a person: as a member, also a former one, or from an import.
const CHANNELS: &str = "
    SELECT channel_id FROM members WHERE user_id = $1 AND channel_id > $2
    UNION
    SELECT channel_id FROM imported_senders WHERE user_id = $1 AND channel_id > $2
    ORDER BY 1 LIMIT $3";
const TAKES_PART: &str = "
    SELECT (SELECT COUNT(*) FROM members WHERE user_id = $1 AND channel_id = $2)
           + (SELECT COUNT(*) FROM imported_senders WHERE user_id = $1 AND channel_id = $2)";
const MESSAGES: &str = "
    SELECT COUNT(*), CAST(COALESCE(SUM(COALESCE(OCTET_LENGTH(s.content), 0)
                                      + COALESCE(OCTET_LENGTH(s.earlier_texts), 0)), 0) AS BIGINT),
           CAST(COALESCE(SUM(f.bytes), 0) AS BIGINT), COUNT(f.message_id),
           MIN(s.sent_at), MAX(s.sent_at)
    FROM messages s
    LEFT JOIN media f ON f.channel_id = s.channel_id AND f.message_id = s.message_id
                     AND f.status = 'stored'
    WHERE s.channel_id = $1 AND s.sender_id = $2
      AND s.sent_at IS NOT NULL AND s.unsent_at IS NULL AND NOT s.skipped";
const COUNTS: &str = "
    SELECT channel_id, CAST(SUM(messages) AS BIGINT) FROM activity_counters
    WHERE counter = 'person' AND item = $2
      AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))
    GROUP BY channel_id";

type Row = (i64, i64, i64, i64, Option<i64>, Option<i64>);

impl MemberStore<'_> {
    /// Returns the channels that know a person, in whatever role, also after they left: by id, after
    /// `after`, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn channels_knowing(
        &self,
        user: &UserId,
        after: Option<&ChannelId>,
        limit: u32,
    ) -> Result<Vec<ChannelId>, StoreError> {
        let after = after.map_or("", ChannelId::as_str);
        let channels = query_as(CHANNELS).bind(user.as_str()).bind(after).bind(i64::from(limit));
        let rows: Vec<(String,)> = self.store.db.fetch_all(channels).await?;
        Ok(rows.into_iter().map(|(id,)| id.into()).collect())
    }

    /// Returns true if a channel knows a person, as [`Self::channels_knowing`] has it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn is_known(&self, user: &UserId, channel: &ChannelId) -> Result<bool, StoreError> {
        let known = query_as(TAKES_PART).bind(user.as_str()).bind(channel.as_str());
        let (known,): (i64,) = self.store.db.fetch_one(known).await?;
        Ok(known > 0)
    }

    /// Returns the number of a person's messages in each of these channels as the activity counters
    /// have it, without channels where nothing is stored.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn own_counts(
        &self,
        user: &UserId,
        channels: &[ChannelId],
    ) -> Result<HashMap<ChannelId, i64>, StoreError> {
        let keys = channel_keys(channels)?;
        let rows: Vec<(String, i64)> =
            self.store.db.fetch_all(query_as(COUNTS).bind(&keys).bind(user.as_str())).await?;
        Ok(rows.into_iter().map(|(channel, messages)| (channel.into(), messages)).collect())
    }

    /// Returns what is stored of a person's messages in a channel. Reads all of them.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn own_messages(
        &self,
        user: &UserId,
        channel: &ChannelId,
    ) -> Result<OwnMessages, StoreError> {
        let own = query_as(MESSAGES).bind(channel.as_str()).bind(user.as_str());
        let (messages, text, media, files, first, last): Row = self.store.db.fetch_one(own).await?;
        let sent = first.zip(last);
        let sent =
            sent.map(|(from, to)| (Timestamp::from_millis(from), Timestamp::from_millis(to)));
        Ok(OwnMessages { messages, bytes: text + media, files, sent })
    }
}
