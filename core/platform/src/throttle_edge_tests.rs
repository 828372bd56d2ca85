//! Laws of the rate limit: no second has more calls than allowed, and no wait is too long.

use std::sync::Arc;

use chatkeep_core::time::{Clock as _, ManualClock};
use proptest::prelude::*;

use super::*;

const START: i64 = 1_000_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_second_has_more_calls_than_allowed(
        per_second in 2_u32..30,
        share in 1_u32..30,
        steps in prop::collection::vec((0_u64..700, 0_usize..40), 1..40),
    ) {
        let burst = (per_second - 1).min(share);
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
        let throttle = Throttle::new(per_second, burst, clock.clone());
        let mut sent: Vec<i64> = Vec::new();
        for (pause, calls) in steps {
            clock.advance(Duration::from_millis(pause));
            let now = clock.now().millis();
            sent.extend((0..calls).take_while(|_| throttle.take().is_ok()).map(|_| now));
        }
        for from in &sent {
            let second = sent.iter().filter(|at| (*from..from + 1_000).contains(*at)).count();
            prop_assert!(second <= usize::try_from(per_second).unwrap(), "{second} in a second");
        }
    }

    #[test]
    fn a_turn_comes_when_it_was_said_and_not_before(
        per_second in 2_u32..50,
        share in 1_u32..50,
        pause in 0_u64..300,
    ) {
        let burst = (per_second - 1).min(share);
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
        let throttle = Throttle::new(per_second, burst, clock.clone());
        while throttle.take().is_ok() {}
        clock.advance(Duration::from_millis(pause));
        let Err(Throttled::Turn(wait)) = throttle.take() else { return Ok(()) };
        prop_assert!(!wait.is_zero() && wait <= Duration::from_secs(1));
        clock.advance(wait.saturating_sub(Duration::from_millis(1)));
        prop_assert!(throttle.take().is_err(), "it came too early");
        clock.advance(Duration::from_millis(1));
        prop_assert_eq!(throttle.take(), Ok(()));
    }

    #[test]
    fn of_several_pauses_the_longest_counts(
        pauses in prop::collection::vec((0_u64..400, 0_u64..100), 1..8),
    ) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
        let throttle = Throttle::new(10, 5, clock.clone());
        let mut until = clock.now();
        for (pause, passed) in pauses {
            throttle.pause(Duration::from_secs(pause));
            // Nobody is kept waiting for longer than five minutes.
            until = until.max(clock.now().plus(Duration::from_secs(pause.min(300))));
            clock.advance(Duration::from_secs(passed));
        }
        let left = until.since(clock.now());
        let expected = if left.is_zero() { Ok(()) } else { Err(Throttled::Pause(left)) };
        prop_assert_eq!(throttle.take(), expected);
    }
}

#[test]
fn a_clock_that_is_set_back_gives_no_calls_away() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
    let throttle = Throttle::new(10, 5, clock.clone());
    while throttle.take().is_ok() {}
    for _ in 0..3 {
        clock.set(Timestamp::from_millis(0));
        assert!(throttle.take().is_err());
        clock.set(Timestamp::from_millis(START));
        assert!(throttle.take().is_ok(), "time has passed since the clock was set back");
        while throttle.take().is_ok() {}
    }
}
