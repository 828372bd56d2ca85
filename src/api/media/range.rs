//! Range and precondition handling for files (RFC 9110, sections 13 and 14).

use std::ops::Range;

use axum::http::{HeaderMap, HeaderName, header};
use http_range_header::parse_range_header;

/// Result: the part to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestedRange {
    /// 200.
    Whole,
    /// 206; never empty.
    Part(Range<u64>),
    /// 304.
    Unchanged,
    /// 416.
    Unsatisfiable,
}

/// Evaluates the headers for a file with this name (its entity tag without quotes) and size.
pub(super) fn wanted(asked: &HeaderMap, name: &str, size: u64) -> RequestedRange {
    if values(asked, &header::IF_NONE_MATCH).any(|tags| matches_any(tags, name)) {
        return RequestedRange::Unchanged;
    }
    // Half a file is no good to those who have the start of another.
    let same = values(asked, &header::IF_RANGE).all(|tag| tag.trim() == format!("\"{name}\""));
    let mut ranges = values(asked, &header::RANGE);
    match (ranges.next(), ranges.next()) {
        (Some(range), None) if same => part(range, size),
        _ => RequestedRange::Whole,
    }
}

fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    // A value that is not text never equals a tag.
    headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default())
}

/// Weak comparison: a `W/` before a tag does not matter.
fn matches_any(tags: &str, name: &str) -> bool {
    let tag = |tag: &str| tag.trim().trim_start_matches("W/").trim_matches('"') == name;
    tags.trim() == "*" || tags.split(',').any(tag)
}

/// Parses a range. Malformed headers and multiple ranges are ignored.
fn part(range: &str, size: u64) -> RequestedRange {
    let Ok(ranges) = parse_range_header(range) else {
        return RequestedRange::Whole;
    };
    if ranges.len() != 1 {
        return RequestedRange::Whole;
    }
    match ranges.validate(size).as_deref() {
        Ok([part]) => RequestedRange::Part(*part.start()..part.end() + 1),
        _ => RequestedRange::Unsatisfiable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        let cases = [
            ("bytes=0-0", 10, RequestedRange::Part(0..1)),
            ("bytes=2-4", 10, RequestedRange::Part(2..5)),
            ("BYTES= 2-4", 10, RequestedRange::Part(2..5)),
            ("bytes=2-", 10, RequestedRange::Part(2..10)),
            ("bytes=-3", 10, RequestedRange::Part(7..10)),
            ("bytes=-30", 10, RequestedRange::Part(0..10)),
            ("bytes=9-99999999999999999999999", 10, RequestedRange::Part(9..10)),
            ("bytes=10-", 10, RequestedRange::Unsatisfiable),
            ("bytes=99999999999999999999999-", 10, RequestedRange::Unsatisfiable),
            ("bytes=-0", 10, RequestedRange::Unsatisfiable),
            ("bytes=0-", 0, RequestedRange::Unsatisfiable),
            ("bytes=-1", 0, RequestedRange::Unsatisfiable),
            ("bytes=4-2", 10, RequestedRange::Whole),
            ("bytes=0-1,3-4", 10, RequestedRange::Whole),
            ("bytes=-", 10, RequestedRange::Whole),
            ("bytes=a-b", 10, RequestedRange::Whole),
            ("bytes=+1-2", 10, RequestedRange::Whole),
            ("bytes", 10, RequestedRange::Whole),
            ("lines=1-2", 10, RequestedRange::Whole),
        ];
        for (header, size, expected) in cases {
            assert_eq!(part(header, size), expected, "{header} of {size}");
        }
    }
}
