//! Gaps of channels in a time, of one channel or of many at once.

use std::collections::HashMap;

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::channels::channel_keys;
use super::coverage::CoverageChange;
use super::opt_outs::opted_out_gaps;
use super::{Gap, MessageStore, StoreError};
use crate::query::query_as;

/// Reason for a gap without any subscription.
const UNSUBSCRIBED: &str = "unsubscribed";

/// In the same millisecond the leave counts, as everywhere: it sorts behind.
const PRESENCE: &str = "
    SELECT channel_id, at, kind FROM coverage_changes
    WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1)) ORDER BY at, kind";
const BIRTHS: &str = "
    SELECT channel_id, created_at FROM channels
    WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1))";
const QUOTA: &str = "
    SELECT channel_id, from_at, to_at, reason, skipped FROM gaps
    WHERE channel_id IN (SELECT value ->> 'c' FROM json_each($1))
      AND from_at < $3 AND (to_at = 0 OR to_at >= $2)
    ORDER BY from_at";
const OUTAGES: &str =
    "SELECT from_at, to_at FROM outages WHERE from_at < $2 AND to_at >= $1 ORDER BY from_at";

/// Row of `gaps`: channel, begin, end or 0, reason, number of skipped messages.
type QuotaRow = (String, i64, i64, String, i64);

/// Rows of many channels by channel.
type ByChannel<T> = HashMap<ChannelId, Vec<T>>;

impl MessageStore<'_> {
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
        let mut gaps = self.gaps_of(std::slice::from_ref(channel), from, to).await?;
        Ok(gaps.remove(channel).unwrap_or_default())
    }

    /// Returns the gaps of each of these channels that overlap the given time, oldest first, those
    /// of people who opted out by day; channels without any are left out. The number of statements
    /// does not depend on that of the channels.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn gaps_of(
        self,
        channels: &[ChannelId],
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<HashMap<ChannelId, Vec<Gap>>, StoreError> {
        let keys = channel_keys(channels)?;
        let db = &self.store.db;
        let period = Period { from, to };
        let presence: Vec<(String, i64, String)> =
            db.fetch_all(query_as(PRESENCE).bind(&keys)).await?;
        let mut presence = grouped(presence.into_iter().map(|(c, at, kind)| (c, (at, kind))));
        let births: Vec<(String, i64)> = db.fetch_all(query_as(BIRTHS).bind(&keys)).await?;
        let quota = query_as(QUOTA).bind(&keys).bind(period.start()).bind(period.end());
        let quota: Vec<QuotaRow> = db.fetch_all(quota).await?;
        let mut quota = grouped(quota.into_iter().map(quota_gap));
        let outages = query_as(OUTAGES).bind(period.start()).bind(period.end());
        let outages: Vec<(i64, i64)> = db.fetch_all(outages).await?;
        let opted_out = opted_out_gaps(db, &keys, (period.start(), period.end())).await?;
        let mut opted_out = grouped(opted_out.into_iter());
        let mut gaps = HashMap::new();
        for (channel, created_at) in births {
            let channel = ChannelId::from(channel);
            let presence = presence.remove(&channel).unwrap_or_default();
            let birth = presence.first().map_or(created_at, |(at, _)| created_at.min(*at));
            let stored = quota.remove(&channel).into_iter().flatten();
            let stored = stored.chain(opted_out.remove(&channel).into_iter().flatten());
            let of_channel =
                gaps_in(period, &presence, Timestamp::from_millis(birth), stored, &outages);
            if !of_channel.is_empty() {
                gaps.insert(channel, of_channel);
            }
        }
        Ok(gaps)
    }

    /// Returns the time since which somebody has a channel backed up; `None` when nobody ever
    /// subscribed.
    pub(super) async fn backed_up_since(
        self,
        channel: &ChannelId,
    ) -> Result<Option<Timestamp>, StoreError> {
        let keys = channel_keys(std::slice::from_ref(channel))?;
        let rows: Vec<(String, i64, String)> =
            self.store.db.fetch_all(query_as(PRESENCE).bind(&keys)).await?;
        let presence: Vec<_> = rows.into_iter().map(|(_, at, kind)| (at, kind)).collect();
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

fn grouped<T>(rows: impl Iterator<Item = (String, T)>) -> ByChannel<T> {
    let mut by_channel = ByChannel::new();
    for (channel, row) in rows {
        by_channel.entry(ChannelId::from(channel)).or_default().push(row);
    }
    by_channel
}

fn quota_gap((channel, from, to, reason, skipped): QuotaRow) -> (String, Gap) {
    let to = (to != 0).then(|| Timestamp::from_millis(to));
    (channel, Gap { from: Timestamp::from_millis(from), to, reason, skipped: Some(skipped) })
}

/// Returns the gaps of a channel: those that are `stored`, those in which it had no subscription or
/// the bot was absent, and the outages since its first subscription.
fn gaps_in(
    period: Period,
    presence: &[(i64, String)],
    birth: Timestamp,
    stored: impl Iterator<Item = Gap>,
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
    let mut gaps: Vec<_> = stored.chain(outages).chain(absent).collect();
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
