//! `Accept` headers: the order and the lines of a list do not matter, the most specific name
//! does.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::accept::takes_gzip;
use crate::{takes_json, takes_pages, weighted};

/// Names of media types and of encodings, each with those that stand for it.
const NAMES: [&str; 9] = [
    "application/json",
    "application/*",
    "*/*",
    "text/html",
    "text/*",
    "image/png",
    "gzip",
    "br",
    "*",
];

/// Returns lists of names with weights in thousandths.
fn ranges() -> impl Strategy<Value = Vec<(&'static str, u32)>> {
    vec((select(NAMES.to_vec()), 0_u32..=1_000), 0..6)
}

fn written(range: &(&str, u32)) -> String {
    let (name, weight) = range;
    format!("{name};q={}.{:03}", weight / 1_000, weight % 1_000)
}

/// Returns headers with these lines.
fn lines(name: &HeaderName, lines: &[String]) -> HeaderMap {
    let lines = lines.iter().map(|line| (name.clone(), line.parse::<HeaderValue>().unwrap()));
    lines.collect()
}

/// Returns what is accepted by lists that are written in these lines: JSON, pages, gzip.
fn accepted(given: &[String]) -> [bool; 3] {
    let types = lines(&header::ACCEPT, given);
    let codings = lines(&header::ACCEPT_ENCODING, given);
    [takes_json(&types), takes_pages(&types), takes_gzip(&codings)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_a_list_does_not_matter(ranges in ranges()) {
        let texts: Vec<_> = ranges.iter().map(written).collect();
        let turned: Vec<_> = ranges.iter().rev().map(written).collect();
        prop_assert_eq!(accepted(&[texts.join(", ")]), accepted(&[turned.join(",")]));
    }

    #[test]
    fn a_list_is_the_same_in_one_line_and_in_several(ranges in ranges()) {
        let texts: Vec<_> = ranges.iter().map(written).collect();
        prop_assert_eq!(accepted(&[texts.join(" , ")]), accepted(&texts));
    }

    #[test]
    fn names_are_read_in_any_case_and_with_other_parameters(ranges in ranges()) {
        let texts: Vec<_> = ranges.iter().map(written).collect();
        let odd = texts.iter().map(|text| {
            let (name, weight) = text.split_once(';').unwrap();
            format!("{}\t; level=1 ;{}; last", name.to_uppercase(), weight.to_uppercase())
        });
        prop_assert_eq!(accepted(&[odd.collect::<Vec<_>>().join(",")]), accepted(&texts));
    }

    #[test]
    fn what_is_refused_by_its_own_name_is_not_sent(ranges in ranges()) {
        let others = ranges.iter().filter(|(name, _)| !["application/json", "gzip"].contains(name));
        let mut texts: Vec<_> = others.map(written).collect();
        texts.extend(["application/json;q=0".to_owned(), "gzip;q=0.000".to_owned()]);
        let [json, _, gzip] = accepted(&texts);
        prop_assert!(!json && !gzip, "{:?}", texts);
    }
}

#[test]
fn a_line_that_is_no_text_says_nothing() {
    let mut headers = HeaderMap::new();
    let odd = HeaderValue::from_bytes(b"application/json;q=0, \xe6\x97").unwrap();
    headers.append(header::ACCEPT, odd);
    assert!(takes_json(&headers), "as without the header");
    headers.append(header::ACCEPT, HeaderValue::from_static("text/html"));
    assert!(!takes_json(&headers) && takes_pages(&headers));
}

#[test]
fn languages_keep_their_order_and_their_weights() {
    let given = ["th-TH,th;q=0.9", "ja;q=0.8, *;q=0.1,zh-Hant-TW ;q=1.000"].map(str::to_owned);
    let headers = lines(&header::ACCEPT_LANGUAGE, &given);
    let read: Vec<_> = weighted(&headers, header::ACCEPT_LANGUAGE)
        .map(|(name, weight)| format!("{name} {weight}"))
        .collect();
    assert_eq!(read, ["th-TH 1", "th 0.9", "ja 0.8", "* 0.1", "zh-Hant-TW 1"]);
}
