//! Tests of usage against exact arithmetic, for every plan and any count of bytes.

use proptest::prelude::*;

use super::*;

/// The status by whole numbers alone: a share of `tenths` is reached.
fn oracle(used: i64, plan: Plan) -> UsageStatus {
    let reaches = |tenths: i128| i128::from(used) * 10 >= i128::from(plan.quota()) * tenths;
    if reaches(10) {
        UsageStatus::Exceeded
    } else if reaches(9) {
        UsageStatus::Critical
    } else if reaches(8) {
        UsageStatus::Warning
    } else {
        UsageStatus::Ok
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    prop::sample::select(Plan::ALL.to_vec())
}

/// Counts around the bounds of the statuses, and any others.
fn counts() -> impl Strategy<Value = (i64, Plan)> {
    let near = (plans(), 0_i64..=12, -3_i64..=3)
        .prop_map(|(plan, tenths, off)| (plan.quota() / 10 * tenths + off, plan));
    prop_oneof![near, (0..=i64::MAX, plans()), (0_i64..1_000_000_000_000, plans())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_status_is_that_of_exact_arithmetic((used, plan) in counts()) {
        let usage = Usage::new(used, plan);
        prop_assert_eq!(usage.status(), oracle(used.max(0), plan));
        prop_assert_eq!(usage.exceeded(), usage.used >= usage.quota);
        let percentage = usage.percentage();
        prop_assert!((0.0..=100.0).contains(&percentage));
        prop_assert_eq!(percentage >= 100.0, usage.exceeded());
    }

    #[test]
    fn what_is_left_and_what_is_used_make_the_quota((used, plan) in counts()) {
        let usage = Usage::new(used, plan);
        let left = usage.remaining();
        if usage.exceeded() {
            prop_assert_eq!(left, 0);
        } else {
            prop_assert_eq!(usage.used + left, plan.quota());
        }
    }

    #[test]
    fn more_bytes_never_lower_the_figures((used, plan) in counts(), more in 0_i64..1_000_000_000) {
        let (before, after) = (Usage::new(used, plan), Usage::new(used.saturating_add(more), plan));
        prop_assert!(after.status() >= before.status());
        prop_assert!(after.percentage() >= before.percentage());
        prop_assert!(after.remaining() <= before.remaining());
    }
}

#[test]
fn each_plan_is_larger_than_the_one_before() {
    let mut plans = vec![Plan::default()];
    while let Some(next) = plans.last().unwrap().next() {
        assert!(next.quota() > plans.last().unwrap().quota());
        plans.push(next);
    }
    assert_eq!(plans, Plan::ALL);
    for plan in Plan::ALL {
        assert_eq!(Plan::parse(&plan.to_string()), Some(plan));
    }
    assert_eq!(Plan::parse("Free"), None, "names are exact");
}

#[test]
fn a_larger_plan_never_has_a_worse_status() {
    for plan in Plan::ALL {
        let Some(next) = plan.next() else { continue };
        for used in [0, plan.quota() * 8 / 10, plan.quota(), next.quota(), i64::MAX, i64::MIN] {
            assert!(Usage::new(used, next).status() <= Usage::new(used, plan).status(), "{used}");
        }
    }
}
