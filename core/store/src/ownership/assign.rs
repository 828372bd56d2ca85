//! Reassignment of channels by operators: a bot that is removed from the settings, or renamed,
//! never leaves its channels.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::super::coverage::{CoverageChange, note};
use super::super::{ChannelStore, StoreError, channel_locks};
use super::settle::{DEPOSE, MOVE, Move};
use crate::presence_sql::bot_has_left;
use crate::query::{query, query_as};

/// Number of a bot's channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotChannels {
    /// Bot; empty for channels that belong to none.
    pub bot: String,
    /// Number of its channels.
    pub channels: i64,
}

const OF_BOTS: &str = "SELECT bot, COUNT(*) FROM channels GROUP BY bot ORDER BY bot";

const OWNER: &str = concat!(
    "SELECT bot, CASE WHEN ",
    bot_has_left!("channels"),
    " THEN 1 ELSE 0 END FROM channels WHERE channel_id = $1"
);

const ASSIGN: &str = "UPDATE channels SET bot = $2 WHERE channel_id = $1";

const ENABLE: &str = "UPDATE channels SET enabled_at = $2 WHERE channel_id = $1";

/// Channels that belong to a bot, and those that it was in.
const RENAMED: &str = "
    SELECT channel_id FROM channels WHERE bot = $1
    UNION SELECT channel_id FROM channel_bots WHERE bot = $1";

const RENAME: &str = "UPDATE channels SET bot = $2 WHERE bot = $1";

/// Tenures under the old name hold for the new one, too.
const INHERIT: &str = "
    INSERT INTO channel_bots (channel_id, bot, joined_at, left_at, owned_until)
    SELECT channel_id, $2, joined_at, left_at, owned_until FROM channel_bots WHERE bot = $1
    ON CONFLICT (channel_id, bot) DO UPDATE SET
        joined_at = CASE WHEN excluded.joined_at > channel_bots.joined_at
                         THEN excluded.joined_at ELSE channel_bots.joined_at END,
        left_at = CASE WHEN excluded.left_at > channel_bots.left_at
                       THEN excluded.left_at ELSE channel_bots.left_at END";

/// Events of the old name that are on their way still count.
const RETIRE: &str = "UPDATE channel_bots SET owned_until = $2 WHERE bot = $1";

impl ChannelStore<'_> {
    /// Returns the owning bots, by name, with the number of their channels.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn bots_of_channels(&self) -> Result<Vec<BotChannels>, StoreError> {
        let rows: Vec<(String, i64)> = self.store.db.fetch_all(query_as(OF_BOTS)).await?;
        Ok(rows.into_iter().map(|(bot, channels)| BotChannels { bot, channels }).collect())
    }

    /// Assigns a channel to a bot, as if it had joined it now. `false` when there is no such
    /// channel. Events sent by its former bot until now still count.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn assign_channel(
        &self,
        channel: &ChannelId,
        bot: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (c, at) = (channel.as_str(), now.millis());
        let mut tx = self.store.db.begin().await?;
        channel_locks::lock_one(&mut tx, channel).await?;
        let known: Option<(String, i32)> = tx.fetch_optional(query_as(OWNER).bind(c)).await?;
        let Some((owner, gone)) = known else {
            return Ok(false);
        };
        tx.execute(query(ASSIGN).bind(c).bind(bot)).await?;
        let joined = serde_json::to_string(&[Move { c, bot, joined: at, left: 0 }])?;
        tx.execute(query(MOVE).bind(&joined)).await?;
        if !owner.is_empty() && owner != bot {
            tx.execute(query(DEPOSE).bind(c).bind(&owner).bind(at)).await?;
        }
        if gone != 0 {
            tx.execute(query(ENABLE).bind(c).bind(at)).await?;
            note(&mut tx, channel, now, CoverageChange::BotJoined).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Assigns all channels of one bot to another, for a renamed bot. Returns their number.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn rename_bot(
        &self,
        from: &str,
        to: &str,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let channels: Vec<(String,)> = tx.fetch_all(query_as(RENAMED).bind(from)).await?;
        let channels: Vec<_> = channels.into_iter().map(|(id,)| ChannelId::new(id)).collect();
        // In the order of everybody else: the statements below take rows as they find them.
        channel_locks::lock(&mut tx, &channels).await?;
        let renamed = tx.execute(query(RENAME).bind(from).bind(to)).await?;
        tx.execute(query(INHERIT).bind(from).bind(to)).await?;
        tx.execute(query(RETIRE).bind(from).bind(now.millis())).await?;
        tx.commit().await?;
        Ok(renamed)
    }
}
