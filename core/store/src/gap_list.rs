//! Gaps of channels in a time, of one channel or of many at once.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::channels::channel_keys;
use super::coverage::CoverageChange;
use super::opt_outs::opted_out_day;
use super::{Gap, MessageStore, StoreError};
use crate::query::query_as;

/// Reason for a gap without any subscription.
const UNSUBSCRIBED: &str = "unsubscribed";

/// In the same millisecond the leave counts, as everywhere: it sorts behind.
const PRESENCE: &str = "
    SELECT at, kind FROM coverage_changes WHERE channel_id = $1 ORDER BY at, kind";
/// Rows of every kind from which gaps are computed, one kind after the other: a list of messages needs
/// them with each page, and five statements would be the way to the database and back five times.
const PARTS: &str = "
    WITH list AS MATERIALIZED (SELECT value ->> 'c' AS channel_id FROM json_each($1))
    SELECT CAST(0 AS BIGINT) AS part, channel_id, created_at AS from_at,
           CAST(0 AS BIGINT) AS to_at, '' AS reason, CAST(0 AS BIGINT) AS messages
    FROM channels WHERE channel_id IN (SELECT channel_id FROM list)
    UNION ALL
    SELECT 1, channel_id, at, 0, kind, 0
    FROM coverage_changes WHERE channel_id IN (SELECT channel_id FROM list)
    UNION ALL
    SELECT 2, channel_id, from_at, to_at, reason, skipped
    FROM gaps WHERE channel_id IN (SELECT channel_id FROM list)
      AND from_at < $3 AND (to_at = 0 OR to_at >= $2)
    UNION ALL
    SELECT 3, channel_id, day_at, 0, '', messages
    FROM opted_out_days WHERE channel_id IN (SELECT channel_id FROM list)
      AND day_at < $3 AND day_at + 86400000 > $2
    UNION ALL
    SELECT 4, '', from_at, to_at, '', 0
    FROM outages WHERE from_at < $3 AND to_at >= $2
    ORDER BY part, from_at, reason";

/// Row of [`PARTS`]: kind of row, channel, begin, end, reason, number of messages.
type PartRow = (i64, String, i64, i64, String, i64);

/// Rows from which the gaps of some channels are computed.
#[derive(Default)]
struct GapParts {
    /// Times at which the channels became known.
    births: Vec<(ChannelId, i64)>,
    presence: ByChannel<(i64, String)>,
    /// Gaps that are stored as such, and the days of people who opted out.
    stored: ByChannel<Gap>,
    outages: Vec<(i64, i64)>,
}

/// Rows of many channels by channel.
type ByChannel<T> = HashMap<ChannelId, Vec<T>>;

impl MessageStore<'_> {
    /// Returns the gaps of a channel that overlap the given time, oldest first, those of people who
    /// opted out by day.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn gaps(
        &self,
        channel: &ChannelId,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<Vec<Gap>, StoreError> {
        let mut gaps = self.gaps_of(std::slice::from_ref(channel), from, to).await?;
        Ok(gaps.remove(channel).unwrap_or_default())
    }

    /// Returns the gaps of each of these channels that overlap the given time, oldest first, those
    /// of people who opted out by day; channels without any are left out. The number of statements
    /// does not depend on that of the channels.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn gaps_of(
        &self,
        channels: &[ChannelId],
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<HashMap<ChannelId, Vec<Gap>>, StoreError> {
        let keys = channel_keys(channels)?;
        let period = Period { from, to };
        let rows = query_as(PARTS).bind(&keys).bind(period.start()).bind(period.end());
        let mut parts = GapParts::of(self.store.db.fetch_all(rows).await?);
        let mut gaps = HashMap::new();
        for (channel, created_at) in parts.births {
            let presence = parts.presence.remove(&channel).unwrap_or_default();
            let birth = presence.first().map_or(created_at, |(at, _)| created_at.min(*at));
            let stored = parts.stored.remove(&channel).unwrap_or_default();
            let birth = Timestamp::from_millis(birth);
            let of_channel = gaps_in(period, &presence, birth, stored, &parts.outages);
            if !of_channel.is_empty() {
                gaps.insert(channel, of_channel);
            }
        }
        Ok(gaps)
    }

    /// Returns the time since which somebody has a channel backed up; `None` when nobody ever
    /// subscribed.
    pub(super) async fn backed_up_since(
        &self,
        channel: &ChannelId,
    ) -> Result<Option<Timestamp>, StoreError> {
        let presence = query_as(PRESENCE).bind(channel.as_str());
        let presence: Vec<(i64, String)> = self.store.db.fetch_all(presence).await?;
        Ok(since(&presence))
    }
}

/// Requested time.
#[derive(Clone, Copy)]
struct Period {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Period {
    fn start(self) -> i64 {
        self.from.map_or(i64::MIN, Timestamp::millis)
    }

    fn end(self) -> i64 {
        self.to.map_or(i64::MAX, Timestamp::millis)
    }

    fn touches(self, gap: &Gap) -> bool {
        self.from.is_none_or(|from| gap.to.is_none_or(|end| end >= from))
            && self.to.is_none_or(|to| gap.from < to)
    }
}

impl GapParts {
    fn of(rows: Vec<PartRow>) -> Self {
        let mut parts = Self::default();
        for (part, channel, from, to, reason, messages) in rows {
            let channel = ChannelId::from(channel);
            match part {
                0 => parts.births.push((channel, from)),
                1 => parts.presence.entry(channel).or_default().push((from, reason)),
                2 => {
                    let to = (to != 0).then(|| Timestamp::from_millis(to));
                    let (from, skipped) = (Timestamp::from_millis(from), Some(messages));
                    let gap = Gap { from, to, reason, skipped };
                    parts.stored.entry(channel).or_default().push(gap);
                }
                3 => {
                    let gap = opted_out_day(Timestamp::from_millis(from), messages);
                    parts.stored.entry(channel).or_default().push(gap);
                }
                _ => parts.outages.push((from, to)),
            }
        }
        parts
    }
}

/// Returns the gaps of a channel: those that are `stored`, those in which it had no subscription or
/// the bot was absent, and the outages since its first subscription.
fn gaps_in(
    period: Period,
    presence: &[(i64, String)],
    birth: Timestamp,
    stored: Vec<Gap>,
    outages: &[(i64, i64)],
) -> Vec<Gap> {
    let Some(since) = since(presence) else {
        // Silence of a channel without any backup yet says nothing about it.
        let never = unknown(birth.millis(), None, UNSUBSCRIBED);
        return Some(never).filter(|gap| period.touches(gap)).into_iter().collect();
    };
    let outages = outages.iter().filter(|(_, to)| *to >= since.millis());
    let outages =
        outages.map(|(from, to)| unknown((*from).max(since.millis()), Some(*to), "outage"));
    let absent = absences(presence, birth, since).into_iter().filter(|gap| period.touches(gap));
    let mut gaps: Vec<_> = stored.into_iter().chain(outages).chain(absent).collect();
    gaps.sort_by_key(|gap| (gap.from, gap.reason.clone()));
    gaps
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
