//! Tests of left out spans against a slow search through the UTF-16 units of each letter.

use proptest::prelude::*;

use super::*;

/// Returns the text with a space where a span begins, and without the letters that one touches.
fn oracle(text: &str, spans: &[(u32, u32)]) -> String {
    let spans: Vec<_> = spans.iter().filter(|(_, length)| *length > 0).collect();
    let (mut rest, mut at) = (String::new(), 0_u64);
    for letter in text.chars() {
        let next = at + u64::try_from(letter.len_utf16()).unwrap();
        let begins = |start: u32| (at..next).contains(&u64::from(start));
        rest.extend(spans.iter().filter(|(start, _)| begins(*start)).map(|_| ' '));
        let touched = spans.iter().any(|(start, length)| {
            let start = u64::from(*start);
            start < next && start + u64::from(*length) > at
        });
        if !touched {
            rest.push(letter);
        }
        at = next;
    }
    rest.trim().to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn each_letter_that_a_span_touches_is_left_out(
        text in "[a 早👍\n]{0,14}",
        spans in prop::collection::vec((0_u32..20, prop_oneof![0_u32..6, Just(u32::MAX)]), 0..4),
    ) {
        let ranges = spans.iter().map(|(start, length)| of(*start, *length)).collect();
        prop_assert_eq!(without(&text, ranges).into_owned(), oracle(&text, &spans));
    }

    #[test]
    fn the_order_of_spans_does_not_matter(
        text in "[ab👍]{0,12}",
        spans in prop::collection::vec((0_u32..12, 0_u32..6), 0..4),
    ) {
        let ranges: Vec<_> = spans.iter().map(|(start, length)| of(*start, *length)).collect();
        let turned = ranges.iter().rev().cloned().collect();
        prop_assert_eq!(without(&text, ranges), without(&text, turned));
    }
}
