//! Parts of files: which one a request asks for, and what is said about it.

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::routing::get;
use proptest::prelude::*;

use super::{got, json_of, text};
use crate::{RequestedRange, range_not_satisfiable, requested_range, set_size, with_common_layers};

const NAME: &str = "9f86d081";
const TAG: &str = "\"9f86d081\"";

fn with(given: &[(HeaderName, &'static str)]) -> HeaderMap {
    let given = given.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
    given.collect()
}

fn asked(range: &str, size: u64) -> RequestedRange {
    let headers = HeaderMap::from_iter([(header::RANGE, range.parse().unwrap())]);
    requested_range(&headers, NAME, size)
}

#[test]
fn a_part_is_of_the_file_that_its_beginning_is_of() {
    let part = RequestedRange::Part(2..5);
    let range = (header::RANGE, "bytes=2-4");
    for (condition, expected) in [
        (TAG, part.clone()),
        (" \"9f86d081\"\t", part.clone()),
        ("W/\"9f86d081\"", RequestedRange::Whole),
        ("\"other\"", RequestedRange::Whole),
        ("9f86d081", RequestedRange::Whole),
        ("*", RequestedRange::Whole),
        ("", RequestedRange::Whole),
        ("Sat, 31 Jan 2026 09:30:00 GMT", RequestedRange::Whole),
    ] {
        let headers = with(&[range.clone(), (header::IF_RANGE, condition)]);
        assert_eq!(requested_range(&headers, NAME, 10), expected, "{condition}");
    }
    let beyond = with(&[(header::RANGE, "bytes=10-"), (header::IF_RANGE, "\"other\"")]);
    assert_eq!(requested_range(&beyond, NAME, 10), RequestedRange::Whole, "of another file");
    let alone = with(&[(header::IF_RANGE, TAG)]);
    assert_eq!(requested_range(&alone, NAME, 10), RequestedRange::Whole);
}

#[test]
fn a_copy_that_is_current_needs_no_part() {
    for (known, is_current) in [
        (TAG, true),
        ("W/\"9f86d081\"", true),
        ("\"other\" , \"9f86d081\"", true),
        ("*", true),
        ("\"other\"", false),
        ("\"9f86d08\"", false),
        ("", false),
    ] {
        let range = (header::RANGE, "bytes=2-4");
        for given in [
            vec![(header::IF_NONE_MATCH, known)],
            vec![
                range.clone(),
                (header::IF_RANGE, "\"other\""),
                (header::IF_NONE_MATCH, "\"other\""),
                (header::IF_NONE_MATCH, known),
            ],
        ] {
            let found = requested_range(&with(&given), NAME, 10);
            let expected =
                if is_current { RequestedRange::Unchanged } else { RequestedRange::Whole };
            assert_eq!(found, expected, "{given:?}");
        }
    }
}

#[test]
fn several_ranges_are_answered_with_the_whole_file() {
    let range = |text: &'static str| (header::RANGE, text);
    for given in [
        &[range("bytes=0-1"), range("bytes=3-4")][..],
        &[range("bytes=0-1"), range("bytes=0-1")],
        &[range("bytes=0-1, 3-4")],
        &[range("")],
        &[],
    ] {
        assert_eq!(requested_range(&with(given), NAME, 10), RequestedRange::Whole, "{given:?}");
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::RANGE, HeaderValue::from_bytes(b"bytes=0-\xff").unwrap());
    assert_eq!(requested_range(&headers, NAME, 10), RequestedRange::Whole);
}

/// Returns the part from `first` to `last` of a file of that size, as RFC 9110 says.
fn part(first: u64, last: u64, size: u64) -> RequestedRange {
    if first > last {
        RequestedRange::Whole
    } else if first >= size {
        RequestedRange::Unsatisfiable
    } else {
        RequestedRange::Part(first..size.min(last.saturating_add(1)))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_part_is_within_the_file(first in 0_u64..40, last in 0_u64..40, size in 0_u64..40) {
        let bounded = asked(&format!("bytes={first}-{last}"), size);
        prop_assert_eq!(&bounded, &part(first, last, size));
        let open = asked(&format!("bytes={first}-"), size);
        prop_assert_eq!(open, part(first, u64::MAX, size));
        let end = asked(&format!("bytes=-{last}"), size);
        let expected = match (last, size) {
            (0, _) | (_, 0) => RequestedRange::Unsatisfiable,
            _ => RequestedRange::Part(size.saturating_sub(last)..size),
        };
        prop_assert_eq!(end, expected);
        let mut headers = HeaderMap::new();
        let RequestedRange::Part(range) = bounded else { return Ok(()) };
        set_size(&mut headers, Some(&range), size);
        let length = range.end - range.start;
        prop_assert!(length > 0 && range.end <= size);
        prop_assert_eq!(text(&headers, "content-length"), length.to_string());
        let named = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        prop_assert_eq!(text(&headers, "content-range"), named);
    }
}

#[test]
fn a_whole_file_has_its_size_and_no_range() {
    for size in [0, 1, u64::MAX] {
        let mut headers = HeaderMap::new();
        set_size(&mut headers, None, size);
        assert_eq!(text(&headers, "content-length"), size.to_string());
        assert_eq!(text(&headers, "content-range"), "");
    }
}

#[tokio::test]
async fn a_range_behind_the_end_is_an_error_that_tells_the_size() {
    for size in [0, 7, u64::MAX] {
        let handler = move || std::future::ready(range_not_satisfiable(size));
        let router = with_common_layers(Router::new().route("/", get(handler)));
        let answer = got(&router, "/").await;
        assert_eq!(answer.status().as_u16(), 416);
        assert_eq!(json_of(&answer)["code"], "range_not_satisfiable");
        assert_eq!(text(answer.headers(), "content-range"), format!("bytes */{size}"));
    }
}
