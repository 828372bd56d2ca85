//! Usage notices: threshold crossings that users are notified of in their own chat with the bot. A
//! notice has the present state, once: a user who crossed three thresholds in one moment is
//! notified of the last.

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::{ChannelKind, ChannelRef};
use chatkeep_core::id::UserId;
use chatkeep_core::plan::{Plan, Usage, UsageStatus};
use chatkeep_core::time::Timestamp;

use super::{AccountStore, StoreError, parsed};
use crate::query::{query, query_as};

/// Threshold crossing without a notification yet.
#[derive(Clone, Debug)]
pub struct UsageNotice {
    /// Number of the notice; rises with every crossing.
    pub id: i64,
    /// User.
    pub user: UserId,
    /// Status reached by the crossing.
    pub status: UsageStatus,
    /// Time of the crossing.
    pub at: Timestamp,
    /// Last notified status; [`UsageStatus::Ok`] when there was no notification yet.
    pub last_notified: UsageStatus,
    /// Present usage.
    pub usage: Usage,
    /// `true` if the user wants notifications.
    pub wanted: bool,
    /// Bot with which they have a direct chat, and the chat.
    pub chat: Option<(String, ChannelRef)>,
}

/// Outcome of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeOutcome {
    /// Sent.
    Sent,
    /// The user has no direct chat with a bot.
    NoChat,
    /// Its event was too long ago.
    Stale,
    /// The user wants no notices.
    NotWanted,
    /// The user knows that state already.
    NothingNew,
    /// A later notice of the same user overtook it.
    Overtaken,
    /// The platform refused it for the reason of this name.
    Failed(&'static str),
}

impl NoticeOutcome {
    /// Returns its name in the database, in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::NoChat => "no_chat",
            Self::Stale => "stale",
            Self::NotWanted => "not_wanted",
            Self::NothingNew => "nothing_new",
            Self::Overtaken => "overtaken",
            Self::Failed(reason) => reason,
        }
    }
}

#[derive(Debug, sqlx_macros::FromRow)]
struct NoticeRow {
    notice_id: i64,
    user_id: String,
    status: String,
    created_at: i64,
    last_notified: Option<String>,
    plan: String,
    used_bytes: i64,
    notify_usage: i64,
    bot: Option<String>,
    channel_id: Option<String>,
}

/// Joins the direct chat of a user with a bot as `c`. A person has a chat with each bot, the first
/// of them under their own id
/// ([`ChannelId::chat_with`](chatkeep_core::id::ChannelId::chat_with)).
macro_rules! join_direct_chat {
    ($user:literal) => {
        concat!(
            " LEFT JOIN channels c ON c.channel_id =
                (SELECT MIN(o.channel_id) FROM channels o
                 WHERE o.type = 'user' AND NOT ",
            $crate::presence_sql::bot_has_left!("o"),
            " AND (o.channel_id = ",
            $user,
            " OR (o.channel_id > ",
            $user,
            " || '~' AND o.channel_id < ",
            $user,
            " || '~~'))) "
        )
    };
}

pub(crate) use join_direct_chat;

const PENDING: &str = concat!(
    "SELECT n.notice_id, n.user_id, n.status, n.created_at, u.plan, u.used_bytes,
            u.notify_usage, c.bot, c.channel_id,
            (SELECT t.status FROM usage_notices t
             WHERE t.user_id = n.user_id AND t.outcome = $2
             ORDER BY t.notice_id DESC LIMIT 1) AS last_notified
     FROM usage_notices n
     JOIN users u ON u.user_id = n.user_id",
    join_direct_chat!("n.user_id"),
    "WHERE n.notified_at IS NULL AND n.notice_id > $3
       AND n.notice_id = (SELECT MAX(m.notice_id) FROM usage_notices m WHERE m.user_id = n.user_id)
     ORDER BY n.notice_id LIMIT $1"
);

/// Those before it were overtaken.
const SETTLE: &str = "
    UPDATE usage_notices
    SET notified_at = $3, outcome = CASE WHEN notice_id = $2 THEN $4 ELSE $5 END
    WHERE user_id = $1 AND notice_id <= $2 AND notified_at IS NULL";

const WANT: &str = "UPDATE users SET notify_usage = $2 WHERE user_id = $1";
const WANTS: &str = "SELECT notify_usage FROM users WHERE user_id = $1";

impl AccountStore<'_> {
    /// Returns the latest unnotified crossing of each user, oldest first, after the notice with the
    /// number `after`, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn pending_usage_notices(
        &self,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Vec<UsageNotice>, StoreError> {
        let pending = query_as(PENDING)
            .bind(i64::from(limit))
            .bind(NoticeOutcome::Sent.name())
            .bind(after.unwrap_or(i64::MIN));
        let rows: Vec<NoticeRow> = self.store.db.fetch_all(pending).await?;
        rows.into_iter().map(UsageNotice::try_from).collect()
    }

    /// Settles a notice and those before it. `false` when it was settled already.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn settle_notice(
        &self,
        notice: &UsageNotice,
        outcome: NoticeOutcome,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let settled = tx
            .execute(
                query(SETTLE)
                    .bind(notice.user.as_str())
                    .bind(notice.id)
                    .bind(now.millis())
                    .bind(outcome.name())
                    .bind(NoticeOutcome::Overtaken.name()),
            )
            .await?;
        tx.commit().await?;
        Ok(settled > 0)
    }

    /// Returns `true` if a user wants usage notifications; `None` when there is no such user.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn wants_notices(&self, user: &UserId) -> Result<Option<bool>, StoreError> {
        let row: Option<(i64,)> =
            self.store.db.fetch_optional(query_as(WANTS).bind(user.as_str())).await?;
        Ok(row.map(|(wants,)| wants != 0))
    }

    /// Turns a user's usage notifications on or off. `false` when there is no such user.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn set_notices_enabled(
        &self,
        user: &UserId,
        wants: bool,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let found = tx.execute(query(WANT).bind(user.as_str()).bind(i64::from(wants))).await?;
        tx.commit().await?;
        Ok(found > 0)
    }
}

/// Returns the bot and the chat of [`join_direct_chat`]'s columns; `None` without a chat.
pub(crate) fn direct_chat(
    bot: Option<String>,
    channel: Option<String>,
) -> Option<(String, ChannelRef)> {
    Some((bot?, ChannelRef { id: channel?.into(), kind: ChannelKind::User }))
}

impl TryFrom<NoticeRow> for UsageNotice {
    type Error = StoreError;

    fn try_from(row: NoticeRow) -> Result<Self, StoreError> {
        let id = row.user_id.as_str();
        let status = |name: &str| parsed(UsageStatus::parse(name), "usage_notices", "status", id);
        let plan = parsed(Plan::parse(&row.plan), "users", "plan", id)?;
        Ok(Self {
            id: row.notice_id,
            status: status(&row.status)?,
            at: Timestamp::from_millis(row.created_at),
            last_notified: row.last_notified.as_deref().map_or(Ok(UsageStatus::Ok), status)?,
            usage: Usage::new(row.used_bytes, plan),
            wanted: row.notify_usage != 0,
            chat: direct_chat(row.bot, row.channel_id),
            user: row.user_id.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn pending_notices_are_found_among_many_that_are_settled() {
        let steps = plan(PENDING).await.join("\n");
        assert!(steps.contains("usage_notices_pending (notice_id>?)"), "{steps}");
    }
}
