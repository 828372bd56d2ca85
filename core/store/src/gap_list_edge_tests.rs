//! Tests of absences against the state of a channel in each millisecond.

use proptest::prelude::*;

use super::*;

/// End of the times that are looked at.
const END: i64 = 30;

fn changes() -> impl Strategy<Value = Vec<(i64, CoverageChange)>> {
    let kind = prop::sample::select(CoverageChange::ALL.to_vec());
    prop::collection::vec((1_i64..20, kind), 0..14).prop_map(|mut changes| {
        // As the statement orders them.
        changes.sort_by_key(|(at, kind)| (*at, kind.name()));
        changes
    })
}

/// Returns whether a condition holds at a time, after all changes of that time.
fn state(
    changes: &[(i64, CoverageChange)],
    at: i64,
    begins: CoverageChange,
    ends: CoverageChange,
) -> Option<bool> {
    let until = changes.iter().take_while(|(time, _)| *time <= at).map(|(_, kind)| *kind);
    until.filter(|kind| [begins, ends].contains(kind)).last().map(|kind| kind == begins)
}

fn holds(gaps: &[Gap], reason: GapReason, at: i64) -> bool {
    let mut own = gaps.iter().filter(|gap| gap.reason == reason);
    own.any(|gap| gap.from.millis() <= at && gap.to.is_none_or(|to| at < to.millis()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_channel_is_absent_exactly_while_it_is(changes in changes(), known in 0_i64..2) {
        let Some(first) = since(&changes) else { return Ok(()) };
        let gaps = absences(&changes, Timestamp::from_millis(known), first);
        for at in 0..END {
            let (begins, ends) = (CoverageChange::Unsubscribed, CoverageChange::Subscribed);
            // Nobody has subscribed before somebody does.
            let unsubscribed = at >= known && state(&changes, at, begins, ends).unwrap_or(true);
            prop_assert_eq!(holds(&gaps, GapReason::Unsubscribed, at), unsubscribed, "{}", at);
            let (begins, ends) = (CoverageChange::BotLeft, CoverageChange::BotJoined);
            let removed = state(&changes, at, begins, ends).unwrap_or(false);
            let removed = at >= first.millis() && removed;
            prop_assert_eq!(holds(&gaps, GapReason::BotRemoved, at), removed, "{}", at);
        }
        prop_assert!(gaps.iter().all(|gap| gap.to.is_none_or(|to| gap.from < to)));
    }

    #[test]
    fn the_absences_of_a_time_are_those_of_all_times_that_touch_it(
        changes in changes(),
        from in prop::option::of(0_i64..25),
        length in prop::option::of(0_i64..10),
    ) {
        let at = Timestamp::from_millis;
        let gaps = |period| gaps_in(period, &changes, at(0), vec![], &[]);
        let to = length.map(|length| at(from.unwrap_or(0) + length));
        let period = Period { from: from.map(at), to };
        let all = gaps(Period { from: None, to: None });
        prop_assert!(all.is_sorted_by_key(|gap| (gap.from, gap.reason)));
        let touching: Vec<_> = all.into_iter().filter(|gap| period.touches(gap)).collect();
        prop_assert_eq!(gaps(period), touching);
    }
}

#[test]
fn an_outage_counts_from_the_first_subscription() {
    let changes = [(10, CoverageChange::Subscribed)];
    let all = Period { from: None, to: None };
    let gaps = |changes: &[_]| {
        let gaps =
            gaps_in(all, changes, Timestamp::from_millis(10), vec![], &[(1, 9), (5, 15), (20, 30)]);
        let times = gaps.into_iter().map(|gap| (gap.from.millis(), gap.to.map(Timestamp::millis)));
        times.collect::<Vec<_>>()
    };
    assert_eq!(gaps(&changes), [(10, Some(15)), (20, Some(30))]);
    assert_eq!(gaps(&[]), [(10, None)], "nobody had it backed up, outage or not");
}
