//! Laws of pauses: however many there were, and however long they are.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pauses_are_the_same_counted_or_one_after_another(
        first in 1_u64..1_000,
        times in 1_u64..=1 << 31,
    ) {
        let first = Duration::from_millis(first);
        let longest = first * u32::try_from(times).unwrap();
        let backoff = Backoff { first, longest };
        let mut pause = None;
        for nth in 0..40 {
            let next = backoff.after(pause);
            prop_assert_eq!(backoff.after_many(nth), next);
            prop_assert!(next <= longest && pause.is_none_or(|pause| pause <= next));
            pause = Some(next);
        }
        prop_assert_eq!(pause, Some(longest));
    }
}

#[test]
fn the_longest_times_do_not_overflow() {
    let backoff = Backoff { first: Duration::MAX, longest: Duration::MAX };
    assert_eq!(backoff.after(Some(Duration::MAX)), Duration::MAX);
    assert_eq!(backoff.after_many(u32::MAX), Duration::MAX);
    let none = Backoff { first: Duration::ZERO, longest: Duration::from_secs(1) };
    assert_eq!((none.after(None), none.after_many(9)), (Duration::ZERO, Duration::ZERO));
    let bounded = Backoff { first: Duration::from_secs(9), longest: Duration::from_secs(1) };
    assert_eq!((bounded.after(None), bounded.after_many(0)), (bounded.longest, bounded.longest));
}
