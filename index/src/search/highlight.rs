//! Where a query's words stand in a message, as ranges of characters of the original text.

use std::ops::Range;

use super::query::{Needle, Query};
use crate::fold::search::SearchText;
use crate::script::Class;

/// A part of a message around the first thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The part, with `…` where text is left out.
    pub text: String,
    /// What was found in it: ranges of characters of `text`.
    pub highlights: Vec<Range<usize>>,
}

/// The ranges of characters (not bytes) of `text` that hold what the query asks for: in order,
/// never overlapping.
pub fn highlight(text: &str, query: &Query) -> Vec<Range<usize>> {
    if query.text.wanted.is_empty() {
        return Vec::new();
    }
    let text = SearchText::new(text);
    let found = query.text.wanted.iter().flat_map(|needle| occurrences(text.as_str(), needle));
    let mut ranges: Vec<_> = found.map(|range| text.original(range)).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    merge(ranges)
}

/// A part of `text` of at most `max` characters (and the marks for what is left out): the first
/// find, a little of what stands before it, and what follows.
pub fn snippet(text: &str, query: &Query, max: usize) -> Snippet {
    let highlights = highlight(text, query);
    let len = text.chars().count();
    if len <= max {
        return Snippet { text: text.to_owned(), highlights };
    }
    let first = highlights.first().map_or(0, |range| range.start);
    // A quarter before, the rest after; but no less than there is to show.
    let start = first.saturating_sub(max / 4).min(len - max);
    let part = start..start + max;
    let mut cut = String::new();
    let shift = if start > 0 {
        cut.push('…');
        1
    } else {
        0
    };
    cut.extend(text.chars().skip(start).take(max));
    if part.end < len {
        cut.push('…');
    }
    let inside = highlights.into_iter().filter_map(|range| {
        let (from, to) = (range.start.max(part.start), range.end.min(part.end));
        (from < to).then(|| from - start + shift..to - start + shift)
    });
    Snippet { text: cut, highlights: inside.collect() }
}

/// Where `needle` occurs in `folded`, in characters: from the beginning of a word on if it begins
/// with one.
fn occurrences(folded: &str, needle: &Needle) -> Vec<Range<usize>> {
    let needle = needle.as_str();
    let needle_len = needle.chars().count();
    let is_word = |c: char| Class::of(c) == Class::Word;
    let needs_boundary = needle.chars().next().is_some_and(is_word);
    let (mut byte, mut chars) = (0, 0);
    let mut found = Vec::new();
    while let Some(distance) = folded[byte..].find(needle) {
        let at = byte + distance;
        chars += folded[byte..at].chars().count();
        let inside_word = folded[..at].chars().next_back().is_some_and(is_word);
        let (bytes, len) = if needs_boundary && inside_word {
            (folded[at..].chars().next().map_or(1, char::len_utf8), 1)
        } else {
            found.push(chars..chars + needle_len);
            (needle.len(), needle_len)
        };
        byte = at + bytes;
        chars += len;
    }
    found
}

/// Joins sorted ranges that overlap or touch.
fn merge(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, query: &str) -> Vec<String> {
        let query = Query::parse(query).unwrap();
        let part = |range: Range<usize>| text.chars().skip(range.start).take(range.len()).collect();
        highlight(text, &query).into_iter().map(part).collect()
    }

    #[test]
    fn finds_are_marked_in_the_text_as_it_was_written() {
        assert_eq!(marked("Le CAFÉ, the café's cafeteria", "cafe"), ["CAFÉ", "café", "cafe"]);
        assert_eq!(marked("scone one", "one"), ["one"], "not inside a word");
        assert_eq!(marked("ｉＰｈｏｎｅを買う", "iphoneを買"), ["ｉＰｈｏｎｅを買"]);
        assert_eq!(marked("ﾊﾟｽﾜｰﾄﾞです", "ワード"), ["ﾜｰﾄﾞ"]);
        assert_eq!(marked("明天天氣好", "天天 天氣"), ["天天氣"], "overlapping finds are one");
        assert_eq!(marked("a b -c", "b -c"), ["b"], "what must not occur is not marked");
        assert_eq!(marked("two  \n words", "\"two words\""), ["two  \n words"]);
        assert_eq!(marked("ขอน้ำหน่อย", "น้ำ"), ["น้ำ"]);
        assert!(marked("anything", "type:text").is_empty());
    }

    #[test]
    fn a_snippet_shows_the_first_find() {
        let text = format!("{} needle {}", "x".repeat(100), "y ".repeat(100));
        let snippet = snippet(&text, &Query::parse("needle").unwrap(), 40);
        assert_eq!(snippet.text.chars().count(), 42);
        assert!(snippet.text.starts_with('…') && snippet.text.ends_with('…'));
        let [range] = &snippet.highlights[..] else { panic!("{snippet:?}") };
        let shown: String = snippet.text.chars().skip(range.start).take(range.len()).collect();
        assert_eq!(shown, "needle");
    }

    #[test]
    fn a_short_text_is_its_own_snippet() {
        let query = Query::parse("b").unwrap();
        let whole = Snippet { text: "a b b".to_owned(), highlights: vec![2..3, 4..5] };
        assert_eq!(snippet("a b b", &query, 5), whole);
        let cut = Snippet { text: "a …".to_owned(), highlights: vec![] };
        assert_eq!(snippet("a yb", &query, 2), cut);
    }
}
