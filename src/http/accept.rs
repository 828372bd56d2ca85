//! Types, languages and encodings that callers accept: lists of names with weights, in which the
//! most specific name decides (RFC 9110, section 12.5).

use axum::http::{HeaderMap, HeaderName, header};

/// Weight of a name whose own is no number: accepted, and preferred to nothing.
const LEAST: f32 = 0.001;

/// Returns the names that the lines of a header list, in their order, with their weights from 0,
/// which refuses a name, to 1, which is the default.
pub fn weighted(headers: &HeaderMap, header: HeaderName) -> impl Iterator<Item = (&str, f32)> {
    let lines = headers.get_all(header).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(element).filter(|(name, _)| !name.is_empty())
}

fn element(text: &str) -> (&str, f32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let weight = parts.filter_map(|part| part.split_once('=')).find_map(|(key, value)| {
        key.trim_end().eq_ignore_ascii_case("q").then(|| weight(value.trim_start()))
    });
    (name, weight.unwrap_or(1.0))
}

fn weight(text: &str) -> f32 {
    let weight = text.parse().ok().filter(|weight| (0.0..=1.0).contains(weight));
    weight.unwrap_or(LEAST)
}

/// Returns the weight that a header gives to what has these names, the most specific ones first;
/// `None` if it lists none of them.
fn weight_of(headers: &HeaderMap, header: &HeaderName, names: &[&[&str]]) -> Option<f32> {
    names.iter().find_map(|same| {
        let listed = weighted(headers, header.clone());
        let listed =
            listed.filter(|(name, _)| same.iter().any(|one| one.eq_ignore_ascii_case(name)));
        listed.map(|(_, weight)| weight).reduce(f32::max)
    })
}

/// Returns true when a caller accepts JSON, explicitly or by naming nothing.
pub fn takes_json(headers: &HeaderMap) -> bool {
    let names: &[&[&str]] = &[&["application/json"], &["application/*"], &["*/*"]];
    weighted(headers, header::ACCEPT).next().is_none()
        || weight_of(headers, &header::ACCEPT, names).is_some_and(|weight| weight > 0.0)
}

/// Returns true for a browser that opens a page. Scripts and programs accept anything, or ask for
/// something else.
pub fn takes_pages(headers: &HeaderMap) -> bool {
    weight_of(headers, &header::ACCEPT, &[&["text/html"]]).is_some_and(|weight| weight > 0.0)
}

/// Returns true when a caller accepts gzip.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let names: &[&[&str]] = &[&["gzip", "x-gzip"], &["*"]];
    weight_of(headers, &header::ACCEPT_ENCODING, names).is_some_and(|weight| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(header: &HeaderName, lines: &[&'static str]) -> HeaderMap {
        let lines = lines.iter().map(|line| (header.clone(), line.parse().unwrap()));
        lines.collect()
    }

    #[test]
    fn names_have_the_weights_that_are_given_to_them() {
        let given = ["a, b;q=0.5 ,c ; Q = 0.25", ",, d;x=1;q=0;y", "e;q=nan, f;q=2, g;q=-1, h;q="];
        let headers = lines(&header::ACCEPT_LANGUAGE, &given);
        let read: Vec<_> = weighted(&headers, header::ACCEPT_LANGUAGE).collect();
        let expected = [("a", 1.0), ("b", 0.5), ("c", 0.25), ("d", 0.0)];
        let wrong = ["e", "f", "g", "h"].map(|name| (name, LEAST));
        assert_eq!(read, [&expected[..], &wrong].concat());
        assert_eq!(weighted(&HeaderMap::new(), header::ACCEPT_LANGUAGE).count(), 0);
    }

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        let takes = |given: &[&'static str]| takes_gzip(&lines(&header::ACCEPT_ENCODING, given));
        for given in
            ["gzip", "br, gzip;q=0.5", "*", "x-GZIP ; q=1", "identity;q=0, gzip", "gzip;q=x"]
        {
            assert!(takes(&[given]), "{given}");
        }
        assert!(takes(&["br", "gzip"]));
        let refused = ["identity;q=0", "*;q=0", "br", "", "gzip;q=0", "gzip; q=0.0"];
        for given in refused.into_iter().chain(["gzip;q=0, *", "*, gzip;q=0", "*;q=1, x-gzip;q=0"])
        {
            assert!(!takes(&[given]), "{given}");
        }
        assert!(!takes(&[]));
    }

    #[test]
    fn the_most_specific_range_decides_about_json() {
        let takes = |given: &[&'static str]| takes_json(&lines(&header::ACCEPT, given));
        for given in [
            "",
            "*/*",
            "application/*;q=0.1",
            "text/html, APPLICATION/JSON; charset=utf-8",
            "*/*;q=0, application/json",
        ] {
            assert!(takes(&[given]), "{given}");
        }
        assert!(takes(&[]) && takes(&["text/html", "*/*;q=0.1"]));
        for given in ["text/html", "application/json;q=0, */*", "*/*, application/*;q=0"] {
            assert!(!takes(&[given]), "{given}");
        }
    }

    #[test]
    fn pages_are_for_those_who_name_them() {
        let takes = |given: &'static str| takes_pages(&lines(&header::ACCEPT, &[given]));
        for given in
            ["text/html,application/xhtml+xml,*/*;q=0.8", "application/json, TEXT/HTML;q=0.5"]
        {
            assert!(takes(given), "{given}");
        }
        for given in ["*/*", "text/event-stream", "text/html;q=0", "text/html-x"] {
            assert!(!takes(given), "{given}");
        }
    }
}
