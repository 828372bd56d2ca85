//! Gaps of channels in a time, of one channel or of many at once.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::channels::channel_keys;
use super::coverage::CoverageChange;
use super::opt_outs::opted_out_day;
use super::{Gap, GapReason, MessageStore, StoreError, parsed};
use crate::query::query_as;

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

/// Time of the oldest message of each channel that is not before a time: one step into the index each.
const OLDEST: &str = "
    WITH list AS MATERIALIZED (SELECT value ->> 'c' AS channel_id FROM json_each($1))
    SELECT list.channel_id, (SELECT MIN(m.sent_at) FROM messages m
                             WHERE m.channel_id = list.channel_id AND m.sent_at >= $2)
    FROM list";

/// Row of [`PARTS`]: kind of row, channel, begin, end, reason, number of messages.
type PartRow = (i64, String, i64, i64, String, i64);

/// Rows from which the gaps of some channels are computed.
#[derive(Default)]
struct GapParts {
    /// Times at which the channels became known.
    known_since: Vec<(ChannelId, i64)>,
    presence: ByChannel<(i64, CoverageChange)>,
    /// Gaps that are stored as such, and the days of people who opted out.
    stored: ByChannel<Gap>,
    outages: Vec<(i64, i64)>,
}

/// Rows of many channels by channel.
type ByChannel<T> = HashMap<ChannelId, Vec<T>>;

/// Coverage of a channel in a time.
#[derive(Clone, Debug)]
pub struct PeriodCoverage {
    /// Start of the backup; of a channel that nobody ever subscribed, the time at which it became
    /// known. What was sent before is stored only if it was imported.
    pub begin: Timestamp,
    /// Gaps that overlap the time, oldest first, those of people who opted out by day.
    pub gaps: Vec<Gap>,
}

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
        let covered = self.coverage_in(channels, from, to).await?.into_iter();
        let gaps = covered.map(|(channel, PeriodCoverage { gaps, .. })| (channel, gaps));
        Ok(gaps.filter(|(_, gaps)| !gaps.is_empty()).collect())
    }

    /// Returns the coverage of each of these channels that is known in the given time. The number of
    /// statements does not depend on that of the channels.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn coverage_in(
        &self,
        channels: &[ChannelId],
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<HashMap<ChannelId, PeriodCoverage>, StoreError> {
        let keys = channel_keys(channels)?;
        let period = Period { from, to };
        let rows = query_as(PARTS).bind(&keys).bind(period.start()).bind(period.end());
        let mut parts = GapParts::of(self.store.db.fetch_all(rows).await?)?;
        let mut covered = HashMap::new();
        for (channel, created_at) in parts.known_since {
            let presence = parts.presence.remove(&channel).unwrap_or_default();
            let known_since = presence.first().map_or(created_at, |(at, _)| created_at.min(*at));
            let stored = parts.stored.remove(&channel).unwrap_or_default();
            let known_since = Timestamp::from_millis(known_since);
            let begin = since(&presence).unwrap_or(known_since);
            let gaps = gaps_in(period, &presence, known_since, stored, &parts.outages);
            covered.insert(channel, PeriodCoverage { begin, gaps });
        }
        Ok(covered)
    }

    /// Returns the time of the oldest stored message of each of these channels that is not before
    /// `start`; channels without any are left out.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn oldest_in(
        &self,
        channels: &[ChannelId],
        start: Option<Timestamp>,
    ) -> Result<HashMap<ChannelId, Timestamp>, StoreError> {
        if channels.is_empty() {
            return Ok(HashMap::new());
        }
        let keys = channel_keys(channels)?;
        let start = start.map_or(i64::MIN, Timestamp::millis);
        let rows = query_as(OLDEST).bind(&keys).bind(start);
        let rows: Vec<(String, Option<i64>)> = self.store.db.fetch_all(rows).await?;
        let oldest = |(channel, at): (String, Option<i64>)| {
            Some((ChannelId::from(channel), Timestamp::from_millis(at?)))
        };
        Ok(rows.into_iter().filter_map(oldest).collect())
    }

    /// Returns the time since which somebody has a channel backed up; `None` when nobody ever
    /// subscribed.
    pub(super) async fn backed_up_since(
        &self,
        channel: &ChannelId,
    ) -> Result<Option<Timestamp>, StoreError> {
        let presence = query_as(PRESENCE).bind(channel.as_str());
        let presence: Vec<(i64, String)> = self.store.db.fetch_all(presence).await?;
        let presence: Vec<_> =
            presence.into_iter().map(change_of).collect::<Result<_, StoreError>>()?;
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
    fn of(rows: Vec<PartRow>) -> Result<Self, StoreError> {
        let mut parts = Self::default();
        for (part, channel, from, to, reason, messages) in rows {
            let channel = ChannelId::from(channel);
            match part {
                0 => parts.known_since.push((channel, from)),
                1 => {
                    let change = change_of((from, reason))?;
                    parts.presence.entry(channel).or_default().push(change);
                }
                2 => {
                    let known = GapReason::parse(&reason);
                    let reason = parsed(known, "gaps", "reason", &reason)?;
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
        Ok(parts)
    }
}

/// Reads a row of changes of coverage.
fn change_of((at, kind): (i64, String)) -> Result<(i64, CoverageChange), StoreError> {
    let change = CoverageChange::parse(&kind);
    Ok((at, parsed(change, "coverage_changes", "kind", &kind)?))
}

/// Returns the gaps of a channel: those that are `stored`, those in which it had no subscription or
/// the bot was absent, and the outages since its first subscription.
fn gaps_in(
    period: Period,
    presence: &[(i64, CoverageChange)],
    known_since: Timestamp,
    stored: Vec<Gap>,
    outages: &[(i64, i64)],
) -> Vec<Gap> {
    let Some(since) = since(presence) else {
        // Silence of a channel without any backup yet says nothing about it.
        let never = unknown(known_since.millis(), None, GapReason::Unsubscribed);
        return Some(never).filter(|gap| period.touches(gap)).into_iter().collect();
    };
    let outages = outages.iter().filter(|(_, to)| *to >= since.millis());
    let outages = outages
        .map(|(from, to)| unknown((*from).max(since.millis()), Some(*to), GapReason::Outage));
    let absent =
        absences(presence, known_since, since).into_iter().filter(|gap| period.touches(gap));
    let mut gaps: Vec<_> = stored.into_iter().chain(outages).chain(absent).collect();
    gaps.sort_by_key(|gap| (gap.from, gap.reason));
    gaps
}

fn since(presence: &[(i64, CoverageChange)]) -> Option<Timestamp> {
    let first = presence.iter().find(|(_, kind)| *kind == CoverageChange::Subscribed)?;
    Some(Timestamp::from_millis(first.0))
}

/// Returns the times without any subscription, from when the channel became known, and those since
/// the first subscription in which the bot was absent.
fn absences(
    presence: &[(i64, CoverageChange)],
    known_since: Timestamp,
    since: Timestamp,
) -> Vec<Gap> {
    let unsubscribed = Track {
        begins: CoverageChange::Unsubscribed,
        ends: CoverageChange::Subscribed,
        reason: GapReason::Unsubscribed,
        start: known_since.millis(),
    };
    let removed = Track {
        begins: CoverageChange::BotLeft,
        ends: CoverageChange::BotJoined,
        reason: GapReason::BotRemoved,
        start: since.millis(),
    };
    let mut gaps = unsubscribed.gaps(presence, Some(known_since.millis()));
    gaps.extend(removed.gaps(presence, None));
    gaps
}

/// Condition under which nothing is stored, with the changes that begin and end it.
struct Track {
    begins: CoverageChange,
    ends: CoverageChange,
    reason: GapReason,
    /// Nothing before this time is a gap.
    start: i64,
}

impl Track {
    /// Returns the gaps of this kind; the condition holds from `open` on already, if given.
    fn gaps(&self, presence: &[(i64, CoverageChange)], mut open: Option<i64>) -> Vec<Gap> {
        let mut gaps = Vec::new();
        for (at, kind) in presence {
            if *kind == self.begins {
                open.get_or_insert(*at);
            } else if *kind == self.ends
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
fn unknown(from: i64, to: Option<i64>, reason: GapReason) -> Gap {
    Gap {
        from: Timestamp::from_millis(from),
        to: to.map(Timestamp::from_millis),
        reason,
        skipped: None,
    }
}

#[cfg(test)]
#[path = "gap_list_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absences_are_told_by_track() {
        let rows = [
            (1, CoverageChange::BotJoined),
            (2, CoverageChange::BotLeft),
            (3, CoverageChange::BotJoined),
            (5, CoverageChange::Subscribed),
            (7, CoverageChange::BotLeft),
            (8, CoverageChange::Unsubscribed),
            (9, CoverageChange::BotJoined),
        ];
        let gaps = absences(&rows, Timestamp::from_millis(1), since(&rows).unwrap());
        let listed: Vec<_> = gaps
            .iter()
            .map(|gap| (gap.reason.name(), gap.from.millis(), gap.to.map(Timestamp::millis)))
            .collect();
        let expected =
            [("unsubscribed", 1, Some(5)), ("unsubscribed", 8, None), ("bot_removed", 7, Some(9))];
        assert_eq!(listed, expected);
    }
}
