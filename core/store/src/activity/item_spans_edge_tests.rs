//! Laws of divided periods: every time counts once, and no edge is longer than half a span.

use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whole_spans_and_edges_make_up_the_period(
        from in -300_i64..300,
        lasts in 0_i64..300,
        length in prop::sample::select(vec![2_i64, 24, 32, 96]),
    ) {
        let to = from + lasts;
        let (whole, edges) = divided((from, to), length);
        prop_assert_eq!((whole.from % length, whole.to % length, whole.sign), (0, 0, 1));
        prop_assert!(whole.from <= whole.to && edges.len() <= 2);
        for at in -700..1_000 {
            let counted: i64 = edges
                .iter()
                .chain([&whole])
                .filter(|span| (span.from..span.to).contains(&at))
                .map(|span| span.sign)
                .sum();
            prop_assert_eq!(counted, i64::from((from..to).contains(&at)), "{}", at);
        }
        for edge in &edges {
            prop_assert!(edge.from < edge.to && edge.to - edge.from <= length / 2);
        }
    }
}
