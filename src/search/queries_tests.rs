//! Queries as they were understood: in other zones, in other processes, and what they mark.

use chatkeep_index::search::MAX_QUERY;
use chatkeep_view::when::{When, first};
use chrono_tz::{TZ_VARIANTS, Tz};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{ParsedQuery, SearchCursor, SearchError, SearchRequest};

/// Clauses of queries, some of which no query may have.
const CLAUSES: [&str; 20] = [
    "tea",
    "\"a phrase\"",
    "「台北」",
    "-word",
    "from:Ann",
    "from:\"Bo Li\"",
    "-from:me",
    "type:image",
    "has:link",
    "after:2026-03-08",
    "before:2026-03-08T02:30",
    "after:2026-03-08T02:30Z",
    "營業時間",
    "ที่ไหน",
    "👨\u{200d}👩\u{200d}👧",
    "type:song",
    "\"open",
    "from:",
    "-after:2026-01-01",
    "before:2026-02-30",
];

fn parsed(text: &str, zone: Tz) -> ParsedQuery {
    ParsedQuery::parse(text, zone).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn another_process_reads_a_query_as_this_one_does(
        clauses in vec(select(CLAUSES.to_vec()), 1..5),
        zone in select(TZ_VARIANTS.to_vec()),
    ) {
        let text = clauses.join(" ");
        let sent = json!({ "text": text, "time_zone": zone.name() });
        let read = serde_json::from_value::<ParsedQuery>(sent.clone());
        match ParsedQuery::parse(&text, zone) {
            Ok(query) => {
                let read = read.unwrap();
                prop_assert_eq!((read.times(), read.names()), (query.times(), query.names()));
                prop_assert_eq!(serde_json::to_value(&query).unwrap(), sent);
                prop_assert_eq!(read.wants_words_of_media(), query.wants_words_of_media());
            }
            Err(SearchError::Query(why)) => {
                prop_assert_eq!(read.unwrap_err().to_string(), why);
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }

    #[test]
    fn times_of_a_query_are_those_of_requests_in_every_zone(
        zone in select(TZ_VARIANTS.to_vec()),
        other in select(TZ_VARIANTS.to_vec()),
        day in "20[0-4][0-9]-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
        time in "T([01][0-9]|2[0-3]):[0-5][0-9]",
    ) {
        let query = parsed(&format!("after:{day} before:{day}{time} x"), zone);
        let of_request = |text: &str, zone| When::parse(text).unwrap().within(zone);
        let expected = |zone| (of_request(&day, zone), of_request(&format!("{day}{time}"), zone));
        prop_assert_eq!(query.times(), expected(zone));
        let there = query.in_zone(other).unwrap();
        prop_assert_eq!(there.times(), expected(other), "{} {}", zone, other);
        prop_assert_eq!(there.in_zone(zone).unwrap().times(), expected(zone));
        // A point in time is the same one everywhere.
        let point = parsed(&format!("after:{day}{time}Z"), zone);
        let utc = first(Tz::UTC, format!("{day}{time}:00").parse().unwrap());
        prop_assert_eq!(point.in_zone(other).unwrap().times(), (utc, None));
    }

    #[test]
    fn what_a_snippet_marks_lies_within_it(
        before in "(\\PC|👨‍👩‍👧|ก็|e\u{301}|\n){0,40}",
        after in "(\\PC|👨‍👩‍👧|ก็|e\u{301}|\n){0,40}",
        word in select(vec!["tea", "茶", "ชา", "café"]),
        max in 5_usize..60,
    ) {
        let text = format!("{before} {word} {after}");
        let snippet = parsed(word, Tz::UTC).snippet_generator().snippet(&text, max);
        let characters: Vec<_> = snippet.text.chars().collect();
        // An ellipsis stands where text is left out, before and behind.
        prop_assert!(characters.len() <= max + 2, "{} {:?}", max, snippet);
        let mut end = 0;
        for mark in &snippet.highlights {
            prop_assert!(end <= mark.start && mark.start < mark.end, "{:?}", snippet);
            prop_assert!(mark.end <= characters.len(), "{:?}", snippet);
            end = mark.end;
        }
    }
}

#[test]
fn a_query_is_as_long_as_its_characters_composed() {
    let composed = "e\u{301}".repeat(MAX_QUERY);
    assert!(ParsedQuery::parse(&composed, Tz::UTC).is_ok());
    let longer = ParsedQuery::parse(&format!("{composed}x"), Tz::UTC);
    assert!(matches!(longer, Err(SearchError::Query(why)) if why.contains("200 characters")));
    for empty in ["", " ", "\u{200b}", "\"\""] {
        let refused = ParsedQuery::parse(empty, Tz::UTC);
        assert!(matches!(refused, Err(SearchError::Query(_))), "{empty:?}");
    }
}

#[test]
fn words_of_pictures_are_asked_for_where_types_leave_nothing_else() {
    for (text, expected) in [
        ("tea", false),
        ("type:image", false),
        ("type:image tea", true),
        ("type:image type:video tea", true),
        ("type:image type:text tea", false),
        ("type:file tea", false),
        ("has:media tea", true),
        ("-has:media tea", false),
        ("-type:text tea", false),
        ("has:media -tea", false),
    ] {
        assert_eq!(parsed(text, Tz::UTC).wants_words_of_media(), expected, "{text}");
    }
}

#[test]
fn names_are_told_once_as_they_were_typed() {
    let query = parsed("from:Ann from:ANN -from:Ann from:\"Bo Li\" from:「小 美」 tea", Tz::UTC);
    assert_eq!(query.names().into_iter().collect::<Vec<_>>(), ["ANN", "Ann", "Bo Li", "小 美"]);
    assert!(parsed("tea", Tz::UTC).names().is_empty());
}

#[test]
fn a_cursor_is_a_text_and_no_other_text_is_one() {
    let known = "e.0.5.5..1_0.0_0.";
    let cursor = SearchCursor::try_from(known.to_owned()).unwrap();
    assert_eq!(String::from(cursor.clone()), known);
    assert_eq!(serde_json::to_value(&cursor).unwrap(), Value::from(known));
    for wrong in [
        "",
        ".",
        "e",
        "e.0.5.5..1_0.0_0",
        "e.0.5.5..1_0.0_0..",
        "x.0.5.5..1_0.0_0.",
        "e.-.5.5..1_0.0_0.",
        // A score without end.
        "e.7f800000.5.5..1_0.0_0.",
    ] {
        assert!(SearchCursor::try_from(wrong.to_owned()).is_err(), "{wrong}");
    }
    let request = SearchRequest::new(parsed("tea", Tz::UTC), vec!["C1".into()], 10);
    assert!(request.cursor.is_none() && request.people.is_empty() && !request.exact_only);
}
