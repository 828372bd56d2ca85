//! Gaps as rows: of one channel and of several they are the same, those that last come first where
//! some must be left out, and none is told of a time that the key may not read.

use chatkeep_core::id::ChannelId;
use chatkeep_services::gaps::ChannelGaps;
use chatkeep_store::{Gap, GapReason};
use chrono_tz::Tz;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::at;
use crate::channel_table::{ChannelEntry, ChannelTable};
use crate::gap::{GapRows, MissingTime};
use crate::time::AnswerZone;

const ZONE: AnswerZone = AnswerZone(Tz::UTC);
/// Maximum number of gaps in an answer, and of channels that are named for one.
const GAPS: usize = 10;
const NAMED: usize = 3;

/// Returns gaps that begin at different times, some of which last.
fn gaps() -> impl Strategy<Value = Vec<Gap>> {
    let reasons = select(GapReason::ALL.to_vec());
    vec((reasons, proptest::option::of(1..1_000_i64), proptest::option::of(0..9_i64)), 0..25)
        .prop_map(|parts| {
            let gap = |(nth, (reason, length, skipped)): (usize, (_, Option<i64>, _))| {
                let from = i64::try_from(nth).unwrap() * 1_000_000;
                let to = length.map(|length| at(from + length * 1_000));
                Gap { from: at(from), to, reason, skipped }
            };
            parts.into_iter().enumerate().map(gap).collect()
        })
}

/// Returns the rows of gaps of each of these channels.
fn of_several(of: Vec<(ChannelId, Vec<Gap>)>) -> GapRows {
    let gaps = ChannelGaps { of, ..ChannelGaps::default() };
    GapRows::of_channels(&gaps, ZONE, &mut ChannelTable::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn one_channel_among_several_has_the_rows_of_one(
        gaps in gaps(),
        begun in proptest::option::of(0..9_000_000_i64),
        removed in proptest::option::of(0..9_000_000_i64),
        unreadable in proptest::option::of(0..9_000_000_i64),
    ) {
        let id = ChannelId::from("C1");
        let times = |time: Option<i64>| {
            time.map(|time| (id.clone(), at(time))).into_iter().collect()
        };
        let gaps = ChannelGaps {
            of: vec![(id.clone(), gaps)],
            begun: times(begun),
            removed: times(removed),
            unreadable: unreadable.map(at),
            ..ChannelGaps::default()
        };
        let alone = GapRows::of_channel(&gaps, ZONE);
        let among = GapRows::of_channels(&gaps, ZONE, &mut ChannelTable::default());
        let bare = |row: &MissingTime| MissingTime { channels: Vec::new(), ..row.clone() };
        prop_assert_eq!(&alone.rows, &among.rows.iter().map(bare).collect::<Vec<_>>());
        prop_assert_eq!(alone.omitted, among.omitted);
        prop_assert!(alone.rows.iter().all(|row| row.channels.is_empty()));
        let named = among.rows.iter().filter(|row| row.reason != "not_readable");
        prop_assert!(named.clone().all(|row| row.channels == ["c1"]));
        // Each row is a line, and what is left out is counted.
        let lines = alone.lines().lines().filter(|line| !line.is_empty()).count();
        prop_assert_eq!(lines, alone.rows.len() + usize::from(alone.omitted > 0));
    }

    #[test]
    fn what_lasts_is_left_out_last_and_the_rest_is_the_latest(gaps in gaps()) {
        let all = gaps.len();
        let lasting = gaps.iter().filter(|gap| gap.to.is_none()).count();
        let over: Vec<_> = gaps.iter().filter(|gap| gap.to.is_some()).cloned().collect();
        let rows = of_several(vec![("C1".into(), gaps)]);
        prop_assert_eq!((rows.rows.len(), rows.omitted), (all.min(GAPS), all.saturating_sub(GAPS)));
        let shown = rows.rows.iter().filter(|row| row.to.is_none()).count();
        prop_assert_eq!(shown, lasting.min(GAPS));
        let ended: Vec<_> = rows.rows.iter().filter(|row| row.to.is_some()).collect();
        let latest = over.iter().rev().take(ended.len()).rev();
        let latest: Vec<_> = latest.map(|gap| Some(ZONE.show(gap.from))).collect();
        prop_assert_eq!(ended.iter().map(|row| row.from.clone()).collect::<Vec<_>>(), latest);
        let times: Vec<_> = rows.rows.iter().map(|row| row.from.clone()).collect();
        prop_assert!(times.is_sorted(), "{times:?}");
    }

    /// No channel of a gap is lost: it is named, or counted.
    #[test]
    fn every_channel_of_a_gap_is_named_or_counted(numbers in vec(0..6_usize, 1..12)) {
        let outage = |number: usize| {
            let from = i64::try_from(number).unwrap() * 1_000_000;
            Gap { from: at(from), to: None, reason: GapReason::Outage, skipped: None }
        };
        let of = numbers.iter().enumerate();
        let of = of.map(|(nth, number)| (format!("C{nth}").into(), vec![outage(*number)]));
        let rows = of_several(of.collect());
        let told = |row: &MissingTime| row.channels.len() + row.more_channels;
        prop_assert_eq!(rows.rows.iter().map(told).sum::<usize>(), numbers.len());
        let counted = |row: &MissingTime| row.more_channels == 0 || row.channels.len() == NAMED;
        prop_assert!(rows.rows.iter().all(counted));
    }
}

#[test]
fn of_a_time_before_a_key_begins_only_that_is_told() {
    let (early, late) = (ChannelId::from("C1"), ChannelId::from("C2"));
    let gaps = ChannelGaps {
        begun: vec![(early.clone(), at(5_000)), (late.clone(), at(20_000))],
        removed: vec![(early, at(10_000)), (late, at(15_000))],
        unreadable: Some(at(10_000)),
        ..ChannelGaps::default()
    };
    let rows = GapRows::of_channels(&gaps, ZONE, &mut ChannelTable::default()).rows;
    let shown = |seconds: &str| Some(format!("1970-01-01T00:00:{seconds}Z"));
    assert_eq!(
        (&rows[0].reason[..], &rows[0].from, &rows[0].to),
        ("not_readable", &None, &shown("10"))
    );
    for row in &rows[1..] {
        // What ended before the key begins has no begin that could be told.
        let from = row.from.as_ref().zip(row.to.as_ref());
        assert!(from.is_none_or(|(from, to)| from < to), "{row:?}");
        assert!(row.from.is_none() || row.from == shown("10"), "{row:?}");
    }
}

#[test]
fn the_latest_times_are_named_and_the_others_share_the_latest_of_theirs() {
    let times = [40, 10, 50, 20, 30];
    let begun = times.iter().map(|time| (format!("C{time}").into(), at(time * 1_000)));
    let gaps = ChannelGaps { begun: begun.collect(), ..ChannelGaps::default() };
    let entry = |time: &i64| {
        let id = ChannelId::from(format!("C{time}"));
        (id.clone(), ChannelEntry { channel_id: id.to_string(), ..ChannelEntry::default() })
    };
    let mut channels = ChannelTable::new(times.iter().map(entry));
    let rows = GapRows::of_channels(&gaps, ZONE, &mut channels).rows;
    let shown =
        |row: &MissingTime| (row.to.clone().unwrap(), row.channels.len(), row.more_channels);
    let time = |seconds: i64| format!("1970-01-01T00:00:{seconds}Z");
    let expected = [(time(50), 1, 0), (time(40), 1, 0), (time(30), 1, 0), (time(20), 0, 2)];
    assert_eq!(rows.iter().map(shown).collect::<Vec<_>>(), expected);
    let named = channels.rows();
    let ids: Vec<_> = named.values().map(|channel| channel.channel_id.as_str()).collect();
    assert_eq!(ids, ["C50", "C40", "C30"], "the others are not in the table");
}

#[test]
fn a_number_of_messages_is_told_where_all_of_it_is_known() {
    let gap =
        |skipped| vec![Gap { from: at(0), to: Some(at(9_000)), reason: GapReason::Quota, skipped }];
    for (counts, expected) in [
        ([Some(3), Some(4), Some(0)], Some(7)),
        ([Some(3), None, Some(4)], None),
        ([None, Some(3), Some(4)], None),
        ([Some(3), Some(4), None], None),
    ] {
        let of = counts.iter().enumerate();
        let of = of.map(|(nth, skipped)| (format!("C{nth}").into(), gap(*skipped)));
        let rows = of_several(of.collect());
        assert_eq!((rows.rows.len(), rows.rows[0].skipped), (1, expected), "{counts:?}");
        assert_eq!(rows.lines().contains(" messages)"), expected.is_some(), "{}", rows.lines());
    }
}
