//! Text that people wrote, made fit for a model: nothing in it that a person would not see, no
//! longer than it may be, and quoted so that it cannot pass for anything else.

/// A text of at most `max` characters, and how many were left out.
pub(super) fn cut(text: &str, max: usize) -> (String, usize) {
    let clean = clean(text);
    match clean.char_indices().nth(max) {
        None => (clean, 0),
        Some((end, _)) => {
            let left = clean[end..].chars().count();
            (format!("{}…", clean[..end].trim_end()), left)
        }
    }
}

/// Without what cannot be seen: control characters, marks that turn the direction of writing
/// around, and the tags and selectors in which whole sentences can be hidden. Lines stay; joiners,
/// which many scripts and emoji need, do, too.
pub(super) fn clean(text: &str) -> String {
    let lines = text.replace("\r\n", "\n");
    lines.chars().filter_map(visible).collect()
}

fn visible(character: char) -> Option<char> {
    match character {
        '\n' | '\r' | '\u{0b}' | '\u{0c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\t' => Some(' '),
        hidden if hidden.is_control() || is_hidden(hidden) => None,
        visible => Some(visible),
    }
}

const fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// In quotation marks, on one line: whatever stands in the text cannot end it.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_taken_out() {
        let hidden = "a\u{0}b\u{1b}[31mc\u{202e}d\u{200b}e\u{e0041}f\u{feff}g\u{9b}h\u{2066}i";
        assert_eq!(clean(hidden), "ab[31mcdefghi");
        assert_eq!(clean("one\r\ntwo\u{2028}three\tfour"), "one\ntwo\nthree four");
        let seen = "👩‍👩‍👧 می‌خواهم ไทย 日本語 e\u{301}";
        assert_eq!(clean(seen), seen);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("日本語", 3), ("日本語".to_owned(), 0));
        assert_eq!(cut("日本語", 2), ("日本…".to_owned(), 1));
        assert_eq!(cut("a b", 2), ("a…".to_owned(), 1));
    }

    #[test]
    fn quotes_cannot_be_left() {
        assert_eq!(quoted("a\"\n12:00 p1 \"b"), r#""a\"\n12:00 p1 \"b""#);
    }
}
