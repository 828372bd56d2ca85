//! Words of a text that are identifiers, with their names: numbers without their zeros and ordinal
//! suffixes, whatever the digits or numerals they are written in, and single letters.

use std::iter;
use std::ops::Range;

use super::han;
use crate::digits::ascii_digit;
use crate::script::{Class, is_ideograph, is_kana};

/// Words of one letter that are no identifiers in a text of words with spaces: also those that
/// stand for longer ones in chats, the Russian I, and particles of Vietnamese.
const WORDS: &str = "aiknruwяạừ";
/// Words of one letter that join others, such as prepositions, in Russian, Ukrainian, French,
/// Italian, Portuguese, Polish, Vietnamese, Swedish, Hungarian, Greek, Arabic and Persian. At the end
/// of a text they join nothing: `план в`.
const JOINING: &str = "авикосузійєèéàòóởåőοηή\u{648}";

/// An identifier in a text.
pub(super) struct Named {
    pub(super) name: Box<str>,
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
}

/// Returns the identifiers of a folded text, in order.
pub(super) fn named(folded: &str) -> impl Iterator<Item = Named> {
    pieces(folded).filter_map(move |(kind, range)| {
        let (before, after) = (&folded[..range.start], &folded[range.end..]);
        let text = &folded[range.clone()];
        let name = match kind {
            Kind::Word => word(before, text, after),
            Kind::Numerals => han::number(before, text, after),
            Kind::Stems => han::stems(text, after),
        };
        Some(Named { name: name?.into(), range })
    })
}

/// Kind of a run of characters that may be an identifier.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Letters of a script with spaces, and digits of any.
    Word,
    /// Numerals of Han.
    Numerals,
    /// `甲`, `乙` and so on, by which classes and groups are called.
    Stems,
}

impl Kind {
    fn of(c: char) -> Option<Self> {
        match c {
            c if han::is_numeral(c) => Some(Self::Numerals),
            c if han::is_stem(c) => Some(Self::Stems),
            c if is_ideograph(c) => None,
            c if Class::of(c) == Class::Word || is_digit(c) => Some(Self::Word),
            _ => None,
        }
    }
}

/// Returns whether a character is a letter of a script with spaces, or a digit of any.
pub(super) fn is_of_word(c: char) -> bool {
    Kind::of(c) == Some(Kind::Word)
}

/// Returns whether a character is a decimal digit of any script.
pub(super) fn is_digit(c: char) -> bool {
    ascii_digit(c).is_ascii_digit()
}

/// Returns the longest runs of characters of one kind, each with its bytes in the text.
fn pieces(folded: &str) -> impl Iterator<Item = (Kind, Range<usize>)> {
    let mut end = 0;
    iter::from_fn(move || {
        let text = &folded[end..];
        let (at, kind) = text.char_indices().find_map(|(at, c)| Some((at, Kind::of(c)?)))?;
        let start = end + at;
        let text = &text[at..];
        end = start + text.find(|c: char| Kind::of(c) != Some(kind)).unwrap_or(text.len());
        Some((kind, start..end))
    })
}

/// Returns the identifier that a word between two parts of a text is: a number without its zeros
/// and its ordinal suffix, or a letter.
fn word(before: &str, word: &str, after: &str) -> Option<String> {
    // The `s` of `what's` is none.
    let is_apostrophe = |c: char| c == '\'' || c == '’';
    if before.ends_with(is_apostrophe) || after.starts_with(is_apostrophe) {
        return None;
    }
    let mut chars = word.chars();
    let single = chars.next().filter(|_| chars.next().is_none());
    if single.is_some_and(|c| is_part_of_sign(before, c, after)) {
        return None;
    }
    let digits: String = word.chars().map(ascii_digit).take_while(char::is_ascii_digit).collect();
    if digits.is_empty() {
        return single.filter(|&c| is_name(before, c, after)).map(String::from);
    }
    let number = without_zeros(&digits);
    let mut suffix = word.chars().skip(digits.len());
    // `2nd` is 2, and `3f` is another floor than `3b`.
    Some(match (suffix.next(), suffix.next()) {
        (Some(letter), None) => format!("{number}{letter}"),
        _ => number.to_owned(),
    })
}

/// Returns digits without the zeros before the first other one.
pub(super) fn without_zeros(digits: &str) -> &str {
    match digits.trim_start_matches('0') {
        "" => "0",
        number => number,
    }
}

/// Returns whether a single letter names something.
fn is_name(before: &str, letter: char, after: &str) -> bool {
    // Letters of other scripts that know no case are words, or syllables, more often than names.
    if !letter.is_lowercase() && !matches!(letter, '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{6d3}') {
        return false;
    }
    let is_unspaced = |c: char| Class::of(c).is_substring_script();
    if before.ends_with(is_unspaced) || after.starts_with(is_unspaced) {
        return true;
    }
    let joins = JOINING.contains(letter)
        && (before.is_empty() || before.ends_with(' '))
        && after.strip_prefix(' ').is_some_and(|rest| rest.starts_with(is_of_word));
    !joins && !WORDS.contains(letter)
}

/// Returns whether a single character belongs to an emoticon (`:D`, `<3`, `T_T`), to laughter after
/// Japanese, or to a word with a hyphen (`T-shirt`, `Q&A`).
fn is_part_of_sign(before: &str, single: char, after: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic() && Class::of(c) == Class::Word;
    let is_face = before.ends_with([':', ';', '=', '<', '_']) || after.starts_with('_');
    let joined = after.strip_prefix(['-', '&']).is_some_and(|rest| rest.starts_with(is_letter))
        || before.strip_suffix('&').is_some_and(|rest| rest.ends_with(is_letter));
    let laughs = single == 'w' && before.ends_with(is_kana);
    is_face || laughs || (joined && is_letter(single))
}
