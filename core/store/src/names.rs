//! Names of channels and of people in them, with the times of their last messages, for callers who
//! name one.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;
use chrono_tz::Tz;

use super::channels::channel_keys;
use super::members::UserKey;
use super::{ChannelStore, MemberStore, StoreError};
use crate::presence_sql::takes_part;
use crate::query::{Query, query_as};

/// Channel with what it is called by and read in.
#[derive(Clone, Debug)]
pub struct ChannelName {
    /// Channel id.
    pub id: ChannelId,
    /// Name, once known.
    pub name: Option<String>,
    /// IANA name of the zone in which its days begin; `None` for the service's.
    pub time_zone: Option<String>,
}

impl ChannelName {
    /// Returns the zone in which the channel's days begin: its own, else `service`, the service's.
    pub fn zone(&self, service: Tz) -> Tz {
        self.time_zone.as_deref().and_then(|name| name.parse().ok()).unwrap_or(service)
    }
}

/// Ids and names of the channels of a user, without what has to be counted.
const NAMES_OF_USER: &str = concat!(
    "SELECT c.channel_id, c.name, c.time_zone
     FROM channels c JOIN members m ON m.channel_id = c.channel_id
     WHERE m.user_id = $1 AND ",
    takes_part!("m"),
    " AND (CAST($3 AS TEXT) IS NULL
           OR c.channel_id IN (SELECT value ->> 'c' FROM json_each($3)))
     ORDER BY c.channel_id LIMIT $2"
);

/// Builds the statement of the people of channels with their names: those of `members` and those of
/// `imported_senders`, each with a condition on the row `p`.
macro_rules! names {
    ($of_members:expr, $of_imported:expr) => {
        concat!(
            "SELECT s.user_id, u.display_name
             FROM (SELECT p.user_id FROM members p
                   WHERE TRUE",
            $of_members,
            "        AND p.channel_id IN (SELECT value ->> 'c' FROM json_each($1))
                   UNION
                   SELECT p.user_id FROM imported_senders p
                   WHERE TRUE",
            $of_imported,
            "        AND p.channel_id IN (SELECT value ->> 'c' FROM json_each($1))) s
             LEFT JOIN users u ON u.user_id = s.user_id"
        )
    };
}

/// Builds the time of the newest message of the person and channel of the row `$p`: one lookup of the
/// index by sender.
macro_rules! last_sent {
    ($p:literal) => {
        concat!(
            "(SELECT MAX(m.sent_at) FROM messages m
              WHERE m.channel_id = ",
            $p,
            ".channel_id AND m.sender_id = ",
            $p,
            ".user_id AND m.sent_at IS NOT NULL)"
        )
    };
}

/// Builds the condition that the person of the row `p` has a message that was sent at or after `$2`.
macro_rules! wrote_since {
    () => {
        concat!(" AND ", last_sent!("p"), " >= $2 ")
    };
}

/// Members, and people whose messages were imported.
const NAMES: &str = names!(" ", " ");

/// Members, and people whose messages were imported, some of them sent at or after a time.
const NAMES_SINCE: &str = names!(" ", wrote_since!());

/// Members and people whose messages were imported, if some of theirs were sent at or after a time.
const AUTHORS: &str = names!(wrote_since!(), wrote_since!());

/// People whose messages were imported and who were never seen in a channel.
const IMPORTED_ONLY: &str = "
    SELECT COUNT(*) FROM imported_senders i
    WHERE i.channel_id = $1
      AND NOT EXISTS (SELECT 1 FROM members m
                      WHERE m.channel_id = i.channel_id AND m.user_id = i.user_id)";

/// Bots that wrote into channels: of each channel in which a bot's messages are counted, each sender
/// is one lookup of the index by sender, and one of their messages tells whether they are a bot.
const BOTS: &str = "
    WITH RECURSIVE senders (channel_id, sender_id) AS (
        SELECT c.channel_id,
               (SELECT MIN(m.sender_id) FROM messages m
                WHERE m.channel_id = c.channel_id AND m.sender_id IS NOT NULL
                  AND m.sent_at IS NOT NULL)
        FROM channels c
        WHERE c.channel_id IN (SELECT value ->> 'c' FROM json_each($1))
          AND EXISTS (SELECT 1 FROM activity_counters a
                      WHERE a.channel_id = c.channel_id AND a.counter = 'bot')
        UNION ALL
        SELECT s.channel_id,
               (SELECT MIN(m.sender_id) FROM messages m
                WHERE m.channel_id = s.channel_id AND m.sender_id > s.sender_id
                  AND m.sender_id IS NOT NULL AND m.sent_at IS NOT NULL)
        FROM senders s WHERE s.sender_id IS NOT NULL)
    SELECT DISTINCT s.sender_id, u.display_name
    FROM senders s LEFT JOIN users u ON u.user_id = s.sender_id
    WHERE s.sender_id IS NOT NULL
      AND (SELECT m.is_bot FROM messages m
           WHERE m.channel_id = s.channel_id AND m.sender_id = s.sender_id
             AND m.sent_at IS NOT NULL
           LIMIT 1)";

/// Newest messages of people in channels.
const LAST_MESSAGES: &str = concat!(
    "SELECT s.user_id, MAX(",
    last_sent!("s"),
    ")
     FROM (SELECT channel_id, user_id FROM members
           WHERE user_id IN (SELECT value ->> 'u' FROM json_each($2))
             AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))
           UNION
           SELECT channel_id, user_id FROM imported_senders
           WHERE user_id IN (SELECT value ->> 'u' FROM json_each($2))
             AND channel_id IN (SELECT value ->> 'c' FROM json_each($1))) s
     GROUP BY s.user_id"
);

impl ChannelStore<'_> {
    /// Returns the names of the channels visible to a user, by id, at most `limit`; only those of
    /// `only` if given.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn names_of(
        &self,
        user: &UserId,
        only: Option<&[ChannelId]>,
        limit: u32,
    ) -> Result<Vec<ChannelName>, StoreError> {
        let only = only.map(channel_keys).transpose()?;
        let names = query_as(NAMES_OF_USER).bind(user.as_str()).bind(i64::from(limit)).bind(&only);
        let rows: Vec<(String, Option<String>, Option<String>)> =
            self.store.db.fetch_all(names).await?;
        let channel = |(id, name, time_zone): (String, _, _)| {
            let id = ChannelId::from(id);
            ChannelName { id, name, time_zone }
        };
        Ok(rows.into_iter().map(channel).collect())
    }
}

impl MemberStore<'_> {
    /// Returns the people who are or were in these channels, or whose messages were imported into
    /// them, with their names if known.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn names_in(
        &self,
        channels: &[ChannelId],
    ) -> Result<Vec<(UserId, Option<String>)>, StoreError> {
        let channels = channel_keys(channels)?;
        self.named(query_as(NAMES).bind(&channels)).await
    }

    /// Returns the people who are or were in these channels, and those of whom messages were imported
    /// that were sent at or after a time, with their names if known.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn names_since(
        &self,
        channels: &[ChannelId],
        since: Timestamp,
    ) -> Result<Vec<(UserId, Option<String>)>, StoreError> {
        let channels = channel_keys(channels)?;
        self.named(query_as(NAMES_SINCE).bind(&channels).bind(since.millis())).await
    }

    /// Returns the people with a stored message in these channels that was sent at or after a time,
    /// or at any, with their names if known.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn authors_in(
        &self,
        channels: &[ChannelId],
        since: Option<Timestamp>,
    ) -> Result<Vec<(UserId, Option<String>)>, StoreError> {
        let channels = channel_keys(channels)?;
        let since = since.map_or(i64::MIN, Timestamp::millis);
        self.named(query_as(AUTHORS).bind(&channels).bind(since)).await
    }

    /// Returns the number of people whose messages were imported into a channel and who are none of
    /// its members, present or former.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn imported_only(&self, channel: &ChannelId) -> Result<i64, StoreError> {
        let count = query_as(IMPORTED_ONLY).bind(channel.as_str());
        let (count,): (i64,) = self.store.db.fetch_one(count).await?;
        Ok(count)
    }

    /// Returns the bots with stored messages in these channels, with their names if known.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn bots_in(
        &self,
        channels: &[ChannelId],
    ) -> Result<Vec<(UserId, Option<String>)>, StoreError> {
        let channels = channel_keys(channels)?;
        self.named(query_as(BOTS).bind(&channels)).await
    }

    /// Returns the ids and names that a statement finds.
    async fn named(
        &self,
        statement: Query<'_, (String, Option<String>)>,
    ) -> Result<Vec<(UserId, Option<String>)>, StoreError> {
        let rows = self.store.db.fetch_all(statement).await?;
        Ok(rows.into_iter().map(|(id, name)| (UserId::new(id), name)).collect())
    }

    /// Returns the time of the newest stored message of each of these people in these channels;
    /// people without any are left out.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn last_messages(
        &self,
        channels: &[ChannelId],
        people: &[UserId],
    ) -> Result<HashMap<UserId, Timestamp>, StoreError> {
        let channels = channel_keys(channels)?;
        let people: Vec<_> = people.iter().map(|user| UserKey { u: user.as_str() }).collect();
        let people = serde_json::to_string(&people)?;
        let rows: Vec<(String, Option<i64>)> =
            self.store.db.fetch_all(query_as(LAST_MESSAGES).bind(&channels).bind(&people)).await?;
        let last = |(user, at): (String, Option<i64>)| {
            Some((UserId::new(user), Timestamp::from_millis(at?)))
        };
        Ok(rows.into_iter().filter_map(last).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn last_messages_are_looked_up_by_the_index_of_senders() {
        let steps = plan(LAST_MESSAGES).await.join("\n");
        assert!(steps.contains("messages_by_sender (channel_id=? AND sender_id=?"), "{steps}");
        assert!(!steps.contains("SCAN members"), "{steps}");
        assert!(!steps.contains("SCAN imported_senders"), "{steps}");
    }

    #[tokio::test]
    async fn authors_are_looked_up_by_the_index_of_senders() {
        for (sql, lookups) in [(NAMES, 0), (NAMES_SINCE, 1), (AUTHORS, 2)] {
            let steps = plan(sql).await.join("\n");
            let lookup = "messages_by_sender (channel_id=? AND sender_id=?";
            assert_eq!(steps.matches(lookup).count(), lookups, "{steps}");
            assert!(!steps.contains("SCAN m") && !steps.contains("SCAN p"), "{steps}");
        }
    }

    #[tokio::test]
    async fn bots_are_found_by_one_lookup_of_each_sender() {
        let steps = plan(BOTS).await.join("\n");
        for lookup in [
            "messages_by_sender (channel_id=? AND sender_id>?)",
            "messages_by_sender (channel_id=? AND sender_id=? ",
        ] {
            assert!(steps.contains(lookup), "{steps}");
        }
        assert!(!steps.contains("SCAN m") && !steps.contains("SCAN c"), "{steps}");
    }
}
