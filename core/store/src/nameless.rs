//! People and channels whose names were never fetched, though a bot can see them.

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::{ChannelKind, ChannelRef};
use chatkeep_core::id::{ChannelId, UserId};

use super::{ChannelStore, MemberStore, StoreError, parsed};
use crate::presence_sql::{bot_has_left, has_left};
use crate::query::query_as;

/// Person without a profile, and a channel that they and a bot are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamelessMember {
    /// User id.
    pub user: UserId,
    /// Channel.
    pub channel: ChannelRef,
    /// Name of the bot in it.
    pub bot: String,
}

/// Channel without a name, picture and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamelessChannel {
    /// Channel.
    pub channel: ChannelRef,
    /// Name of the bot in it.
    pub bot: String,
}

const NAMELESS_CHANNELS: &str = concat!(
    "SELECT channel_id, type, bot FROM channels
     WHERE summary_at = 0 AND channel_id > $1 AND NOT ",
    bot_has_left!("channels"),
    " ORDER BY channel_id LIMIT $2"
);

const NAMELESS_MEMBERS: &str = concat!(
    "SELECT u.user_id, c.channel_id, c.type, c.bot
     FROM users u JOIN channels c ON c.channel_id =
         (SELECT MIN(m.channel_id) FROM members m JOIN channels a ON a.channel_id = m.channel_id
          WHERE m.user_id = u.user_id AND NOT ",
    has_left!("m"),
    " AND NOT ",
    bot_has_left!("a"),
    ")
     WHERE u.profile_at = 0 AND u.user_id > $1
     ORDER BY u.user_id LIMIT $2"
);

impl MemberStore<'_> {
    /// Returns people whose profile was never fetched, in the order of their ids after `after`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn nameless(
        &self,
        after: Option<&UserId>,
        limit: u32,
    ) -> Result<Vec<NamelessMember>, StoreError> {
        let after = after.map_or("", UserId::as_str);
        let rows: Vec<(String, String, String, String)> = self
            .store
            .db
            .fetch_all(query_as(NAMELESS_MEMBERS).bind(after).bind(i64::from(limit)))
            .await?;
        let member = |(user, channel, kind, bot): (String, String, String, String)| {
            Ok(NamelessMember { user: user.into(), channel: channel_ref(channel, &kind)?, bot })
        };
        rows.into_iter().map(member).collect()
    }
}

impl ChannelStore<'_> {
    /// Returns channels with a bot whose names were never fetched, in the order of their ids after
    /// `after`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn nameless(
        &self,
        after: Option<&ChannelId>,
        limit: u32,
    ) -> Result<Vec<NamelessChannel>, StoreError> {
        let after = after.map_or("", ChannelId::as_str);
        let query = query_as(NAMELESS_CHANNELS).bind(after).bind(i64::from(limit));
        let rows: Vec<(String, String, String)> = self.store.db.fetch_all(query).await?;
        let channel = |(channel, kind, bot): (String, String, String)| {
            Ok(NamelessChannel { channel: channel_ref(channel, &kind)?, bot })
        };
        rows.into_iter().map(channel).collect()
    }
}

fn channel_ref(id: String, kind: &str) -> Result<ChannelRef, StoreError> {
    let kind = parsed(ChannelKind::parse(kind), "channels", "type", &id)?;
    Ok(ChannelRef { id: id.into(), kind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn few_without_a_name_are_found_among_many() {
        let steps = plan(NAMELESS_MEMBERS).await.join("\n");
        assert!(steps.contains("users_nameless (user_id>?)"), "{steps}");
        let steps = plan(NAMELESS_CHANNELS).await.join("\n");
        assert!(steps.contains("channels_nameless (channel_id>?)"), "{steps}");
    }
}
