//! Laws of folding: what Unicode calls the same folds to the same, white space separates and does
//! no more, and every folded character knows where it came from.

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use unicode_segmentation::UnicodeSegmentation as _;

use super::alike::fold_alike;
use super::search::{SearchText, fold_for_search};
use super::tests::mixed_text;
use super::*;
use crate::script::Class;
use crate::{is_longer, length_up_to};

/// Generates texts of characters that compose, decompose, reorder, widen and vanish.
fn spelled_text() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        "e",
        "E",
        "\u{301}",
        "\u{323}",
        "ệ",
        "Å",
        "ﬁ",
        "ß",
        "ẞ",
        "Σ",
        "ς",
        "İ",
        "ı",
        "Ǆ",
        "\u{212a}",
        "が",
        "か",
        "\u{3099}",
        "ｶ",
        "ﾞ",
        "ヴ",
        "ゔ",
        "한",
        "\u{1112}",
        "\u{1161}",
        "\u{11ab}",
        "น",
        "\u{e33}",
        "\u{e4d}",
        "\u{e49}",
        "\u{e32}",
        "เ",
        "แ",
        "ກ",
        "\u{eb3}",
        "\u{ec9}",
        "क",
        "\u{93c}",
        "\u{958}",
        "க",
        "ெ",
        "ா",
        "ﷺ",
        "㍿",
        "½",
        "…",
        "⋯",
        "’",
        "“",
        "Ⅷ",
        "①",
        "臺",
        "台",
        "\u{f900}",
        "\u{2f800}",
        "\u{200b}",
        "\u{ad}",
        "\u{fe0f}",
        "\u{200d}",
        "👩",
        "🏽",
        "\u{1d15e}",
        " ",
        "\u{a0}",
        "\r\n",
        "\u{3000}",
        "\0",
        "a",
        "ａ",
        "-",
        "\u{2011}",
    ];
    vec(select(PARTS), 0..10).prop_map(|parts| parts.concat())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![spelled_text(), mixed_text()]
}

/// Returns the characters of a text in that range.
fn characters(text: &str, range: &std::ops::Range<usize>) -> String {
    text.chars().skip(range.start).take(range.len()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn spellings_that_unicode_calls_the_same_fold_to_the_same(text in any_text()) {
        let canonical = DecomposingNormalizerBorrowed::new_nfd().normalize(&text);
        let compatible = DecomposingNormalizerBorrowed::new_nfkd().normalize(&text);
        let composed = ComposingNormalizerBorrowed::new_nfc().normalize(&text);
        for other in [&canonical, &compatible, &composed] {
            prop_assert_eq!(fold(other), fold(&text), "{:?} {:?}", text, other);
            prop_assert_eq!(fold_alike(other), fold_alike(&text), "{:?} {:?}", text, other);
        }
        let (searched, other) = (fold_for_search(&text), fold_for_search(&composed));
        prop_assert_eq!(&searched, &other, "{:?}", text);
        prop_assert_eq!(&searched, &fold_for_search(&canonical), "{:?}", text);
    }

    #[test]
    fn white_space_separates_and_nothing_else_happens_there(
        one in any_text(), two in any_text(), space in select(vec![" ", "\n\n", "\u{3000}", " \t"]),
    ) {
        let both = [fold(&one), fold(&two)];
        let both = both.iter().map(String::as_str).filter(|one| !one.is_empty());
        let both: Vec<&str> = both.collect();
        let whole = fold(&format!("{one}{space}{two}"));
        prop_assert_eq!(&whole, &both.join(" "), "{:?} {:?}", one, two);
        let padded = fold(&format!("{space}{one}{space}"));
        prop_assert_eq!(padded, fold(&one));
    }

    #[test]
    fn what_is_folded_has_neither_case_nor_width_nor_anything_invisible(text in any_text()) {
        let folded = fold(&text);
        prop_assert!(!folded.starts_with(' ') && !folded.ends_with(' '), "{:?}", folded);
        prop_assert!(!folded.contains("  "), "{:?}", folded);
        for c in folded.chars() {
            prop_assert!(c == ' ' || !c.is_whitespace(), "{:?}", folded);
            prop_assert!(!is_ignorable(c) && !matches!(c, '\u{ff01}'..='\u{ff5e}'), "{:?}", c);
            prop_assert!(!c.is_uppercase() || c.to_lowercase().eq([c]), "{:?} in {:?}", c, folded);
        }
    }

    #[test]
    fn a_phrase_loses_its_marks_once(text in any_text(), marks in "[?!.,:;~。、〜…❓ ]{0,4}") {
        let phrase = fold_phrase(&text);
        prop_assert_eq!(fold_phrase(&phrase), phrase.as_str());
        prop_assert_eq!(phrase.is_empty(), fold(&text).is_empty());
        prop_assert_eq!(is_blank(&text), phrase.is_empty());
        let has_words = phrase.chars().any(|c| !is_end_mark(c));
        if has_words {
            prop_assert_eq!(fold_phrase(&format!("{text}{marks}")), phrase, "{:?}", marks);
        }
    }

    #[test]
    fn folding_alike_keeps_places_and_is_done_once(text in any_text()) {
        let (folded, alike) = (fold(&text), fold_alike(&text));
        prop_assert_eq!(folded.chars().count(), alike.chars().count());
        prop_assert_eq!(&fold_alike(&alike), &alike);
        for (one, other) in folded.chars().zip(alike.chars()) {
            prop_assert_eq!(Class::of(one), Class::of(other), "{:?} {:?}", one, other);
        }
    }

    #[test]
    fn a_folded_piece_comes_from_a_piece_that_folds_to_it(
        text in any_text(), from in any::<Index>(), length in 1_usize..5,
    ) {
        let searched = SearchText::new(&text);
        let folded = searched.as_str();
        prop_assert_eq!(folded, fold_for_search(&text));
        let count = folded.chars().count();
        let mut last = 0;
        for at in 0..count {
            let origin = searched.original(at..at + 1);
            prop_assert!(origin.start < origin.end && origin.end <= text.chars().count());
            prop_assert!(origin.start >= last, "{:?}: {:?} after {}", text, origin, last);
            last = origin.start;
        }
        if count > 0 {
            let from = from.index(count);
            let range = from..(from + length).min(count);
            let wanted = characters(folded, &range);
            let original = characters(&text, &searched.original(range));
            let again = fold_for_search(&original);
            prop_assert!(again.contains(wanted.trim()), "{:?}: {:?} {:?}", text, original, wanted);
        }
        prop_assert_eq!(searched.original(count..count + 1), 0..0);
    }

    #[test]
    fn lengths_are_those_of_composed_texts(text in any_text(), less in 0_usize..3) {
        let composed = ComposingNormalizerBorrowed::new_nfc().normalize(&text);
        let length = composed.chars().count();
        let max = length.saturating_sub(less);
        let expected = (max == length).then_some(length);
        prop_assert_eq!(length_up_to(&text, max), expected, "{:?}", text);
        prop_assert_eq!(is_longer(&text, max), expected.is_none());
        prop_assert_eq!(length_up_to(&text, length + less), Some(length));
        // What people see as one character has one at least.
        prop_assert!(text.graphemes(true).count() <= length);
    }
}

#[test]
fn texts_of_one_meaning_are_one_and_texts_of_two_stay_two() {
    for (one, other) in [
        ("ＬＩＮＥ　グループ", "line ｸﾞﾙｰﾌﾟ"),
        ("Ⅷ①½㌔", "viii11⁄2キロ"),
        ("ΌΔΟΣ ὈΔΥΣΣΕΎΣ", "όδος ὀδυσσεύς"),
        ("MAẞE", "Masse"),
        ("ﬁne ﬀ", "fine ff"),
        ("he\u{ad}llo\u{202e}", "hello"),
        ("क\u{93c}", "\u{958}"),
        ("ห\u{e49}\u{200b}\u{e33}", "ห\u{e4d}\u{200b}\u{e49}\u{e32}"),
        ("‘a’ “b”", "'a' \"b\""),
    ] {
        assert_eq!(fold(one), fold(other), "{one}");
    }
    for (one, other) in [
        ("か", "が"),
        ("ハ", "は"),
        ("ส", "สี"),
        ("สี", "สี่"),
        ("café", "cafe"),
        ("臺", "台"),
        ("1", "l"),
        ("ab", "a b"),
        ("ı", "i"),
        ("👍", "👍🏽"),
        ("—", "-"),
    ] {
        assert_ne!(fold(one), fold(other), "{one}");
    }
}
