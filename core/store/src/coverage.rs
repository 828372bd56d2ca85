//! Coverage of a channel: start of its backup, and gaps, so that silence is never mistaken for "no
//! messages".

use std::time::Duration;

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::db::{Sql, Tx, locking};
use super::opt_outs::opted_out_gaps;
use super::{Gap, MessageStore, StoreError};
use crate::query::{query, query_as};

/// Reason for a gap without any subscription.
const UNSUBSCRIBED: &str = "unsubscribed";

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
    /// Messages sent before this time were removed because of their age.
    pub retained_from: Option<Timestamp>,
}

/// Number of media files without content, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMedia {
    /// `skipped`, `failed` or `expired`.
    pub status: String,
    /// Reason, if known.
    pub reason: Option<String>,
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
/// In the same millisecond the leave counts, as everywhere: it sorts behind.
const PRESENCE: &str =
    "SELECT at, kind FROM coverage_changes WHERE channel_id = $1 ORDER BY at, kind";
const BIRTH: &str = "SELECT created_at FROM channels WHERE channel_id = $1";
const QUOTA: &str = "
    SELECT from_at, to_at, reason, skipped FROM gaps
    WHERE channel_id = $1 AND from_at < $3 AND (to_at = 0 OR to_at >= $2)
    ORDER BY from_at";
const OUTAGES: &str =
    "SELECT from_at, to_at FROM outages WHERE from_at < $2 AND to_at >= $1 ORDER BY from_at";
const BOUNDS: &str = "
    SELECT MIN(sent_at), MAX(sent_at) FROM messages WHERE channel_id = $1 AND sent_at >= $2";
const LOST: &str = "
    SELECT status, reason, COUNT(*) FROM media
    WHERE channel_id = $1 AND status IN ('skipped', 'failed', 'expired')
      AND COALESCE(sent_at, created_at) >= $2
    GROUP BY status, reason ORDER BY status, reason";

const ALIVE: Sql = locking!("SELECT alive_at FROM heartbeat WHERE id = 1");
const BEAT: &str = "
    INSERT INTO heartbeat (id, alive_at) VALUES (1, $1)
    ON CONFLICT (id) DO UPDATE SET alive_at =
        CASE WHEN excluded.alive_at > heartbeat.alive_at
             THEN excluded.alive_at ELSE heartbeat.alive_at END";
const ADD_OUTAGE: &str =
    "INSERT INTO outages (from_at, to_at) VALUES ($1, $2) ON CONFLICT (from_at) DO NOTHING";

impl CoverageChange {
    const fn name(self) -> &'static str {
        match self {
            Self::BotJoined => "bot_joined",
            Self::BotLeft => "bot_left",
            Self::Subscribed => "subscribed",
            Self::Unsubscribed => "unsubscribed",
        }
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
    Ok(tx.execute(query(ADD).bind(c).bind(at).bind(presence.name())).await? > 0)
}

impl MessageStore<'_> {
    /// Returns the coverage of a channel; only what is not before `start`, for callers who may know
    /// nothing older.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn coverage(
        self,
        channel: &ChannelId,
        start: Option<Timestamp>,
    ) -> Result<Coverage, StoreError> {
        let (c, from) = (channel.as_str(), start.map_or(i64::MIN, Timestamp::millis));
        let (oldest, newest): (Option<i64>, Option<i64>) =
            self.store.db.fetch_one(query_as(BOUNDS).bind(c).bind(from)).await?;
        let lost: Vec<(String, Option<String>, i64)> =
            self.store.db.fetch_all(query_as(LOST).bind(c).bind(from)).await?;
        let (retention_days, retained_from) = self.store.channels().retention(channel).await?;
        let media = |(status, reason, count)| MissingMedia { status, reason, count };
        let gaps = self.gaps(channel, start, None).await?;
        Ok(Coverage {
            since: since(&self.presence(channel).await?).and_then(|since| Some(since).max(start)),
            messages: oldest
                .zip(newest)
                .map(|(from, to)| (Timestamp::from_millis(from), Timestamp::from_millis(to))),
            gaps: Gap::joined(gaps.into_iter().filter_map(|gap| gap.since(start))),
            media: lost.into_iter().map(media).collect(),
            retention_days,
            retained_from: retained_from.filter(|until| start.is_none_or(|start| *until > start)),
        })
    }

    /// Returns the gaps of a channel that overlap the given time, oldest first, those of people who
    /// opted out by day.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn gaps(
        self,
        channel: &ChannelId,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<Vec<Gap>, StoreError> {
        let presence = self.presence(channel).await?;
        let Some(birth) = self.birth(channel, &presence).await? else {
            return Ok(Vec::new());
        };
        let touches = |gap: &Gap| {
            from.is_none_or(|from| gap.to.is_none_or(|end| end >= from))
                && to.is_none_or(|to| gap.from < to)
        };
        let Some(since) = since(&presence) else {
            // Silence of a channel without any backup yet says nothing about it.
            let never = unknown(birth.millis(), None, UNSUBSCRIBED);
            return Ok(Some(never).filter(touches).into_iter().collect());
        };
        let from = from.map_or(i64::MIN, Timestamp::millis);
        let to = to.map_or(i64::MAX, Timestamp::millis);
        let quota: Vec<(i64, i64, String, i64)> = self
            .store
            .db
            .fetch_all(query_as(QUOTA).bind(channel.as_str()).bind(from).bind(to))
            .await?;
        let outages: Vec<(i64, i64)> = self
            .store
            .db
            .fetch_all(query_as(OUTAGES).bind(from.max(since.millis())).bind(to))
            .await?;
        let quota = quota.into_iter().map(|(from, to, reason, skipped)| Gap {
            from: Timestamp::from_millis(from),
            to: (to != 0).then(|| Timestamp::from_millis(to)),
            reason,
            skipped: Some(skipped),
        });
        let outages = outages
            .into_iter()
            .map(|(from, to)| unknown(from.max(since.millis()), Some(to), "outage"));
        let opted_out = opted_out_gaps(&self.store.db, channel, (from, to)).await?;
        let absent = absences(&presence, birth, since).into_iter().filter(touches);
        let mut gaps: Vec<_> = quota.chain(outages).chain(absent).chain(opted_out).collect();
        gaps.sort_by_key(|gap| (gap.from, gap.reason.clone()));
        Ok(gaps)
    }

    /// Returns the time at which a channel became known: by its row, or by an older event that came
    /// later; `None` for an unknown one.
    async fn birth(
        self,
        channel: &ChannelId,
        presence: &[(i64, String)],
    ) -> Result<Option<Timestamp>, StoreError> {
        let row: Option<(i64,)> =
            self.store.db.fetch_optional(query_as(BIRTH).bind(channel.as_str())).await?;
        let first = presence.first().map(|(at, _)| *at);
        let birth = row.map(|(created,)| first.map_or(created, |first| first.min(created)));
        Ok(birth.map(Timestamp::from_millis))
    }

    async fn presence(self, channel: &ChannelId) -> Result<Vec<(i64, String)>, StoreError> {
        Ok(self.store.db.fetch_all(query_as(PRESENCE).bind(channel.as_str())).await?)
    }

    /// Records that events are being taken now. A long time since the last call is an outage, so
    /// call it more often than that.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn record_alive(self, now: Timestamp) -> Result<(), StoreError> {
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

fn since(presence: &[(i64, String)]) -> Option<Timestamp> {
    let first = presence.iter().find(|(_, kind)| kind == CoverageChange::Subscribed.name())?;
    Some(Timestamp::from_millis(first.0))
}

/// Returns the times without any subscription, from when the channel became known, and those since
/// the first subscription in which the bot was absent.
fn absences(presence: &[(i64, String)], birth: Timestamp, since: Timestamp) -> Vec<Gap> {
    let unsubscribed = Track {
        begins: CoverageChange::Unsubscribed,
        ends: CoverageChange::Subscribed,
        reason: UNSUBSCRIBED,
        start: birth.millis(),
    };
    let removed = Track {
        begins: CoverageChange::BotLeft,
        ends: CoverageChange::BotJoined,
        reason: "bot_removed",
        start: since.millis(),
    };
    let mut gaps = unsubscribed.gaps(presence, Some(birth.millis()));
    gaps.extend(removed.gaps(presence, None));
    gaps
}

/// Condition under which nothing is stored, with the changes that begin and end it.
struct Track {
    begins: CoverageChange,
    ends: CoverageChange,
    reason: &'static str,
    /// Nothing before this time is a gap.
    start: i64,
}

impl Track {
    /// Returns the gaps of this kind; the condition holds from `open` on already, if given.
    fn gaps(&self, presence: &[(i64, String)], mut open: Option<i64>) -> Vec<Gap> {
        let mut gaps = Vec::new();
        for (at, kind) in presence {
            if kind == self.begins.name() {
                open.get_or_insert(*at);
            } else if kind == self.ends.name()
                && let Some(from) = open.take().map(|from| from.max(self.start))
                && *at > from
            {
                gaps.push(unknown(from, Some(*at), self.reason));
            }
        }
        gaps.extend(open.map(|from| unknown(from.max(self.start), None, self.reason)));
        gaps
    }
}

/// Creates a gap with an unknown number of missed messages.
fn unknown(from: i64, to: Option<i64>, reason: &str) -> Gap {
    Gap {
        from: Timestamp::from_millis(from),
        to: to.map(Timestamp::from_millis),
        reason: reason.to_owned(),
        skipped: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absences_are_told_by_track() {
        let row = |at, kind: CoverageChange| (at, kind.name().to_owned());
        let rows = [
            row(1, CoverageChange::BotJoined),
            row(2, CoverageChange::BotLeft),
            row(3, CoverageChange::BotJoined),
            row(5, CoverageChange::Subscribed),
            row(7, CoverageChange::BotLeft),
            row(8, CoverageChange::Unsubscribed),
            row(9, CoverageChange::BotJoined),
        ];
        let gaps = absences(&rows, Timestamp::from_millis(1), since(&rows).unwrap());
        let told: Vec<_> = gaps
            .iter()
            .map(|gap| (gap.reason.as_str(), gap.from.millis(), gap.to.map(Timestamp::millis)))
            .collect();
        let expected =
            [("unsubscribed", 1, Some(5)), ("unsubscribed", 8, None), ("bot_removed", 7, Some(9))];
        assert_eq!(told, expected);
    }
}
