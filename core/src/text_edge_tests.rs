//! Laws of cut texts, against a search of all places where a text may be cut.

use proptest::prelude::*;

use super::*;

/// Parts whose letters are of one unit or two, and clusters of one letter or many.
const PARTS: [&str; 12] = [
    "a",
    "é",
    "e\u{301}",
    "早",
    "👍",
    "👍🏽",
    "👨\u{200d}👩\u{200d}👧",
    "🇹🇼",
    "\r\n",
    "각",
    "ก็",
    " ",
];

fn texts() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..12);
    prop_oneof![parts.prop_map(|parts| parts.concat()), ".{0,24}"]
}

/// Returns the longest prefix that fits of those that end between clusters, or between letters
/// where not even the first cluster fits.
fn oracle(text: &str, max: usize, size: fn(char) -> usize) -> &str {
    let fits = |end: &usize| text[..*end].chars().map(size).sum::<usize>() <= max;
    let clusters = text.grapheme_indices(true).map(|(at, cluster)| at + cluster.len());
    let whole = clusters.filter(fits).max();
    let letters = text.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let end = whole.or_else(|| letters.filter(fits).max());
    &text[..end.unwrap_or(0)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_prefix_is_the_longest_that_tears_nothing(text in texts(), max in 0_usize..30) {
        prop_assert_eq!(prefix(&text, max), oracle(&text, max, |_| 1));
        prop_assert_eq!(prefix_utf16(&text, max), oracle(&text, max, char::len_utf16));
    }

    #[test]
    fn cutting_again_cuts_nothing_more(text in texts(), max in 0_usize..30) {
        let once = prefix(&text, max);
        prop_assert!(text.starts_with(once) && once.chars().count() <= max);
        prop_assert_eq!(prefix(once, max), once);
        let units = prefix_utf16(&text, max);
        prop_assert!(units.len() <= once.len(), "a letter has at least one unit");
        prop_assert_eq!(prefix_utf16(units, max), units);
    }

    #[test]
    fn more_room_never_shows_less(text in texts(), max in 0_usize..30) {
        prop_assert!(prefix(&text, max + 1).starts_with(prefix(&text, max)));
        prop_assert_eq!(prefix(&text, text.len()), text.as_str());
        prop_assert_eq!(prefix(&text, usize::MAX), text.as_str());
    }

    #[test]
    fn an_ellipsis_stands_where_something_is_missing(text in texts(), max in 0_usize..30) {
        let shown = shortened(&text, max);
        if text.chars().count() <= max {
            prop_assert_eq!(&*shown, text.as_str());
        } else {
            prop_assert_eq!(&*shown, &format!("{}…", prefix(&text, max)));
        }
    }
}
