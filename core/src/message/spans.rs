//! Parts of a text, given by UTF-16 units, that are left out of it.

use std::borrow::Cow;
use std::ops::Range;

/// Returns the UTF-16 units from `start` on.
pub(super) fn of(start: u32, length: u32) -> Range<u64> {
    u64::from(start)..u64::from(start) + u64::from(length)
}

/// Returns the text with a space in place of each span, trimmed. Spans may overlap, lie outside of the
/// text or begin within a character, which is left out then.
pub(super) fn without(text: &str, mut spans: Vec<Range<u64>>) -> Cow<'_, str> {
    spans.retain(|span| !span.is_empty());
    if spans.is_empty() {
        return text.trim().into();
    }
    spans.sort_unstable_by_key(|span| span.start);
    let (mut spans, mut rest, mut at) = (spans.into_iter().peekable(), String::new(), 0);
    // End of the last span that was entered.
    let mut covered = 0;
    for c in text.chars() {
        let next = at + c.len_utf16() as u64;
        while let Some(span) = spans.next_if(|span| span.start < next) {
            if span.end > at {
                rest.push(' ');
            }
            covered = covered.max(span.end);
        }
        if at >= covered {
            rest.push(c);
        }
        at = next;
    }
    rest.trim().to_owned().into()
}

#[cfg(test)]
#[path = "spans_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, spans: &[(u32, u32)]) -> String {
        without(text, spans.iter().map(|(start, length)| of(*start, *length)).collect())
            .into_owned()
    }

    #[test]
    fn spans_become_spaces() {
        assert_eq!(cut("@小幫手 營業時間", &[(0, 4)]), "營業時間");
        assert_eq!(cut("營業時間 @小幫手", &[(5, 4)]), "營業時間");
        assert_eq!(cut("one@Bob two", &[(3, 4)]), "one  two");
        assert_eq!(cut("營業(moon)時間", &[(2, 6)]), "營業 時間");
        assert_eq!(cut("@a@b", &[(0, 2), (2, 2)]), "");
        assert_eq!(cut(" plain ", &[]), "plain");
    }

    #[test]
    fn units_are_those_of_utf_16() {
        assert_eq!(cut("😀@Bob hi", &[(2, 4)]), "😀  hi");
        // Into the middle of a pair.
        assert_eq!(cut("😀 hi", &[(1, 1)]), "hi");
        assert_eq!(cut("a😀 hi", &[(0, 2)]), "hi");
    }

    #[test]
    fn any_numbers_will_do() {
        assert_eq!(cut("hello", &[(9, 4), (u32::MAX, u32::MAX), (0, 0)]), "hello");
        assert_eq!(cut("hello", &[(3, u32::MAX), (4, 1), (0, 1)]), "el");
        assert_eq!(cut("", &[(0, 1)]), "");
    }
}
