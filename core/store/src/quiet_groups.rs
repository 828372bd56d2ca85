//! Groups about which the platform has not been asked for a while, for nothing came from them: the bot may
//! have been removed while no event could be received.

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::{ChannelStore, StoreError, parsed};
use crate::presence_sql::bot_has_left;
use crate::query::query_as;

/// Group from which nothing came for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuietGroup {
    /// Channel.
    pub channel: ChannelRef,
    /// Platform.
    pub platform: PlatformKind,
    /// Name of the bot in it.
    pub bot: String,
    /// Last time at which the bot is known to have been there, by the platform's clock.
    pub seen_at: Timestamp,
}

const QUIET: &str = concat!(
    "SELECT c.channel_id, c.platform, c.bot, c.enabled_at, c.resumed_at,
            COALESCE((SELECT MAX(m.last_seen_at) FROM members m
                      WHERE m.channel_id = c.channel_id), 0)
     FROM channels c
     WHERE c.type = 'group' AND c.summary_at > 0 AND c.summary_at < $1 AND c.channel_id > $2 AND NOT ",
    bot_has_left!("c"),
    " ORDER BY c.channel_id LIMIT $3"
);

impl ChannelStore<'_> {
    /// Returns groups with a bot whose summary was saved before `before`, in the order of their ids after
    /// `after`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn quiet_groups(
        &self,
        before: Timestamp,
        after: Option<&ChannelId>,
        limit: u32,
    ) -> Result<Vec<QuietGroup>, StoreError> {
        let after = after.map_or("", ChannelId::as_str);
        let query = query_as(QUIET).bind(before.millis()).bind(after).bind(i64::from(limit));
        let rows: Vec<(String, String, String, i64, i64, i64)> =
            self.store.db.fetch_all(query).await?;
        let group =
            |(id, platform, bot, enabled, resumed, seen): (String, String, _, i64, i64, i64)| {
                let platform = parsed(PlatformKind::parse(&platform), "channels", "platform", &id)?;
                let channel = ChannelRef { id: id.into(), kind: ChannelKind::Group };
                let seen_at = Timestamp::from_millis(enabled.max(resumed).max(seen));
                Ok(QuietGroup { channel, platform, bot, seen_at })
            };
        rows.into_iter().map(group).collect()
    }
}
