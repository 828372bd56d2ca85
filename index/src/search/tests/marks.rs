//! Laws of highlights and snippets: marks lie on the edges of what people see as characters, hold
//! what was found, and leave nothing of it out.

use std::collections::BTreeSet;
use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

use super::corpus::{chat_text, query_texts};
use super::scan::{is_word, occurs, plain};
use super::*;

/// Returns the positions, in characters, at which what people see as one character begins or ends.
fn edges(text: &str) -> BTreeSet<usize> {
    let mut at = 0;
    let ends = text.graphemes(true).map(|grapheme| {
        at += grapheme.chars().count();
        at
    });
    std::iter::once(0).chain(ends).collect()
}

fn part(text: &str, range: &Range<usize>) -> String {
    text.chars().skip(range.start).take(range.len()).collect()
}

/// Returns a text with a sign in place of each mark: a letter after which no word begins, if the
/// mark ends in one.
fn without_marks(text: &str, marks: &[Range<usize>]) -> String {
    let (mut rest, mut end) = (String::new(), 0);
    for mark in marks {
        rest.push_str(&part(text, &(end..mark.start)));
        rest.push(if plain(&part(text, mark)).ends_with(is_word) { 'q' } else { '|' });
        end = mark.end;
    }
    rest.push_str(&part(text, &(end..text.chars().count())));
    rest
}

/// Generates a text of several messages.
fn long_text() -> impl Strategy<Value = String> {
    vec(chat_text(), 1..6).prop_map(|texts| texts.concat())
}

/// Generates a piece of a text that has it.
fn text_and_piece() -> impl Strategy<Value = (String, String)> {
    (long_text(), any::<prop::sample::Index>(), 1_usize..6).prop_map(|(text, from, length)| {
        let from = from.index(text.chars().count().max(1));
        let piece = part(&text, &(from..from + length));
        (text, piece)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn marks_are_in_order_apart_and_of_whole_characters(
        text in long_text(), texts in query_texts(4),
    ) {
        let edges = edges(&text);
        for query in texts.iter().filter_map(|query| Query::parse(query).ok()) {
            let marks = Highlighter::new(&query).highlight(&text);
            for mark in &marks {
                let is_whole = edges.contains(&mark.start) && edges.contains(&mark.end);
                prop_assert!(is_whole && !mark.is_empty(), "{:?} {:?}: {:?}", text, query, mark);
            }
            prop_assert!(marks.is_sorted_by(|a, b| a.end < b.start), "{:?}", marks);
            if query.text.wanted.is_empty() {
                prop_assert!(marks.is_empty(), "what must not occur is not marked: {:?}", marks);
            }
        }
    }

    #[test]
    fn what_is_marked_holds_the_phrase_and_the_rest_does_not(
        (text, piece) in text_and_piece(),
    ) {
        if let Some(query) = Query::phrase(&piece) {
            let needle = plain(query.text.wanted[0].as_str());
            let marks = Highlighter::new(&query).highlight(&text);
            prop_assert_eq!(!marks.is_empty(), occurs(&plain(&text), &needle), "{:?}", piece);
            for mark in &marks {
                let marked = part(&text, mark);
                prop_assert!(plain(&marked).contains(&needle), "{:?}: {:?}", piece, marked);
            }
            let rest = without_marks(&text, &marks);
            prop_assert!(!occurs(&plain(&rest), &needle), "{:?} in {:?}", piece, rest);
        }
    }

    #[test]
    fn a_word_is_marked_as_its_phrase_is_wherever_that_occurs(
        (text, piece) in text_and_piece(),
    ) {
        // Neither emoji nor marks around it, which are no part of a word.
        let word: String = piece.chars().take_while(|c| c.is_alphabetic()).collect();
        if let (Some(phrase), Ok(query)) = (Query::phrase(&word), Query::parse(&word)) {
            let whole = Highlighter::new(&phrase).highlight(&text);
            let marks = Highlighter::new(&query).highlight(&text);
            prop_assert!(whole.is_empty() || marks == whole, "{:?}: {:?} {:?}", word, marks, whole);
        }
    }

    #[test]
    fn a_snippet_shows_marks_of_the_text_and_the_first_of_them(
        text in long_text(), texts in query_texts(3), max in 16_usize..40,
    ) {
        for query in texts.iter().filter_map(|query| Query::parse(query).ok()) {
            let highlighter = Highlighter::new(&query);
            let marks = highlighter.highlight(&text);
            let Snippet { text: shown, highlights } = highlighter.snippet(&text, max);
            let length = shown.chars().count();
            prop_assert!(length <= max + 2, "{:?}", shown);
            prop_assert_eq!(highlights.is_empty(), marks.is_empty(), "{:?} {:?}", text, query);
            let edges = edges(&shown);
            let whole: Vec<String> = marks.iter().map(|mark| part(&text, mark)).collect();
            let last = highlights.len().saturating_sub(1);
            for (at, mark) in highlights.iter().enumerate() {
                prop_assert!(edges.contains(&mark.start) && edges.contains(&mark.end));
                let marked = part(&shown, mark);
                // The first one may begin before the excerpt, and the last one end after it.
                let is_found = |all: &String| {
                    if at == 0 || at == last { all.contains(&marked) } else { *all == marked }
                };
                prop_assert!(whole.iter().any(is_found), "{:?} of {:?}", marked, whole);
            }
            if let (Some(first), Some(mark)) = (whole.first(), highlights.first()) {
                prop_assert!(first.starts_with(&part(&shown, mark)), "{:?}: {:?}", first, shown);
            }
        }
    }
}

#[test]
fn marks_cover_what_is_written_otherwise_than_it_was_asked_for() {
    for (text, query, marked) in [
        (
            "ＰＡＳＳＷＯＲＤ: 0912‐345‐678",
            "password 0912-345",
            &["ＰＡＳＳＷＯＲＤ", "0912‐345"][..],
        ),
        ("一箱２，４００ 元です", "2400元", &["２，４００ 元"]),
        ("Straße, STRASSE", "strasse", &["Straße", "STRASSE"]),
        ("㍿タナカ", "株式", &["㍿"]),
        ("ﾌﾞﾙｰのﾌｳ", "ブルー フウ", &["ﾌﾞﾙｰ", "ﾌｳ"]),
        ("e\u{301}cole École", "ecole", &["e\u{301}cole", "École"]),
        ("เเม่ แม่", "แม่", &["เเม่", "แม่"]),
        (
            "한글 \u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}",
            "한글",
            &["한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"],
        ),
        ("שלום world", "world שלום", &["שלום", "world"]),
        ("1\u{fe0f}\u{20e3} 2\u{fe0f}\u{20e3}", "1", &["1\u{fe0f}\u{20e3}"]),
        ("a\u{200b}b ab", "ab", &["a\u{200b}b", "ab"]),
        ("see\r\nyou", "\"see you\"", &["see\r\nyou"]),
    ] {
        let query = Query::parse(query).unwrap();
        let marks = Highlighter::new(&query).highlight(text);
        let found: Vec<String> = marks.iter().map(|mark| part(text, mark)).collect();
        assert_eq!(found, marked, "{text}");
    }
}

#[test]
fn an_excerpt_has_whole_words_and_numbers() {
    let (before, after) = ("well ".repeat(40), " or so".repeat(40));
    let text = format!("{before}12500 dollars and it must be paid on 2026-11-30 at 10:30{after}");
    let words: BTreeSet<&str> = text.split(' ').collect();
    let highlighter = Highlighter::new(&Query::parse("paid").unwrap());
    for max in 40..200 {
        let Snippet { text: shown, highlights } = highlighter.snippet(&text, max);
        assert!(shown.chars().count() <= max + 2 && shown.starts_with('…'), "{shown}");
        let mut all = shown.trim_matches('…').trim().split(' ');
        assert!(all.all(|word| words.contains(word)), "{max}: {shown}");
        let [mark] = &highlights[..] else { panic!("{highlights:?}") };
        assert_eq!(part(&shown, mark), "paid");
    }
}

#[test]
fn an_excerpt_has_all_of_a_number_of_which_a_part_was_found() {
    let text = format!("{}0912-345-678 {}", "call ".repeat(30), "now ".repeat(30));
    let highlighter = Highlighter::new(&Query::parse("345").unwrap());
    for max in 14..80 {
        let Snippet { text: shown, highlights } = highlighter.snippet(&text, max);
        assert!(shown.contains(" 0912-345-678 "), "{max}: {shown}");
        let [mark] = &highlights[..] else { panic!("{highlights:?}") };
        assert_eq!(part(&shown, mark), "345");
    }
}
