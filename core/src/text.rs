//! Cutting of texts between characters as people see them: a letter with its marks, a flag, or a
//! family of emoji stays whole. Marks that turn the direction of a text.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;

/// Returns the longest prefix of a text of at most `max` characters (Unicode scalar values) that tears
/// no extended grapheme cluster (UAX #29). A first cluster that is longer than that is torn.
pub fn prefix(text: &str, max: usize) -> &str {
    prefix_by(text, max, |_| 1)
}

/// Returns the longest prefix of a text of at most `max` UTF-16 units, as [`prefix`] does.
pub fn prefix_utf16(text: &str, max: usize) -> &str {
    prefix_by(text, max, char::len_utf16)
}

/// Returns a text of more than `max` characters cut, with an ellipsis.
pub fn shortened(text: &str, max: usize) -> Cow<'_, str> {
    let start = prefix(text, max);
    if start.len() == text.len() {
        return text.into();
    }
    format!("{start}…").into()
}

/// Returns true for what Unicode calls `Bidi_Control`: invisible marks of the direction of a text,
/// which show it in another order than the one in which it is stored.
pub const fn is_direction_mark(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

fn prefix_by(text: &str, max: usize, size: fn(char) -> usize) -> &str {
    // A character takes at least a byte.
    if text.len() <= max {
        return text;
    }
    let mut left = max;
    for (at, cluster) in text.grapheme_indices(true) {
        match left.checked_sub(cluster.chars().map(size).sum()) {
            Some(rest) => left = rest,
            None if at == 0 => return torn(cluster, max, size),
            None => return &text[..at],
        }
    }
    text
}

fn torn(cluster: &str, max: usize, size: fn(char) -> usize) -> &str {
    let mut left = max;
    for (at, character) in cluster.char_indices() {
        match left.checked_sub(size(character)) {
            Some(rest) => left = rest,
            None => return &cluster[..at],
        }
    }
    cluster
}

#[cfg(test)]
#[path = "text_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_see_as_one_character_is_never_torn() {
        for (text, max, expected) in [
            ("abc", 2, "ab"),
            ("abc", 3, "abc"),
            ("abc", 0, ""),
            ("ก็ได้", 4, "ก็ไ"),
            ("aก็ได้", 2, "a"),
            ("ae\u{301}b", 2, "a"),
            ("a👨‍👩‍👧b", 5, "a"),
            ("a👨‍👩‍👧b", 6, "a👨‍👩‍👧"),
            ("🇹🇼🇯🇵", 3, "🇹🇼"),
            ("今天", 1, "今"),
        ] {
            assert_eq!(prefix(text, max), expected, "{text} {max}");
        }
        assert_eq!(prefix_utf16("a😀b", 2), "a");
        assert_eq!(prefix_utf16("a😀b", 3), "a😀");
    }

    #[test]
    fn a_cluster_without_end_is_torn() {
        let text = format!("e{}", "\u{301}".repeat(50));
        assert_eq!(prefix(&text, 9).chars().count(), 9);
        assert_eq!(prefix_utf16("👨‍👩‍👧", 4), "👨\u{200d}");
    }

    #[test]
    fn what_is_left_out_shows() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abcd", 3), "abc…");
        assert_eq!(shortened("ab🇹🇼", 3), "ab…");
    }
}
