//! Cuts of texts for readers: at the end of a word where there is one nearby, otherwise between
//! characters as people see them, and never inside a number, whose piece would be read as another
//! number.

use std::borrow::Cow;
use std::iter;

use unicode_segmentation::GraphemeCursor;

use crate::fold::is_ignorable;
use crate::script::{Class, may_part};

/// Maximum length of a number that is never cut, in characters, with the marks between its digits:
/// `12,500.00`, `2026-11-30`, `0912-345-678`.
pub const LONGEST_NUMBER: usize = 24;
/// Maximum distance of a cut from the end of a word that takes its place, in characters.
const NEAR: usize = 24;

/// Returns a prefix of a text of at most `max` characters (Unicode scalar values) that ends with a
/// word where one ends nearby. A text of one number or one grapheme cluster that is longer than that
/// is cut within.
pub fn prefix(text: &str, max: usize) -> &str {
    let Some((limit, _)) = text.char_indices().nth(max) else { return text };
    let before = text[..limit].char_indices().rev().map(|(at, _)| at);
    let places = iter::once(limit).chain(before).take_while(|at| *at > 0);
    let end = nearest(text, places.clone(), max).or_else(|| nearest_grapheme(text, places));
    &text[..end.unwrap_or(limit)]
}

/// Returns a text of more than `max` characters cut as by [`prefix`], with an ellipsis.
pub fn shortened(text: &str, max: usize) -> Cow<'_, str> {
    let start = prefix(text, max);
    if start.len() == text.len() {
        return text.into();
    }
    format!("{}…", start.trim_end()).into()
}

/// Returns a place in a text, in bytes, or where the number begins that a cut there would be inside.
pub fn number_start(text: &str, at: usize) -> usize {
    let before = text[..at].char_indices().rev().map(|(at, _)| at);
    iter::once(at).chain(before).find(|at| !is_in_number(text, *at)).unwrap_or(0)
}

/// Returns true if a place in a text, in bytes, is between two digits where none is cut.
pub fn is_between_digits(text: &str, at: usize) -> bool {
    is_in_short(text, at, |_| false)
}

/// Returns the first of some places in a text, in bytes, that is between two words, or else not inside
/// a number and nothing that people see as one character; `None` if no near one is. The places come
/// with the nearest first, and `max` is the length of what is cut.
pub(crate) fn nearest(
    text: &str,
    places: impl Iterator<Item = usize> + Clone,
    max: usize,
) -> Option<usize> {
    let mut words = places.clone().take(NEAR.min(max / 2) + 1);
    let mut others = places.take(LONGEST_NUMBER + 1);
    let end = words.find(|at| is_grapheme_edge(text, *at) && !is_joined(text, *at));
    end.or_else(|| {
        others.find(|at| {
            is_grapheme_edge(text, *at) && is_cluster_edge(text, *at) && !is_in_number(text, *at)
        })
    })
}

/// Returns the first of some places in a text, in bytes, that is between what people see as characters.
pub(crate) fn nearest_grapheme(
    text: &str,
    mut places: impl Iterator<Item = usize>,
) -> Option<usize> {
    places.find(|at| is_grapheme_edge(text, *at))
}

fn is_grapheme_edge(text: &str, at: usize) -> bool {
    // With the whole text at hand there is always an answer.
    GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(true)
}

/// Returns true for a place that is in no cluster of the scripts of Southeast Asia.
fn is_cluster_edge(text: &str, at: usize) -> bool {
    let (last, first) = (before(text, at).next(), after(text, at).next());
    last.zip(first).is_none_or(|(last, first)| may_part(last, first))
}

/// Returns true for a place in a word, or in a number with its sign.
fn is_joined(text: &str, at: usize) -> bool {
    let (mut before, mut after) = (before(text, at), after(text, at));
    let Some((last, first)) = before.next().zip(after.next()) else { return false };
    !may_part(last, first)
        || is_of_one_word(last, first)
        || (is_mark(last) && is_digit(first))
        || joins(before.next(), last, Some(first))
        || joins(Some(last), first, after.next())
}

fn is_of_one_word(last: char, first: char) -> bool {
    let classes = (Class::of(last), Class::of(first));
    matches!(classes, (Class::Word, Class::Word) | (Class::Hangul, Class::Hangul))
        || (is_digit(last) && is_digit(first))
}

/// Returns true for a mark that makes one word or one number of the characters on either side of it.
fn joins(one: Option<char>, mark: char, other: Option<char>) -> bool {
    let Some((one, other)) = one.zip(other) else { return false };
    let is_of_word = |c: char| is_digit(c) || Class::of(c) == Class::Word;
    match mark {
        ' ' => is_digit(one) && is_digit(other),
        '\'' | '’' => is_of_word(one) && is_of_word(other),
        _ if is_mark(mark) => {
            is_of_word(one) && is_of_word(other) && (is_digit(one) || is_digit(other))
        }
        _ => false,
    }
}

/// Returns true for a place in a number that is short enough to be shown whole. Of a row of numbers
/// that is longer, each is one by itself; so is, of one that is longer, each row of digits.
fn is_in_number(text: &str, at: usize) -> bool {
    let is_mark_or_space = |c: char| c == ' ' || is_mark(c);
    is_in_short(text, at, is_mark_or_space)
        || is_in_short(text, at, is_mark)
        || is_between_digits(text, at)
}

/// Returns true for a place in a number of at most [`LONGEST_NUMBER`] characters, with these marks
/// between its digits.
fn is_in_short(text: &str, at: usize, is_mark: fn(char) -> bool) -> bool {
    // Between two marks no number goes on.
    let mut sides = before(text, at).take(1).chain(after(text, at).take(1));
    let [start, end] = [digits(before(text, at), is_mark), digits(after(text, at), is_mark)];
    sides.any(is_digit) && start > 0 && end > 0 && start + end <= LONGEST_NUMBER
}

/// Returns the number of characters up to the last digit: digits, and single marks before them.
fn digits(chars: impl Iterator<Item = char>, is_mark: fn(char) -> bool) -> usize {
    let (mut length, mut marks) = (0, 0);
    for c in chars.take(LONGEST_NUMBER + 2) {
        if is_digit(c) {
            length += marks + 1;
            marks = 0;
        } else if marks == 0 && is_mark(c) {
            marks = 1;
        } else {
            break;
        }
    }
    length
}

/// Returns the visible characters before a place, the nearest first.
fn before(text: &str, at: usize) -> impl Iterator<Item = char> {
    text[..at].chars().rev().filter(|c| !is_unseen(*c))
}

/// Returns the visible characters from a place on.
fn after(text: &str, at: usize) -> impl Iterator<Item = char> {
    text[at..].chars().filter(|c| !is_unseen(*c))
}

/// Returns true for a character that is not shown: what stands on either side of it is read together.
fn is_unseen(c: char) -> bool {
    is_ignorable(c)
        || matches!(c, '\u{fff9}'..='\u{fffb}')
        || (c.is_control() && !c.is_whitespace())
}

/// Returns true for a digit of any script, and for a fraction or a circled digit, which folding turns
/// into digits.
fn is_digit(c: char) -> bool {
    c.is_numeric()
}

/// Returns true for a mark that may stand in a number, or before it as its sign: separators of thousands,
/// decimals and parts (Arabic and wide ones too), spaces that do not break, hyphens, signs, an apostrophe.
fn is_mark(c: char) -> bool {
    matches!(c, ',' | '.' | ':' | '/' | '-' | '+' | '\'' | '’')
        || matches!(c, '，' | '．' | '：' | '／' | '－' | '＋' | '\u{66b}' | '\u{66c}')
        || matches!(c, '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2010}'..='\u{2013}')
        || matches!(c, '\u{2044}' | '\u{2212}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_the_end_of_a_word_nearby() {
        for (text, max, expected) in [
            ("meet at the riverside stadium", 27, "meet at the riverside…"),
            ("meet at the riverside stadium", 21, "meet at the riverside…"),
            ("meet at the riverside stadium", 29, "meet at the riverside stadium"),
            ("well, I don’t know", 11, "well, I…"),
            ("a pair of Wi-Fi sticks", 14, "a pair of Wi-…"),
            ("명동역에서 만나기로 했어요", 8, "명동역에서…"),
            ("今天下午三點開會", 5, "今天下午三…"),
            ("ไปเที่ยวเเม่สาย", 9, "ไปเที่ยว…"),
            ("one", 0, "…"),
            ("", 0, ""),
        ] {
            assert_eq!(shortened(text, max), expected, "{text} {max}");
        }
        let word = "x".repeat(80);
        assert_eq!(prefix(&format!("so {word}"), 40).len(), 40, "no word ends nearby");
        assert_eq!(prefix(&format!("{word} so"), 81).len(), 81);
        assert_eq!(prefix("it is -5.5 outside", 7), "it is ", "a sign is of its number");
    }

    #[test]
    fn a_number_is_whole_or_not_there() {
        let numbers = [
            "12500",
            "12,500.00",
            "12 500",
            "2026-11-30",
            "0912-345-678",
            "10:00-21:30",
            "１２，５００",
            "๑๒๕๐๐",
            "١٢٣٫٥",
            "①②③",
            "12\u{200b}5\u{202e}00",
        ];
        for number in numbers {
            // Where a word ends beside it, and in a word that is longer than what is near.
            for (start, end) in [("it costs ", " in all"), ("價錢", "元"), (&*"x".repeat(60), "y")]
            {
                let text = format!("{start}{number}{end}");
                let (from, length) = (start.chars().count(), number.chars().count());
                for max in from.max(6)..from + length {
                    let shown = prefix(&text, max);
                    assert!(start.starts_with(shown), "{shown} of {text} {max}");
                }
                assert_eq!(number_start(&text, start.len()), start.len());
                let inside = number.char_indices().skip(2).map(|(at, _)| start.len() + at);
                for at in inside {
                    assert_eq!(number_start(&text, at), start.len(), "{text} {at}");
                }
            }
        }
    }

    #[test]
    fn numbers_in_a_row_are_cut_apart_and_a_number_without_end_is_cut() {
        assert_eq!(number_start("12500  13500", 6), 6, "they are two");
        let row = "12,500 13,500 14,500 15,500 16,500 17,500";
        assert_eq!(prefix(row, 37).trim_end(), "12,500 13,500 14,500 15,500 16,500");
        let list = "10,11,12,13,14,15,16,17,18,19,20,21";
        assert_eq!(prefix(list, 31), "10,11,12,13,14,15,16,17,18,19,");
        let digits = "1234567890".repeat(8);
        assert_eq!(prefix(&digits, 50).len(), 50);
        assert!(!is_between_digits(&digits, 50) && is_between_digits("1000", 3));
        assert!(!is_between_digits("1000 ", 4) && !is_between_digits("12,500", 3));
        assert_eq!(prefix("12500", 3), "125", "there is no room for it");
    }
}
