//! Times in which messages of a channel were not backed up.

use std::time::Duration;

use chatkeep_core::named;
use chatkeep_core::time::Timestamp;

/// Pause after which a day of people who opted out is a gap of its own: shorter ones would part a
/// list into as many gaps as days.
const APART: Duration = Duration::from_hours(7 * 24);

/// Duration below which a gap in which nothing is known to be missing is none.
const MOMENT: Duration = Duration::from_secs(1);

/// Reason for a gap, in the order of the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GapReason {
    /// The bot was not in the chat.
    BotRemoved,
    /// People wrote who had opted out; the messages of others are there.
    OptedOut,
    /// No process took events, or what had been accepted was lost.
    Outage,
    /// Backup was paused: every subscriber had used up the quota.
    Quota,
    /// Nobody had the channel backed up.
    Unsubscribed,
}

named! {
    pub GapReason {
        BotRemoved = "bot_removed",
        OptedOut = "opted_out",
        Outage = "outage",
        Quota = "quota",
        Unsubscribed = "unsubscribed",
    }
}

/// Time in which a channel, or a part of its messages, was not backed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Time of sending of the first missing message.
    pub from: Timestamp,
    /// Time at which backup resumed; `None` while it has not.
    pub to: Option<Timestamp>,
    /// Reason.
    pub reason: GapReason,
    /// Number of skipped messages; `None` when nobody can know.
    pub skipped: Option<i64>,
}

impl Gap {
    /// Returns true for a gap of less than a second, as between a join and a subscription, in which
    /// nothing is known to be missing: readers are not told of it.
    pub fn is_moment(&self) -> bool {
        self.to.is_some_and(|to| to.since(self.from) < MOMENT) && self.skipped.unwrap_or(0) == 0
    }

    /// Returns the part of the gap that is not before `start`, with an unknown number of skipped
    /// messages; `None` when all of it is before.
    #[must_use]
    pub fn since(self, start: Option<Timestamp>) -> Option<Self> {
        let Some(start) = start.filter(|start| self.from < *start) else {
            return Some(self);
        };
        let lasts = self.to.is_none_or(|to| to > start);
        lasts.then_some(Self { from: start, skipped: None, ..self })
    }

    /// Joins the days on which people wrote who opted out: those less than a week after the day
    /// before are one gap with all their messages, or with an unknown number where that of one of
    /// them is unknown. Other gaps stay as they are. Expects and keeps the order, oldest first.
    #[must_use]
    pub fn joined(gaps: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut joined: Vec<Self> = Vec::new();
        // Index of the last of those days.
        let mut days = None;
        for gap in gaps {
            let last = days.and_then(|days: usize| joined.get_mut(days));
            if let Some(last) = last.filter(|last| last.goes_on_with(&gap)) {
                last.skipped = last.skipped.zip(gap.skipped).map(|(sum, more)| sum + more);
                // Days follow each other; two that overlap must not shorten what is missing.
                last.to = last.to.zip(gap.to).map(|(one, other)| one.max(other));
                continue;
            }
            if gap.reason == GapReason::OptedOut {
                days = Some(joined.len());
            }
            joined.push(gap);
        }
        joined
    }

    fn goes_on_with(&self, next: &Self) -> bool {
        next.reason == GapReason::OptedOut && self.to.is_some_and(|to| next.from.since(to) < APART)
    }
}

#[cfg(test)]
#[path = "gap_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use chatkeep_core::time::DAY;

    use super::GapReason::{OptedOut, Quota};
    use super::*;

    fn gap(reason: GapReason, day: u32, skipped: Option<i64>) -> Gap {
        let at = |day: u32| Timestamp::default().plus(DAY * day);
        Gap { from: at(day), to: Some(at(day + 1)), reason, skipped }
    }

    fn shown(gaps: Vec<Gap>) -> Vec<(GapReason, u64, u64, Option<i64>)> {
        let gaps = Gap::joined(gaps).into_iter();
        gaps.map(|gap| {
            let day = |at: Timestamp| at.since(Timestamp::default()).as_secs() / DAY.as_secs();
            (gap.reason, day(gap.from), day(gap.to.unwrap()), gap.skipped)
        })
        .collect()
    }

    #[test]
    fn days_of_opted_out_people_are_joined_within_a_week() {
        let days = [1, 2, 3, 10, 18].map(|day| gap(OptedOut, day, Some(2)));
        assert_eq!(shown(days.to_vec()), [(OptedOut, 1, 11, Some(8)), (OptedOut, 18, 19, Some(2))]);
    }

    #[test]
    fn other_gaps_stay_and_part_them_not() {
        let gaps = vec![
            gap(Quota, 1, Some(1)),
            gap(OptedOut, 1, Some(3)),
            gap(Quota, 2, Some(1)),
            gap(OptedOut, 3, Some(4)),
        ];
        let quota = |day| (Quota, day, day + 1, Some(1));
        assert_eq!(shown(gaps), [quota(1), (OptedOut, 1, 4, Some(7)), quota(2)]);
    }

    #[test]
    fn a_day_within_another_does_not_shorten_it() {
        let long = |to| Gap { to, ..gap(OptedOut, 1, Some(2)) };
        let end = Some(Timestamp::default().plus(DAY * 5));
        let joined = Gap::joined([long(end), gap(OptedOut, 2, Some(1))]);
        assert_eq!(joined, [Gap { skipped: Some(3), ..long(end) }]);
        let open = Gap { to: None, ..gap(OptedOut, 2, Some(1)) };
        assert_eq!(Gap::joined([long(end), open])[0].to, None);
    }

    #[test]
    fn an_unknown_number_stays_unknown() {
        let gaps = vec![gap(OptedOut, 1, None), gap(OptedOut, 2, Some(4))];
        assert_eq!(shown(gaps), [(OptedOut, 1, 3, None)]);
    }
}
