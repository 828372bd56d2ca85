//! Tests of the corrected clock with answers at the limits, and with any answers.

use proptest::prelude::*;

use super::tests::{START, clock, offset, says};
use super::*;

#[test]
fn an_answer_counts_until_it_took_too_long() {
    for (late, counts) in [(0, true), (1, false)] {
        let (clock, machine) = clock();
        let asked = clock.machine();
        machine.advance(LONGEST + Duration::from_millis(late));
        clock.observe(Timestamp::from_millis(START + 5_000), asked);
        assert_eq!(clock.is_confirmed(), counts, "{late} ms too late");
    }
}

#[test]
fn an_answer_from_before_the_request_is_ignored() {
    // The machine's clock was set back while the request was under way.
    let (clock, machine) = clock();
    let asked = clock.machine();
    machine.set(Timestamp::from_millis(START - 1));
    for _ in 0..2 {
        clock.observe(Timestamp::from_millis(START), asked);
        assert_eq!((offset(&clock), clock.is_confirmed()), (0, false));
    }
}

#[test]
fn a_mistake_now_and_then_never_adds_up() {
    let (clock, _) = clock();
    for _ in 0..3 {
        says(&clock, 0);
        assert!(clock.is_confirmed());
        says(&clock, 60_000);
        assert_eq!((offset(&clock), clock.is_confirmed()), (0, false));
    }
}

#[test]
fn no_answer_however_absurd_breaks_the_clock() {
    let ends = [i64::MIN, -1, START, i64::MAX];
    for (machine_at, said) in ends.into_iter().flat_map(|at| ends.map(|said| (at, said))) {
        let (clock, machine) = clock();
        machine.set(Timestamp::from_millis(machine_at));
        for _ in 0..3 {
            clock.observe(Timestamp::from_millis(said), clock.machine());
            clock.now();
            clock.is_confirmed();
        }
        machine.set(Timestamp::from_millis(START));
        clock.now();
        clock.is_confirmed();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn one_answer_alone_never_moves_the_clock(ahead in -4_000_000_000_000_i64..4_000_000_000_000) {
        let (clock, _) = clock();
        says(&clock, ahead);
        prop_assert_eq!(offset(&clock), 0);
        prop_assert_eq!(clock.now(), clock.machine());
    }

    #[test]
    fn two_answers_that_agree_bring_the_clock_within_two_seconds(
        ahead in prop_oneof![-10_000_i64..10_000, -4_000_000_000_000_i64..4_000_000_000_000],
    ) {
        let (clock, _) = clock();
        says(&clock, ahead);
        says(&clock, ahead);
        prop_assert!(clock.is_confirmed());
        prop_assert!((offset(&clock) - ahead).abs() <= 2_000, "{}", offset(&clock));
    }

    #[test]
    fn a_clock_shows_only_what_two_answers_agreed_on(
        answers in prop::collection::vec(prop::sample::select(vec![0_i64, 60_000, -60_000]), 0..12),
    ) {
        let (clock, _) = clock();
        for (place, ahead) in answers.iter().enumerate() {
            says(&clock, *ahead);
            let near = |said: i64| (offset(&clock) - said).abs() <= 2_000;
            let agreed = answers[..=place].windows(2).any(|two| two[0] == two[1] && near(two[0]));
            prop_assert!(agreed || offset(&clock) == 0, "{:?}", &answers[..=place]);
        }
    }
}
