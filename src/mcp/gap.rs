//! Gaps in answers: periods in which messages were not stored, of one channel or of several.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_services::gaps::ChannelGaps;
use chatkeep_store::{Gap, GapReason};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::channel_table::ChannelTable;
use super::message_row::is_zero;
use super::shown_id::shown_id;
use super::time::AnswerZone;

/// Maximum number of gaps in an answer.
const GAPS: usize = 10;
/// Maximum number of channels that are named for one gap.
const CHANNELS: usize = 3;

/// Reason of a time whose messages were deleted, or removed because of their age.
const REMOVED: &str = "removed";
/// Reason of the time before the backup of a channel began.
const BEFORE_BACKUP: &str = "before_backup";
/// Reason of the same where messages of that time were imported.
const IMPORTED: &str = "imported";
/// Reason of a time of which the key may read nothing.
const NOT_READABLE: &str = "not_readable";

/// Period without backup, or whose messages were removed or may not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MissingTime {
    /// Absent where it begins with the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    /// Absent while it lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) to: Option<String>,
    /// quota, `bot_removed`, unsubscribed, outage; `opted_out`: only people who asked not to be
    /// stored; sent before to (of moreChannels, the latest): removed, `before_backup`, imported
    /// (the rest is missing), `not_readable` with this key.
    pub(super) reason: String,
    /// Number of messages that were not stored, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) skipped: Option<i64>,
    /// Its channels' short names; absent where the answer is about one channel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) channels: Vec<String>,
    /// Number of its further channels.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) more_channels: usize,
}

/// Gaps of an answer.
#[derive(Debug, Default)]
pub(super) struct GapRows {
    /// Those that last, and the latest others; oldest first.
    pub(super) rows: Vec<MissingTime>,
    /// Number of gaps that are left out.
    pub(super) omitted: usize,
    /// Number of channels whose gaps were not looked up.
    pub(super) unexamined: usize,
}

impl GapRows {
    /// Creates the rows of one channel's gaps.
    pub(super) fn of_channel(gaps: &ChannelGaps, zone: AnswerZone) -> Self {
        let of = gaps.of.iter().flat_map(|(_, gaps)| gaps.clone());
        let (of, omitted) = newest(of.collect(), |gap: &Gap| gap);
        let of_lists = lists(gaps).into_iter().flat_map(|(reason, times)| {
            times.iter().map(move |(_, before)| until(gaps, *before, reason, zone))
        });
        let rows = unreadable(gaps, zone).into_iter().chain(of_lists);
        let rows = rows.chain(of.iter().map(|gap| row(gap, zone))).collect();
        Self { rows, omitted, unexamined: 0 }
    }

    /// Creates the rows of several channels' gaps, with their channels in the table. What is missing
    /// of several channels at the same time for the same reason is one gap.
    pub(super) fn of_channels(
        gaps: &ChannelGaps,
        zone: AnswerZone,
        channels: &mut ChannelTable,
    ) -> Self {
        let mut joined: Vec<(Gap, Vec<&ChannelId>)> = Vec::new();
        let mut places = HashMap::new();
        for (channel, gaps) in &gaps.of {
            for gap in gaps {
                let key = (gap.from, gap.to, gap.reason);
                let at = *places.entry(key).or_insert_with(|| {
                    joined.push((gap.clone(), Vec::new()));
                    joined.len() - 1
                });
                let (sum, of) = &mut joined[at];
                if !of.is_empty() {
                    sum.skipped = sum.skipped.zip(gap.skipped).map(|(sum, more)| sum + more);
                }
                of.push(channel);
            }
        }
        let (joined, omitted) = newest(joined, |(gap, _)| gap);
        let mut of_several = |row: MissingTime, of: &[&ChannelId]| MissingTime {
            channels: of.iter().take(CHANNELS).map(|channel| channels.key(channel)).collect(),
            more_channels: of.len().saturating_sub(CHANNELS),
            ..row
        };
        let mut rows: Vec<_> = unreadable(gaps, zone).into_iter().collect();
        for (reason, times) in lists(gaps) {
            let (latest, others) = latest(times);
            rows.extend(latest.iter().map(|(channel, before)| {
                of_several(until(gaps, *before, reason, zone), &[channel])
            }));
            rows.extend(others.first().map(|(_, before)| MissingTime {
                more_channels: others.len(),
                ..until(gaps, *before, reason, zone)
            }));
        }
        rows.extend(joined.iter().map(|(gap, of)| of_several(row(gap, zone), of)));
        Self { rows, omitted, unexamined: gaps.unexamined }
    }

    /// Formats them as lines behind a text.
    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for gap in &self.rows {
            let MissingTime { from, to, reason, skipped, channels, more_channels } = gap;
            let from = from.as_deref().unwrap_or("the beginning");
            let to = to.as_deref().unwrap_or("now");
            let skipped = skipped.map_or_else(String::new, |count| format!(", {count} messages"));
            let what = match reason.as_str() {
                REMOVED => "Removed, not stored",
                BEFORE_BACKUP => "Before backup began, not stored",
                IMPORTED => "Before backup began, only what was imported is stored",
                NOT_READABLE => "Stored or not, not readable with this key",
                reason if reason == GapReason::OptedOut.name() => "Partly not stored",
                _ => "Not stored",
            };
            // Where there is no table of channels, these are ids.
            let channels: Vec<_> = channels.iter().map(|channel| shown_id(channel)).collect();
            let channels = channels.join(", ");
            let (of, latest) = match (channels.as_str(), more_channels) {
                ("", 0) => (String::new(), ""),
                ("", 1) => (" in 1 more channel".to_owned(), " at the latest"),
                ("", more) => (format!(" in {more} more channels"), " at the latest"),
                (channels, 0) => (format!(" in {channels}"), ""),
                (channels, more) => (format!(" in {channels} and {more} more"), ""),
            };
            // Writing to a String cannot fail.
            let _ = write!(lines, "\n{what}{of} from {from} to {to}{latest} ({reason}{skipped}).");
        }
        if self.omitted > 0 {
            let _ = write!(lines, "\n{} older gaps are omitted.", self.omitted);
        }
        if self.unexamined > 0 {
            let _ = write!(lines, "\nGaps of {} channels were not looked up.", self.unexamined);
        }
        lines
    }
}

/// Returns the gaps that last and the latest of the others, in order, and the number of those left
/// out.
fn newest<T>(mut gaps: Vec<T>, gap: impl Fn(&T) -> &Gap) -> (Vec<T>, usize) {
    let omitted = gaps.len().saturating_sub(GAPS);
    gaps.sort_by_key(|one| (gap(one).to.is_none(), gap(one).from));
    gaps.drain(..omitted);
    gaps.sort_by_key(|one| gap(one).from);
    (gaps, omitted)
}

/// Returns the times before which something is missing of channels, by reason.
fn lists(gaps: &ChannelGaps) -> [(&'static str, &[(ChannelId, Timestamp)]); 3] {
    [(BEFORE_BACKUP, &gaps.begun), (IMPORTED, &gaps.imported), (REMOVED, &gaps.removed)]
}

/// Times of channels before which something is missing.
type ChannelTimes<'a> = Vec<&'a (ChannelId, Timestamp)>;

/// Returns the channels with the latest times, and the others, both latest first. A time holds for its
/// channel alone: the latest of all would say of each that nothing older is stored.
fn latest(times: &[(ChannelId, Timestamp)]) -> (ChannelTimes<'_>, ChannelTimes<'_>) {
    let mut sorted: Vec<_> = times.iter().collect();
    sorted.sort_by_key(|(_, before)| Reverse(*before));
    let others = sorted.split_off(sorted.len().min(CHANNELS));
    (sorted, others)
}

/// Creates the row of the time that the key may not read, if the answer is about it.
fn unreadable(gaps: &ChannelGaps, zone: AnswerZone) -> Option<MissingTime> {
    let start = gaps.unreadable?;
    Some(MissingTime { from: None, ..until(gaps, start, NOT_READABLE, zone) })
}

/// Creates the row of everything that was sent before a time; of what the key may not read, nothing
/// is told.
fn until(gaps: &ChannelGaps, before: Timestamp, reason: &str, zone: AnswerZone) -> MissingTime {
    MissingTime {
        from: gaps.unreadable.filter(|start| *start < before).map(|start| zone.show(start)),
        to: Some(zone.show(before)),
        reason: reason.to_owned(),
        skipped: None,
        channels: Vec::new(),
        more_channels: 0,
    }
}

fn row(gap: &Gap, zone: AnswerZone) -> MissingTime {
    MissingTime {
        from: Some(zone.show(gap.from)),
        to: gap.to.map(|to| zone.show(to)),
        reason: gap.reason.name().to_owned(),
        skipped: gap.skipped,
        channels: Vec::new(),
        more_channels: 0,
    }
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::*;

    const ZONE: AnswerZone = AnswerZone(Tz::UTC);

    fn gap(from: i64, to: Option<i64>, reason: GapReason, skipped: Option<i64>) -> Gap {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        Gap { from: at(from), to: to.map(at), reason, skipped }
    }

    #[test]
    fn what_lasts_is_told_before_what_is_over() {
        let mut gaps = vec![gap(1, None, GapReason::Quota, Some(3))];
        gaps.extend((2..20).map(|from| gap(from, Some(from + 1), GapReason::Outage, None)));
        let of = vec![(ChannelId::from("C1"), gaps)];
        let gaps = ChannelGaps { of, ..ChannelGaps::default() };
        let shown = GapRows::of_channel(&gaps, ZONE);
        assert_eq!((shown.rows.len(), shown.omitted), (GAPS, 9));
        assert_eq!((shown.rows[0].reason.as_str(), &shown.rows[0].to), ("quota", &None));
        assert_eq!(shown.rows[9].from.as_deref(), Some("1970-01-01T00:00:19Z"));
        let lines = shown.lines();
        let first = "\nNot stored from 1970-01-01T00:00:01Z to now (quota, 3 messages).";
        assert!(lines.starts_with(first), "{lines}");
        assert!(lines.ends_with("\n9 older gaps are omitted."), "{lines}");
    }

    #[test]
    fn what_cannot_be_there_is_told() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let skipped = gap(20, Some(20), GapReason::Quota, Some(1));
        let (one, other) = (ChannelId::from("C1"), ChannelId::from("C2"));
        let gaps = ChannelGaps {
            of: vec![(one.clone(), vec![skipped])],
            begun: vec![(one.clone(), at(20)), (other, at(7))],
            imported: vec![(one, at(30))],
            unreadable: Some(at(9)),
            ..ChannelGaps::default()
        };
        let shown = GapRows::of_channels(&gaps, ZONE, &mut ChannelTable::default());
        let reasons = ["not_readable", "before_backup", "before_backup", "imported", "quota"];
        assert_eq!(shown.rows.iter().map(|row| &row.reason).collect::<Vec<_>>(), reasons);
        let [unreadable, begun, _, imported, _] = shown.rows.as_slice() else {
            panic!("{shown:?}")
        };
        assert_eq!((&unreadable.from, unreadable.channels.len()), (&None, 0));
        assert_eq!((begun.to.as_deref(), begun.channels.len()), (Some("1970-01-01T00:00:20Z"), 1));
        let from = Some("1970-01-01T00:00:09Z");
        assert_eq!((begun.from.as_deref(), imported.from.as_deref()), (from, from));
        let lines = shown.lines();
        for told in [
            "\nStored or not, not readable with this key from the beginning to 1970-01-01T00:00:09Z",
            "\nBefore backup began, not stored in c1 from 1970-01-01T00:00:09Z to 1970-01-01T00:00:20Z",
            "\nBefore backup began, not stored in c2 from the beginning to 1970-01-01T00:00:07Z",
            "\nBefore backup began, only what was imported is stored in c1 from 1970-01-01T00:00:09Z to",
        ] {
            assert!(lines.contains(told), "{lines}");
        }
        assert_eq!(GapRows::of_channel(&gaps, ZONE).rows.len(), 5);
    }

    #[test]
    fn the_same_gap_of_several_channels_is_one() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let outage = || gap(5, Some(9), GapReason::Outage, None);
        let mut of: Vec<_> =
            (0..7).map(|n| (ChannelId::from(format!("C{n}")), vec![outage()])).collect();
        of[1].1.push(gap(2, None, GapReason::Quota, Some(4)));
        of[2].1.push(gap(2, None, GapReason::Quota, Some(1)));
        let mut channels = ChannelTable::default();
        let removed = (2..6).map(|n| (ChannelId::from(format!("C{n}")), at(n)));
        let removed = removed.collect();
        let gaps = ChannelGaps { of, removed, unexamined: 2, ..ChannelGaps::default() };
        let shown = GapRows::of_channels(&gaps, ZONE, &mut channels);
        let [latest, .., other, quota, outage] = shown.rows.as_slice() else { panic!("{shown:?}") };
        assert_eq!((latest.from.as_ref(), latest.more_channels), (None, 0));
        assert_eq!(latest.to.as_deref(), Some("1970-01-01T00:00:05Z"));
        assert_eq!((other.channels.len(), other.more_channels), (0, 1));
        assert_eq!(other.to.as_deref(), Some("1970-01-01T00:00:02Z"));
        assert_eq!((quota.skipped, quota.channels.len()), (Some(5), 2));
        assert_eq!((outage.channels.len(), outage.more_channels), (CHANNELS, 4));
        let lines = shown.lines();
        let one_more = "\nRemoved, not stored in 1 more channel from the beginning to 1970-01-01T00:00:02Z at \
                        the latest (removed).";
        assert!(lines.contains(one_more), "{lines}");
        assert!(lines.contains("(outage)") && lines.contains(" and 4 more from "), "{lines}");
        assert!(lines.ends_with("Gaps of 2 channels were not looked up."), "{lines}");
    }
}
