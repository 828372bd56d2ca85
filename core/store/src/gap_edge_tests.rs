//! Laws of gaps: joining and cutting keep each missing time and each known number.

use proptest::prelude::*;

use super::*;

const HOUR: i64 = 3_600_000;

fn gaps() -> impl Strategy<Value = Vec<Gap>> {
    let reason = prop_oneof![
        2 => Just(GapReason::OptedOut),
        1 => prop::sample::select(GapReason::ALL.to_vec()),
    ];
    let skipped = prop::option::weighted(0.9, 0_i64..9);
    let gap = (0_i64..24 * 40, prop::option::weighted(0.9, 1_i64..48), reason, skipped);
    prop::collection::vec(gap, 0..10).prop_map(|all| {
        let mut gaps: Vec<_> = all
            .into_iter()
            .map(|(from, length, reason, skipped)| Gap {
                from: Timestamp::from_millis(from * HOUR),
                to: length.map(|length| Timestamp::from_millis((from + length) * HOUR)),
                reason,
                skipped,
            })
            .collect();
        gaps.sort_by_key(|gap| (gap.from, gap.reason));
        gaps
    })
}

fn holds(gap: &Gap, at: Timestamp) -> bool {
    gap.from <= at && gap.to.is_none_or(|to| at < to)
}

fn others(gaps: &[Gap]) -> Vec<Gap> {
    gaps.iter().filter(|gap| gap.reason != GapReason::OptedOut).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn joining_keeps_order_other_gaps_and_the_sum(gaps in gaps()) {
        let joined = Gap::joined(gaps.clone());
        prop_assert_eq!(others(&joined), others(&gaps));
        prop_assert!(joined.is_sorted_by_key(|gap| gap.from));
        prop_assert_eq!(Gap::joined(joined.clone()), joined.clone(), "once is enough");
        let days = |gaps: &[Gap]| {
            let days = gaps.iter().filter(|gap| gap.reason == GapReason::OptedOut);
            days.map(|gap| gap.skipped).collect::<Vec<_>>()
        };
        // As far as all of them are known.
        if days(&gaps).iter().all(Option::is_some) {
            let sum = |gaps: &[Gap]| days(gaps).into_iter().flatten().sum::<i64>();
            prop_assert_eq!(sum(&joined), sum(&gaps));
        }
    }

    #[test]
    fn a_gap_since_a_time_is_the_rest_of_it(gaps in gaps(), start in 0_i64..24 * 44) {
        let start = Timestamp::from_millis(start * HOUR);
        for gap in gaps {
            prop_assert_eq!(gap.clone().since(None), Some(gap.clone()));
            let rest = gap.clone().since(Some(start));
            for hour in 0..24 * 44 {
                let at = Timestamp::from_millis(hour * HOUR);
                let is_left = rest.as_ref().is_some_and(|rest| holds(rest, at));
                prop_assert_eq!(is_left, at >= start && holds(&gap, at));
            }
            // Nobody can know how many messages of a part are missing.
            if let Some(rest) = rest {
                prop_assert_eq!(rest.skipped, gap.skipped.filter(|_| rest.from == gap.from));
            }
        }
    }
}

#[test]
fn a_moment_is_shorter_than_a_second_and_misses_nothing() {
    let gap = |to: Option<i64>, skipped| Gap {
        from: Timestamp::from_millis(0),
        to: to.map(Timestamp::from_millis),
        reason: GapReason::Unsubscribed,
        skipped,
    };
    for (to, skipped, is_moment) in [
        (Some(0), None, true),
        (Some(999), None, true),
        (Some(999), Some(0), true),
        (Some(999), Some(1), false),
        (Some(1_000), None, false),
        (None, None, false),
    ] {
        assert_eq!(gap(to, skipped).is_moment(), is_moment, "{to:?} {skipped:?}");
    }
}
