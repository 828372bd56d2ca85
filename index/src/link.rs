//! Web links in chat text: the one definition of what a link is, for search, overviews and pages.

use std::ops::Range;

use linkify::{LinkFinder, LinkKind};

/// Beginnings of a link. The last one has no scheme, and is opened by `http` as chat apps do.
const BEGINNINGS: [&str; 3] = ["http://", "https://", "www."];

/// Web link in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebLink {
    /// Byte range in the text.
    pub range: Range<usize>,
    /// Address, with its scheme.
    pub address: String,
}

/// Returns the web links of a text, in their order: what begins with `http://`, `https://` or `www.`
/// and has a host.
pub fn web_links(text: &str) -> Vec<WebLink> {
    if !may_have_link(text) {
        return Vec::new();
    }
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]).url_must_have_scheme(false);
    let link = |link: linkify::Link<'_>| {
        let scheme = match beginning(link.as_str())? {
            "www." => "http://",
            _ => "",
        };
        let address = format!("{scheme}{}", link.as_str());
        Some(WebLink { range: link.start()..link.end(), address })
    };
    finder.links(text).filter_map(link).collect()
}

/// Returns whether a text has a web link.
pub(crate) fn has_web_link(text: &str) -> bool {
    !web_links(text).is_empty()
}

/// Returns whether a text has the beginning of a link somewhere; most texts have none.
fn may_have_link(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes
        .windows(4)
        .any(|four| four.eq_ignore_ascii_case(b"http") || four.eq_ignore_ascii_case(b"www."))
}

/// Returns the beginning of a link that a text has.
fn beginning(text: &str) -> Option<&'static str> {
    let starts =
        |with: &&str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    BEGINNINGS.into_iter().find(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(text: &str) -> Vec<String> {
        web_links(text).into_iter().map(|link| link.address).collect()
    }

    #[test]
    fn links_begin_with_a_scheme_or_with_www() {
        let text = "看 https://a.example/x?y=1, HTTP://B.example (www.c.example/d). Www.e.example";
        assert_eq!(
            addresses(text),
            [
                "https://a.example/x?y=1",
                "HTTP://B.example",
                "http://www.c.example/d",
                "http://Www.e.example"
            ]
        );
        let first = &web_links(text)[0];
        assert_eq!(&text[first.range.clone()], "https://a.example/x?y=1");
    }

    #[test]
    fn other_texts_have_none() {
        for text in [
            "",
            "https://",
            "www.",
            "wwwwww...",
            "a.example",
            "someone@www.example",
            "ftp://a.example",
            "javascript:alert(1)",
            "file:///www.example",
        ] {
            assert!(!has_web_link(text), "{text}: {:?}", web_links(text));
        }
    }
}
