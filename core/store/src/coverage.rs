//! Coverage of a channel: start of its backup, and gaps, so that silence is never mistaken for "no
//! messages".

use std::collections::BTreeMap;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::ChannelId;
use chatkeep_core::named;
use chatkeep_core::time::Timestamp;

use super::coverage_bound::bound;
use super::db::{Sql, Tx, locking};
use super::{Gap, MediaReason, MediaStatus, MessageStore, StoreError, parsed};
use crate::query::{query, query_as};

/// Time without any process taking events after which it is an outage.
const OUTAGE: Duration = Duration::from_mins(3);

/// Coverage of a channel: its stored range, and what is missing.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Start of the backup; `None` when nobody ever subscribed.
    pub since: Option<Timestamp>,
    /// Times of the oldest and the newest stored message.
    pub messages: Option<(Timestamp, Timestamp)>,
    /// Gaps, oldest first; those of people who opted out [joined](Gap::joined).
    pub gaps: Vec<Gap>,
    /// Missing media files.
    pub media: Vec<MissingMedia>,
    /// Days after which messages are removed; `None`: never.
    pub retention_days: Option<i64>,
    /// Messages sent before this time were removed, by a deletion or because of their age.
    pub removed_before: Option<Timestamp>,
}

/// Number of media files without content, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMedia {
    /// Status of the files, one of those in which nothing is stored and nothing will be.
    pub status: MediaStatus,
    /// Reason, if known.
    pub reason: Option<MediaReason>,
    /// Number of files.
    pub count: i64,
}

/// Change that starts or ends the backup of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoverageChange {
    BotJoined,
    BotLeft,
    Subscribed,
    Unsubscribed,
}

const ADD: &str = "
    INSERT INTO coverage_changes (channel_id, at, kind) VALUES ($1, $2, $3)
    ON CONFLICT (channel_id, at, kind) DO NOTHING";
const LAST_SUBSCRIPTION_CHANGE: &str = "
    SELECT COALESCE(MAX(at), 0) FROM coverage_changes
    WHERE channel_id = $1 AND kind IN ('subscribed', 'unsubscribed')";
/// Each end of the index by itself: SQLite would read all of it for both at once.
const BOUNDS: &str = "
    SELECT (SELECT MIN(sent_at) FROM messages WHERE channel_id = $1 AND sent_at >= $2),
           (SELECT MAX(sent_at) FROM messages WHERE channel_id = $1 AND sent_at >= $2)";
const MISSING_MEDIA: &str = "
    SELECT status, reason, COUNT(*) FROM media
    WHERE channel_id = $1 AND status IN ('skipped', 'failed', 'expired')
      AND COALESCE(sent_at, created_at) >= $2
    GROUP BY status, reason";

const ALIVE: Sql = locking!("SELECT alive_at FROM heartbeat WHERE id = 1");
const BEAT: &str = "
    INSERT INTO heartbeat (id, alive_at) VALUES (1, $1)
    ON CONFLICT (id) DO UPDATE SET alive_at =
        CASE WHEN excluded.alive_at > heartbeat.alive_at
             THEN excluded.alive_at ELSE heartbeat.alive_at END";
pub(super) const ADD_OUTAGE: &str =
    "INSERT INTO outages (from_at, to_at) VALUES ($1, $2) ON CONFLICT (from_at) DO NOTHING";

named! {
    pub(super) CoverageChange {
        BotJoined = "bot_joined",
        BotLeft = "bot_left",
        Subscribed = "subscribed",
        Unsubscribed = "unsubscribed",
    }
}

/// Records a change; `true` if it is new. A repeated or late one changes nothing.
pub(super) async fn note(
    tx: &mut Tx,
    channel: &ChannelId,
    at: Timestamp,
    presence: CoverageChange,
) -> Result<bool, StoreError> {
    let (c, at) = (channel.as_str(), at.millis());
    let is_new = tx.execute(query(ADD).bind(c).bind(at).bind(presence.name())).await? > 0;
    if is_new {
        bound(tx, channel, presence).await?;
    }
    Ok(is_new)
}

/// Records that somebody subscribes to a channel that nobody subscribed to, or that the last one
/// cancels. The order of these changes is that of their times, whichever process' clock is behind:
/// otherwise a channel would look as if nobody subscribed to it. The caller holds the channel's lock.
pub(super) async fn note_subscription(
    tx: &mut Tx,
    channel: &ChannelId,
    at: Timestamp,
    change: CoverageChange,
) -> Result<(), StoreError> {
    let (last,): (i64,) =
        tx.fetch_one(query_as(LAST_SUBSCRIPTION_CHANGE).bind(channel.as_str())).await?;
    // In the same millisecond the end counts, as everywhere.
    let first = if change == CoverageChange::Subscribed { last + 1 } else { last };
    let at = Timestamp::from_millis(at.millis().max(first));
    note(tx, channel, at, change).await.map(drop)
}

impl CoverageChange {
    /// Returns the changes that begin and end what this one begins or ends.
    pub(super) const fn track(self) -> (Self, Self) {
        match self {
            Self::BotJoined | Self::BotLeft => (Self::BotJoined, Self::BotLeft),
            Self::Subscribed | Self::Unsubscribed => (Self::Subscribed, Self::Unsubscribed),
        }
    }
}

impl MessageStore<'_> {
    /// Returns the coverage of a channel; only what is not before `start`, for callers who may know
    /// nothing older.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn coverage(
        &self,
        channel: &ChannelId,
        start: Option<Timestamp>,
    ) -> Result<Coverage, StoreError> {
        let (c, from) = (channel.as_str(), start.map_or(i64::MIN, Timestamp::millis));
        let (oldest, newest): (Option<i64>, Option<i64>) =
            self.store.db.fetch_one(query_as(BOUNDS).bind(c).bind(from)).await?;
        let lost: Vec<(String, Option<String>, i64)> =
            self.store.db.fetch_all(query_as(MISSING_MEDIA).bind(c).bind(from)).await?;
        let (retention_days, removed_before) = self.store.channels().retention(channel).await?;
        let gaps = self.gaps(channel, start, None).await?;
        let since = self.backed_up_since(channel).await?;
        Ok(Coverage {
            since: since.and_then(|since| Some(since).max(start)),
            messages: oldest
                .zip(newest)
                .map(|(from, to)| (Timestamp::from_millis(from), Timestamp::from_millis(to))),
            gaps: Gap::joined(gaps.into_iter().filter_map(|gap| gap.since(start))),
            media: missing(lost)?,
            retention_days,
            removed_before: removed_before.filter(|until| start.is_none_or(|start| *until > start)),
        })
    }

    /// Records that events are being taken now. A long time since the last call is an outage, so
    /// call it more often than that.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn record_alive(&self, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        let alive: Option<(i64,)> = tx.fetch_optional(query_as(ALIVE)).await?;
        if let Some((alive,)) = alive
            && now.since(Timestamp::from_millis(alive)) > OUTAGE
        {
            tx.execute(query(ADD_OUTAGE).bind(alive).bind(now.millis())).await?;
        }
        tx.execute(query(BEAT).bind(now.millis())).await?;
        tx.commit().await
    }
}

/// Joins the numbers of files by what their recorded reasons mean.
fn missing(lost: Vec<(String, Option<String>, i64)>) -> Result<Vec<MissingMedia>, StoreError> {
    let mut counts = BTreeMap::new();
    for (status, recorded, count) in lost {
        let status = parsed(MediaStatus::parse(&status), "media", "status", &status)?;
        let reason = recorded.as_deref().map(MediaReason::recorded);
        // By name, which is the order of readers.
        *counts
            .entry((status.name(), status, reason.map(MediaReason::name), reason))
            .or_default() += count;
    }
    let media = |((_, status, _, reason), count)| MissingMedia { status, reason, count };
    Ok(counts.into_iter().map(media).collect())
}

#[cfg(test)]
mod tests {
    use super::BOUNDS;
    use crate::plan::plan;

    #[tokio::test]
    async fn the_first_and_the_last_message_are_the_ends_of_an_index() {
        let steps = plan(BOUNDS).await;
        let ends = steps.iter().filter(|step| step.contains("messages_by_time (channel_id=?"));
        assert_eq!((ends.count(), steps.iter().any(|step| step == "SCALAR SUBQUERY 1")), (2, true));
    }
}
