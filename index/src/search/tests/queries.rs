//! Laws of the query language: what white space, order and spelling change (nothing), and what any
//! text is.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::corpus::clause;
use super::*;
use crate::fold::search::fold_for_search;
use crate::fold::strip_marks;
use crate::is_longer;
use crate::search::query::{IncludeExclude, Needle};

/// Generates texts of what the query language is made of, in any order.
fn any_query() -> impl Strategy<Value = String> {
    const TOKENS: &[&str] = &[
        "\"",
        "“",
        "”",
        "「",
        "」",
        "『",
        "-",
        "－",
        "--",
        "from:",
        "From：",
        "type:",
        "has:",
        "after:",
        "before：",
        "image",
        "link",
        "2026-01-31",
        "2026-02-30",
        " ",
        "\u{3000}",
        "\n",
        "\u{200b}",
        "a",
        "時間",
        "ก็",
        "?",
        "？",
        "❓",
        "(",
        "）",
        "@",
        "#",
        "🎉",
        "\u{200d}",
        "\u{301}",
        "\0",
        "OR",
        "in:",
        "*",
        "\u{202e}",
        "é",
        "가",
        "..",
    ];
    vec(select(TOKENS), 0..24).prop_map(|tokens| tokens.concat())
}

/// Returns the parts of one side of a query in an order of their own.
fn sorted<T: std::fmt::Debug>(all: &IncludeExclude<T>) -> [Vec<String>; 2] {
    [&all.wanted, &all.unwanted].map(|side| {
        let mut shown: Vec<String> = side.iter().map(|one| format!("{one:?}")).collect();
        shown.sort();
        shown
    })
}

/// Parts of a query of which there is one each: is it a question, after, before.
type Whole = (bool, Option<i64>, Option<i64>);

/// Returns what a query asks for, whatever the order in which it was typed.
fn asked(query: &Query) -> ([[Vec<String>; 2]; 4], Whole) {
    let lists =
        [sorted(&query.text), sorted(&query.from), sorted(&query.types), sorted(&query.has)];
    (lists, (query.is_question, query.after, query.before))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_white_space_separates(clauses in vec(clause(), 1..5), at in 0_usize..4) {
        let space = ["\u{3000}", "\r\n", "\t \u{2003}", " \u{a0}"][at];
        let plain = Query::parse(&clauses.join(" "));
        let spaced = format!("{space}{}{space}", clauses.join(space));
        prop_assert_eq!(Query::parse(&spaced), plain);
    }

    #[test]
    fn the_order_of_clauses_changes_nothing(clauses in vec(clause(), 2..5), turn in 1_usize..4) {
        let mut other = clauses.clone();
        other.rotate_left(turn % clauses.len());
        other.swap(0, 1);
        let (one, two) = (Query::parse(&clauses.join(" ")), Query::parse(&other.join(" ")));
        prop_assert_eq!(one.as_ref().map(asked), two.as_ref().map(asked));
    }

    #[test]
    fn any_text_is_a_query_or_says_why_it_is_none(text in any_query()) {
        match Query::parse(&text) {
            Ok(query) => {
                prop_assert!(query != Query::default() && !is_longer(&text, MAX_QUERY));
                for needle in query.text.wanted.iter().chain(&query.text.unwanted) {
                    let folded = needle.as_str();
                    prop_assert_eq!(fold_for_search(folded), folded);
                    prop_assert!(!folded.is_empty() && folded.trim() == folded, "{:?}", needle);
                    let is_bare = needle.is_quoted() || strip_marks(folded) == folded;
                    prop_assert!(is_bare, "{:?}", needle);
                }
            }
            Err(QueryError::TooLong) => prop_assert!(is_longer(&text, MAX_QUERY)),
            Err(QueryError::OpenQuote) => prop_assert!(text.contains(['"', '“', '”'])),
            Err(QueryError::BadValue { value, .. }) => prop_assert!(text.contains(&value)),
            Err(QueryError::NoValue(field) | QueryError::NotExcludable(field)) => {
                prop_assert!(text.to_lowercase().contains(field), "{}", field);
            }
            Err(QueryError::Empty) => {}
        }
    }

    #[test]
    fn habits_are_words_of_the_query_outside_of_quotes(text in any_query()) {
        let habits = Habit::of(&text);
        prop_assert!(habits.len() <= 3);
        for habit in habits {
            let word = habit.word();
            prop_assert!(text.contains(word) && !word.is_empty(), "{:?}", habit);
            prop_assert!(!word.contains(char::is_whitespace), "{:?}", habit);
        }
        let quoted: String = text.chars().filter(|c| !"\"“”".contains(*c)).collect();
        let quoted = format!("\"{quoted}\"");
        prop_assert!(Habit::of(&quoted).is_empty(), "{}", quoted);
    }
}

fn error(text: &str) -> QueryError {
    Query::parse(text).unwrap_err()
}

#[test]
fn a_field_needs_a_value_that_it_knows() {
    for (text, field) in [
        ("from:", "from"),
        ("-from: ann", "from"),
        ("from:\"\"", "from"),
        ("type:「」", "type"),
        ("HAS：", "has"),
        ("tea before:\n2026-01-01", "before"),
    ] {
        assert_eq!(error(text), QueryError::NoValue(field), "{text:?}");
    }
    for (text, name, given) in [
        ("type:\"im age\"", "type", "im age"),
        ("type:ｉｍａｇｅ", "type", "ｉｍａｇｅ"),
        ("-has:links", "has", "links"),
        ("after:2026-13-01", "after", "2026-13-01"),
        ("before:2025-02-29", "before", "2025-02-29"),
        ("before:1900-02-29", "before", "1900-02-29"),
        ("after:now", "after", "now"),
    ] {
        let QueryError::BadValue { field, value, allowed } = error(text) else {
            panic!("{text}: {:?}", error(text))
        };
        assert_eq!((field, value.as_str()), (name, given), "{text}");
        assert!(!allowed.is_empty());
    }
    for (text, field) in [("-after:2026-01-01", "after"), ("－before：2026-01-01", "before")] {
        assert_eq!(error(text), QueryError::NotExcludable(field), "{text}");
    }
    for text in ["\"", "a \"b", "from:\"ann", "-\"a b", "„x"] {
        assert_eq!(error(text), QueryError::OpenQuote, "{text}");
    }
}

#[test]
fn fields_are_read_in_any_width_case_and_quotes() {
    let plain = "from:U1 -from:U2 type:image -type:file has:link -has:media";
    let same = "－FROM：U2 From：“U1” TYPE:\"image\" －type：FILE Has:LINK -HAS：『media』";
    let (plain, same) = (Query::parse(plain).unwrap(), Query::parse(same).unwrap());
    assert_eq!(asked(&plain), asked(&same));
    // Leap days, by which every year counts.
    for (day, next) in [("2024-02-29", "2024-03-01"), ("2000-02-29", "2000-03-01")] {
        let query = Query::parse(&format!("after:{day} before:{next}")).unwrap();
        assert_eq!(query.before.unwrap() - query.after.unwrap(), 86_400_000, "{day}");
    }
}

#[test]
fn a_day_that_no_clock_of_the_zone_shows_is_no_value() {
    let none = |text: &str| Query::parse_in(text, |_| None);
    assert!(matches!(none("after:2026-01-31"), Err(QueryError::BadValue { field: "after", .. })));
    assert!(matches!(none("before:2026-01-31T09:00"), Err(QueryError::BadValue { .. })));
    let point = none("after:2026-01-31T09:00:00Z").unwrap();
    assert_eq!(point.after, Some(1_769_850_000_000), "a point in time needs no zone");
}

#[test]
fn a_phrase_of_any_characters_is_one_needle() {
    for text in ["from:U1 \"quoted\" -x", "type:image", "a \u{200b} b", "「x」 OR y*", "？！"] {
        let query = Query::phrase(text).unwrap();
        let [needle] = &query.text.wanted[..] else { panic!("{query:?}") };
        assert!(needle.is_quoted() && !query.is_question, "{text}");
        assert_eq!(needle.as_str(), fold_for_search(text).trim(), "{text}");
        let only: IncludeExclude<Needle> =
            IncludeExclude { wanted: vec![needle.clone()], unwanted: vec![] };
        assert_eq!(query, Query { text: only, ..Query::default() });
    }
    for text in ["", " \n", "\u{200b}\u{feff}", "\u{3000}"] {
        assert_eq!(Query::phrase(text), None, "{text:?}");
    }
}

#[test]
fn names_are_resolved_on_their_own_side_and_unknown_ones_find_nothing() {
    let index = index_of(&["tea", "tea", "tea", "tea"]);
    let found = |text: &str| {
        let mut query = Query::parse(text).unwrap();
        query.resolve_senders(|name| match name {
            "Ann" => vec!["U0".to_owned(), "U1".to_owned()],
            "Bob" => vec!["U1".to_owned()],
            _ => vec![],
        });
        let request = IndexSearch { sort: Sort::Newest, ..IndexSearch::new(&query) };
        ids(&index.search(&request).unwrap()).join(" ")
    };
    for (text, expected) in [
        ("from:Ann", "m3 m1 m0"),
        ("from:Ann -from:Bob", "m3 m0"),
        ("-from:Ann", "m2"),
        ("from:Eve", ""),
        ("from:Eve from:Bob", "m1"),
        ("-from:Eve", "m3 m2 m1 m0"),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
}
