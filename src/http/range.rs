//! Range and precondition handling for files (RFC 9110, sections 13 and 14).

use std::ops::Range;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use http_range_header::parse_range_header;

use super::{ErrorCode, HttpError};

/// Part of a file that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedRange {
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
pub fn requested_range(asked: &HeaderMap, name: &str, size: u64) -> RequestedRange {
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

/// Adds the headers of the whole file, or of that part of it.
pub fn set_size(headers: &mut HeaderMap, part: Option<&Range<u64>>, size: u64) {
    let length = part.map_or(size, |part| part.end - part.start);
    headers.insert(header::CONTENT_LENGTH, length.into());
    let range = part.map(|part| format!("bytes {}-{}/{size}", part.start, part.end - 1));
    if let Some(range) = range.and_then(|range| HeaderValue::try_from(range).ok()) {
        headers.insert(header::CONTENT_RANGE, range);
    }
}

/// Allows only private caching with revalidation: what is in the file may be unsent.
pub fn require_revalidation(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
}

/// Returns the response to a request for a range behind the end of a file of that size.
pub fn range_not_satisfiable(size: u64) -> Response {
    let refused = HttpError::Refused {
        status: StatusCode::RANGE_NOT_SATISFIABLE,
        code: ErrorCode::RangeNotSatisfiable,
        error: "The range is outside the file",
    };
    let mut response = refused.into_response();
    if let Ok(range) = HeaderValue::try_from(format!("bytes */{size}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    response
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
