//! Laws of what joins words, and of the units of which terms are made: a piece of a text is joined
//! as the text is, and units leave nothing of it out.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tantivy::tokenizer::{TokenStream as _, Tokenizer as _};

use super::scan::is_word;
use super::*;
use crate::fold::search::fold_for_search;
use crate::script::Class;
use crate::search::join::Joined;
use crate::search::tokenizer::UnitTokenizer;
use crate::search::units::{Kind, MAX_WORD, Unit, units};

/// Generates folded texts that join in many ways.
fn folded() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        "a", "wi", "fi", "É", "1", "９", "½", "時", "元", "の", "가", "ก", "ำ", "-", "‐", "–", ",",
        "，", " ", "\n", ".", "🎉", "я", "हि",
    ];
    vec(select(PARTS), 0..16).prop_map(|parts| fold_for_search(&parts.concat()).trim().to_owned())
}

/// Returns the characters of a text from one on, so many at most, without blanks at the ends.
fn cut(text: &str, from: usize, length: usize) -> String {
    text.chars().skip(from).take(length).collect::<String>().trim().to_owned()
}

/// Returns whether a character is a hyphen or comma.
fn is_joiner(c: char) -> bool {
    matches!(c, '-' | ',')
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_piece_of_a_text_is_joined_as_the_text_is(
        text in folded(), from in 0_usize..12, length in 1_usize..8,
    ) {
        let piece = cut(&text, from, length);
        // By itself a joiner is searched as it is, and it is gone where it joins.
        if !piece.chars().all(|c| is_joiner(c) || c == ' ') {
            let (text, piece) = (Joined::new(text.chars()), Joined::needle(&piece));
            prop_assert!(text.as_str().contains(piece.as_str()), "{:?} in {:?}", piece, text);
        }
    }

    #[test]
    fn joining_takes_away_joiners_alone_and_knows_where(text in folded()) {
        let joined = Joined::new(text.chars());
        let bare = |text: &str| -> String {
            text.chars().filter(|c| !is_joiner(*c) && *c != ' ').collect()
        };
        prop_assert_eq!(bare(joined.as_str()), bare(&text));
        let count = |text: &str| text.chars().filter(|c| is_joiner(*c)).count();
        prop_assert_eq!(joined.breaks().len(), count(&text) - count(joined.as_str()));
        prop_assert!(joined.breaks().is_sorted_by(|a, b| a < b));
        for &at in joined.breaks() {
            let (before, after) = joined.as_str().split_at(at);
            prop_assert!(before.ends_with(is_word) && after.starts_with(is_word), "{:?}", joined);
        }
        // It stays as it is, and so does what is asked for in its own spelling.
        let again = Joined::new(joined.as_str().chars());
        prop_assert!(again.breaks().is_empty() && again.as_str() == joined.as_str(), "{:?}", again);
    }

    #[test]
    fn units_take_a_text_apart_and_leave_out_implied_spaces_alone(
        text in folded(), letters in 0_usize..200,
    ) {
        let text = format!("{text}{} {text}", "x".repeat(letters));
        let mut before: Option<Unit> = None;
        for unit in units(&text) {
            let end = before.map_or(0, |before| before.end);
            let gap = &text[end..unit.start];
            let word = |unit: &Unit| matches!(unit.kind, Kind::Word | Kind::Rest);
            let is_implied = word(&unit) && before.as_ref().is_none_or(word);
            prop_assert!(gap.is_empty() || (gap == " " && is_implied), "{:?}: {:?}", text, unit);
            prop_assert_eq!(unit.position, before.map_or(0, |before| before.position + 1));
            let length = text[unit.start..unit.end].chars().count();
            prop_assert!((1..=MAX_WORD).contains(&length) && (length == 1 || word(&unit)));
            if unit.kind == Kind::Rest {
                let goes_on = |before: Unit| word(&before) && before.end == unit.start;
                prop_assert!(before.is_some_and(goes_on), "{:?}: {:?}", text, unit);
            }
            let next = text[unit.end..].chars().next();
            let is_pair = next.is_some_and(|next| Class::of(next).is_substring_script());
            if let Kind::Character { pair } = unit.kind {
                prop_assert_eq!(pair, is_pair, "{:?}: {:?}", text, unit);
            }
            before = Some(unit);
        }
        let end = before.map_or(0, |before| before.end);
        prop_assert!(matches!(&text[end..], "" | " "), "{:?}", text);
    }

    #[test]
    fn terms_come_by_position_and_stand_where_they_say(text in folded()) {
        let mut tokenizer = UnitTokenizer::new(IndexOptions { han_variants: false });
        tokenizer.read(&text);
        let folded = tokenizer.folded().to_owned();
        let mut stream = tokenizer.token_stream(&text);
        let (mut position, mut terms) = (0, 0);
        while stream.advance() {
            let token = stream.token();
            prop_assert!(token.position >= position, "{:?}: {:?}", text, token);
            prop_assert_eq!(&folded[token.offset_from..token.offset_to], token.text.as_str());
            (position, terms) = (token.position, terms + 1);
        }
        prop_assert_eq!(terms == 0, folded.trim().is_empty(), "{:?}", text);
    }
}

#[test]
fn hyphens_and_commas_join_what_is_searched_without_them() {
    let index = index_of(&["A‐1 to 2-in-1", "3-4, 5,6", "t–shirt, e−mail", "1,b a,1", "ก-ข 時,間"]);
    for (query, found) in [
        ("a1", &["m0"][..]),
        ("2in1", &["m0"]),
        ("in1", &["m0"]),
        ("34", &[]),
        ("56", &["m1"]),
        ("\"3-4\"", &["m1"]),
        ("tshirt email", &["m2"]),
        ("t—shirt", &[]),
        ("1b", &[]),
        ("\"1,b\"", &["m3"]),
        ("กข", &[]),
        ("\"ก-ข\"", &["m4"]),
        ("時間", &[]),
        ("時,間", &["m4"]),
    ] {
        let parsed = Query::parse(query).unwrap();
        let request =
            IndexSearch { sort: Sort::Newest, exact_only: true, ..IndexSearch::new(&parsed) };
        assert_eq!(ids(&index.search(&request).unwrap()), found, "{query}");
    }
}
