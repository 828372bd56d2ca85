//! Tests of reserves against exact arithmetic, up to the largest file systems there could be.

use proptest::prelude::*;

use super::*;

/// Sizes near each other, and near the ends.
fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..200, (0_u64..200).prop_map(|size| u64::MAX - size), any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_pause_begins_below_the_reserve_and_ends_a_quarter_above_it(
        minimum in sizes(),
        records in prop::collection::vec(sizes(), 0..12),
    ) {
        let reserve = DiskReserve::new(minimum);
        let (clone, mut low) = (reserve.clone(), false);
        for free in records {
            let quarter = if low { minimum / 4 } else { 0 };
            low = free < minimum.saturating_add(quarter);
            prop_assert_eq!(reserve.record(free), low);
            prop_assert_eq!((reserve.is_low(), clone.is_low()), (low, low));
        }
    }

    #[test]
    fn there_is_room_for_what_leaves_the_reserve_whole(
        minimum in sizes(),
        free in sizes(),
        more in sizes(),
    ) {
        let reserve = DiskReserve::new(minimum);
        reserve.record(free);
        let needed = u128::from(minimum) + u128::from(more);
        prop_assert_eq!(reserve.has_room_for(more), minimum == 0 || u128::from(free) >= needed);
        prop_assert_eq!(reserve.minimum(), minimum);
    }
}
