//! Laws of citations: what is shown of a message is what it says, with whole numbers.

use std::collections::BTreeSet;

use chatkeep_index::search::{Highlighter, Query};
use chatkeep_view::sanitize::cut;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Parts of texts, and words to look for.
const WORDS: [&str; 20] = [
    "meet ",
    "at the riverside stadium ",
    "don’t ",
    "Wi-Fi ",
    "Straße ",
    "можно ",
    "नमस्ते ",
    "학교에서 ",
    "明天下午開會",
    "コンビニ",
    "ﾊﾟｽﾜｰﾄﾞ",
    "ที่จอดรถ",
    "e\u{301}te\u{301} ",
    "👩\u{200d}👩\u{200d}👧",
    "🇹🇼",
    "👍🏽",
    "a\u{200b}b",
    "costs",
    "… ",
    "\r\n",
];

/// Numbers, short enough to be shown whole.
const NUMBERS: [&str; 10] = [
    "12500",
    "12,500.00",
    "12 500",
    "2026-11-30",
    "0912-345-678",
    "10:30",
    "７",
    "１２，５００",
    "12\u{200b}500",
    "500",
];

/// Texts that follow a number.
const ENDINGS: [&str; 7] = [" dollars ", "元", "kg ", "บาท", "👍", " ", "\n"];

fn texts() -> impl Strategy<Value = String> {
    let number = (select(NUMBERS.to_vec()), select(ENDINGS.to_vec()));
    let number = number.prop_map(|(number, ending)| format!("{number}{ending}"));
    let word = select(WORDS.to_vec()).prop_map(str::to_owned);
    vec(prop_oneof![word, number], 0..60).prop_map(|parts| parts.concat())
}

fn queries() -> impl Strategy<Value = &'static str> {
    prop_oneof![select(WORDS.to_vec()), select(NUMBERS.to_vec()), Just("345")]
}

/// Returns the numbers of a text, which have no spaces in them here.
fn numbers(text: &str) -> BTreeSet<&str> {
    let pieces = text.split(|c: char| !c.is_numeric() && !",.:-，".contains(c));
    let pieces = pieces.map(|piece| piece.trim_matches(|c: char| !c.is_numeric()));
    pieces.filter(|piece| !piece.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_shown_of_a_message_is_what_it_says(
        text in texts(),
        query in queries(),
        max in 30..200_usize,
    ) {
        let query = Query::parse(query).unwrap_or_default();
        let found = clean(&Highlighter::new(&query).snippet(&text, max).text);
        let whole = clean(&text);
        for shown in [found, cut(&text, max).0] {
            prop_assert!(says(&text, &shown), "{shown:?} of {text:?}");
            let is_whole = numbers(&shown).is_subset(&numbers(&whole));
            prop_assert!(is_whole, "a piece of a number in {shown:?} of {text:?}");
        }
    }
}

#[test]
fn a_word_may_be_cut_beside_a_mark_and_a_number_may_not() {
    let text = "The riverside stadium costs 12500 dollars, to be paid before Friday";
    for quoted in [
        "…12500 dollars, to be paid before Friday",
        "…side stadi…",
        "The river…dollars",
        "the riverside stadi...",
    ] {
        assert!(says(text, quoted), "{quoted}");
    }
    for quoted in [
        "…500 dollars…",
        "costs 125…",
        "…2500…",
        "costs …500 dollars",
        "side stadi…",
        "… side stadium",
        "…stadi …",
    ] {
        assert!(!says(text, quoted), "{quoted}");
    }
    assert!(!says("The price is 1000", "the price is 100…") && !says("1000", "…00"));
    // What is longer than any number that is shown whole is cut wherever it has to be.
    assert!(says(&"1234567890".repeat(8), "…4567890123…"));
}
