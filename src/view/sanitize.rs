//! Sanitised texts of people, for models and pages: without invisible characters, cut to a length,
//! and quoted so that no text can pass for anything else.

use chatkeep_core::text::is_direction_mark;
use chatkeep_index::cut::prefix;
use chatkeep_index::is_blank;

/// Braille pattern without dots, which people use for names that nobody sees.
const BLANK_PATTERN: char = '\u{2800}';

/// Cuts a text to `max` characters, at the end of a word where one is near, and never inside a number;
/// returns it with the number of omitted ones.
pub fn cut(text: &str, max: usize) -> (String, usize) {
    shortened(clean(text), max)
}

fn shortened(clean: String, max: usize) -> (String, usize) {
    let start = prefix(&clean, max);
    let left = clean[start.len()..].chars().count();
    if left == 0 {
        return (clean, 0);
    }
    (format!("{}…", start.trim_end()), left)
}

/// Removes invisible characters: control characters, marks that reverse the direction of writing,
/// and tags in which whole sentences can be hidden. Line breaks stay, and so do joiners and
/// selectors of variants, which many scripts and emoji need: one at a place, so that no row of them
/// hides anything.
pub fn clean(text: &str) -> String {
    let lines = text.replace("\r\n", "\n");
    let (mut clean, mut last) = (String::with_capacity(lines.len()), None);
    for character in lines.chars().filter_map(visible) {
        if last.is_none_or(|last| may_follow(last, character)) {
            clean.push(character);
            last = Some(character);
        }
    }
    clean
}

/// Returns false for an invisible character that does nothing behind another one. A part of a clean
/// text is clean, for only two neighbours decide.
fn may_follow(last: char, character: char) -> bool {
    match character {
        joiner if is_joiner(joiner) => {
            // Both fillers stand before a final consonant without a syllable.
            !is_joiner(last) || (last, joiner) == ('\u{115f}', '\u{1160}')
        }
        selector if is_selector(selector) => {
            !(is_selector(last) || is_joiner(last) || last.is_whitespace())
        }
        _ => true,
    }
}

/// Returns a name on one line of at most `max` characters.
pub fn one_line(text: &str, max: usize) -> String {
    // Characters that break lines are found by cleaning.
    shortened(clean(text).replace('\n', " "), max).0
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
    is_direction_mark(character)
        || matches!(
            character,
            '\u{ad}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns true for a joiner, or the filler of a Korean syllable.
const fn is_joiner(character: char) -> bool {
    matches!(
        character,
        '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{200c}'..='\u{200d}' | '\u{3164}' | '\u{ffa0}'
    )
}

/// Returns true for what selects a variant of the character before it.
const fn is_selector(character: char) -> bool {
    matches!(character, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}')
}

/// Returns true if something of a text can be seen. The blank pattern of Braille counts as a space.
pub fn is_visible(text: &str) -> bool {
    !is_blank(&text.replace(|c: char| c == BLANK_PATTERN || c.is_control(), ""))
}

/// Quotes a text on one line, so that nothing in it can end the quotation.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
mod sanitize_tests;

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
    fn long_texts_are_cut_between_words_or_characters() {
        assert_eq!(cut("日本語", 3), ("日本語".to_owned(), 0));
        assert_eq!(cut("日本語", 2), ("日本…".to_owned(), 1));
        assert_eq!(cut("a b", 2), ("a…".to_owned(), 1));
        assert_eq!(cut("the riverside stadium", 19), ("the riverside…".to_owned(), 7));
        assert_eq!(cut("I owe you 12,500 dollars", 13), ("I owe you…".to_owned(), 14));
        assert_eq!(one_line("before 2026-11-30\n", 13), "before…");
        assert_eq!(one_line("a\rb\u{2028}c", 9), "a b c");
        assert_eq!(one_line("a\r\nb\u{85}c", 3), "a b…");
    }

    #[test]
    fn a_text_of_invisible_characters_is_not_visible() {
        for unseen in ["", " \u{3000}", "\u{200b}\u{200b}", "\u{3164}", "\u{2800} \u{ad}"] {
            assert!(!is_visible(unseen), "{unseen:?}");
        }
        for unseen in ["\u{1}", "\u{1b}\u{7f}", "\u{9b}", " \u{0}"] {
            assert!(!is_visible(unseen), "{unseen:?}");
        }
        for seen in ["a", "\u{200b}林", "👍\u{fe0f}", ".", "\u{2801}"] {
            assert!(is_visible(seen), "{seen:?}");
        }
    }

    #[test]
    fn quotes_cannot_be_left() {
        assert_eq!(quoted("a\"\n12:00 p1 \"b"), r#""a\"\n12:00 p1 \"b""#);
    }
}
