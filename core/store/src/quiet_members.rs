//! Members who can read a group and from whom nothing came for a while: they may have left it while no
//! event could be received.

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::{MemberStore, StoreError, parsed};
use crate::presence_sql::{bot_has_left, takes_part};
use crate::query::{query, query_as};

/// Member of a group from whom nothing came for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietMember {
    /// User id.
    pub user: UserId,
    /// Group.
    pub channel: ChannelRef,
    /// Platform.
    pub platform: PlatformKind,
    /// Name of the bot in it.
    pub bot: String,
    /// Last time at which they are known to have been there, by the platform's clock.
    pub seen_at: Timestamp,
}

/// Each table is read by its key: SQLite reads joined tables in this order.
const QUIET: &str = concat!(
    "WITH readers AS (SELECT user_id FROM sessions UNION SELECT user_id FROM api_keys
                      UNION SELECT user_id FROM oauth_grants UNION SELECT user_id FROM webhooks)
     SELECT m.user_id, m.channel_id, c.platform, c.bot, m.first_seen_at, m.last_seen_at, m.joined_at
     FROM readers r CROSS JOIN members m CROSS JOIN channels c
     WHERE m.user_id = r.user_id AND c.channel_id = m.channel_id AND c.type = 'group'
       AND (m.user_id > $2 OR m.user_id = $2 AND m.channel_id > $3)
       AND m.first_seen_at < $1 AND m.last_seen_at < $1 AND m.joined_at < $1
       AND ",
    takes_part!("m"),
    " AND NOT ",
    bot_has_left!("c"),
    " AND NOT EXISTS (SELECT 1 FROM membership_checks k
                      WHERE k.channel_id = m.channel_id AND k.user_id = m.user_id
                        AND k.checked_at >= $1)
     ORDER BY m.user_id, m.channel_id LIMIT $4"
);
const CONFIRM: &str = "
    INSERT INTO membership_checks (channel_id, user_id, checked_at)
    SELECT value ->> 'c', value ->> 'u', CAST($2 AS BIGINT) FROM json_each($1) WHERE TRUE
    ON CONFLICT (channel_id, user_id) DO UPDATE SET
        checked_at = excluded.checked_at, claimed_until = 0";

#[derive(Debug, sqlx_macros::FromRow)]
struct Row {
    user_id: String,
    channel_id: String,
    platform: String,
    bot: String,
    first_seen_at: i64,
    last_seen_at: i64,
    joined_at: i64,
}

impl TryFrom<Row> for QuietMember {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let platform = PlatformKind::parse(&row.platform);
        let seen_at = row.first_seen_at.max(row.last_seen_at).max(row.joined_at);
        Ok(Self {
            platform: parsed(platform, "channels", "platform", &row.channel_id)?,
            user: row.user_id.into(),
            channel: ChannelRef { id: row.channel_id.into(), kind: ChannelKind::Group },
            bot: row.bot,
            seen_at: Timestamp::from_millis(seen_at),
        })
    }
}

#[derive(Serialize)]
struct Confirmed<'a> {
    c: &'a str,
    u: &'a str,
}

impl MemberStore<'_> {
    /// Returns members of groups who can read them by a session, a key, a program or a webhook, and of
    /// whom nothing was heard, nor confirmed by the platform, since `before`: in the order of users and
    /// channels, after `after`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn quiet_members(
        &self,
        before: Timestamp,
        after: Option<&(UserId, ChannelId)>,
        limit: u32,
    ) -> Result<Vec<QuietMember>, StoreError> {
        let (user, channel) = after.map_or(("", ""), |(user, id)| (user.as_str(), id.as_str()));
        let query = query_as(QUIET).bind(before.millis()).bind(user).bind(channel);
        let rows: Vec<Row> = self.store.db.fetch_all(query.bind(i64::from(limit))).await?;
        rows.into_iter().map(QuietMember::try_from).collect()
    }

    /// Records that the platform knows these members in their channels.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn confirm_members(
        &self,
        members: &[(ChannelId, UserId)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if members.is_empty() {
            return Ok(());
        }
        let rows = members.iter().map(|(c, u)| Confirmed { c: c.as_str(), u: u.as_str() });
        let rows = serde_json::to_string(&rows.collect::<Vec<_>>())?;
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(CONFIRM).bind(rows).bind(now.millis())).await?;
        tx.commit().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn those_who_can_read_are_found_by_their_keys() {
        let steps = plan(QUIET).await.join("\n");
        for step in ["members_by_user (user_id=?", "SEARCH c USING", "SEARCH k USING"] {
            assert!(steps.contains(step), "{step}: {steps}");
        }
    }
}
