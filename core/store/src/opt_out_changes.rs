//! Opting out of the backup, and in again.

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::opt_outs::OptOuts;
use super::users::lock_user;
use super::{MemberStore, StoreError, channel_locks};
use crate::query::{query, query_as};

/// Maximum number of changes by one person to one channel, or to all. Beyond it nobody opts in any
/// more.
const CHANGES: i64 = 1_000;

const OF_PERSON: &str = "SELECT channel_id FROM members WHERE user_id = $1";
const COUNT: &str = "
    SELECT COUNT(*) FILTER (WHERE channel_id = $2), COALESCE(MAX(at), 0)
    FROM opt_outs WHERE user_id = $1";
/// A conflict takes two at once by somebody without a row to lock: both say it for that time.
const ADD: &str = "
    INSERT INTO opt_outs (user_id, channel_id, at, opted_out) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id, channel_id, at) DO UPDATE SET opted_out = excluded.opted_out";

/// Result of opting out or in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptOutChange {
    /// Done, or so already.
    Done,
    /// They changed their mind too often to be kept again.
    TooMany,
}

impl MemberStore<'_> {
    /// Records that nothing of a person is kept from now on in a channel (`None`: in all of them,
    /// also in those to come), or that it is kept again. The latest change counts, whichever of the
    /// two it is about. What was kept before stays.
    ///
    /// The time is read under the locks of the person and their channels, which storing messages
    /// takes, too: a message that is sent after it finds the change.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn set_opted_out(
        &self,
        user: &UserId,
        channel: Option<&ChannelId>,
        opted_out: bool,
        now: impl Fn() -> Timestamp + Send,
    ) -> Result<OptOutChange, StoreError> {
        let (u, c) = (user.as_str(), channel.map_or("", ChannelId::as_str));
        let mut tx = self.store.db.begin().await?;
        let places: Vec<_> = if let Some(channel) = channel {
            vec![channel.clone()]
        } else {
            let rows: Vec<(String,)> = tx.fetch_all(query_as(OF_PERSON).bind(u)).await?;
            rows.into_iter().map(|(id,)| ChannelId::new(id)).collect()
        };
        channel_locks::lock(&mut tx, &places).await?;
        lock_user(&mut tx, u).await?;
        let known = OptOuts::load(&mut tx, [user]).await?;
        if known.says(user, channel, opted_out) {
            return Ok(OptOutChange::Done);
        }
        let (count, last): (i64, i64) = tx.fetch_one(query_as(COUNT).bind(u).bind(c)).await?;
        if !opted_out && count >= CHANGES {
            return Ok(OptOutChange::TooMany);
        }
        // The order of changes is that of their times, whichever process' clock is behind.
        let at = now().millis().max(last + 1);
        tx.execute(query(ADD).bind(u).bind(c).bind(at).bind(i64::from(opted_out))).await?;
        tx.commit().await?;
        Ok(OptOutChange::Done)
    }

    /// Returns the changes of mind of these people.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn opt_outs<'a>(
        &self,
        users: impl IntoIterator<Item = &'a UserId>,
    ) -> Result<OptOuts, StoreError> {
        OptOuts::read(&self.store.db, users).await
    }
}
