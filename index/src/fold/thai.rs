//! One spelling for what looks the same in Thai and Lao, and which Unicode does not normalise.
//!
//! - The vowel ae typed as two e (`เ` `เ`) is the one character `แ`.
//! - A tone mark stands before a nikhahit, the ring that SARA AM (`ำ`) begins with once it is
//!   decomposed: `น` `้` `ำ` and `น` `ํ` `้` `า` are one word.
//!
//! Lao has the same characters at the same distances.

use std::iter::Peekable;

/// Returns the vowel ae if `c` is the vowel e, of which two look the same.
#[inline]
const fn doubled(c: char) -> Option<char> {
    match c {
        '\u{e40}' => Some('\u{e41}'),
        '\u{ec0}' => Some('\u{ec1}'),
        _ => None,
    }
}

#[inline]
const fn is_tone(c: char) -> bool {
    matches!(c, '\u{e48}'..='\u{e4b}' | '\u{ec8}'..='\u{ecb}')
}

/// Returns whether `c` is a nikhahit.
#[inline]
pub(super) const fn is_nikhahit(c: char) -> bool {
    matches!(c, '\u{e4d}' | '\u{ecd}')
}

/// Returns whether `next` is spelled together with `last`, the visible character before it.
#[inline]
pub(super) fn is_respelled(last: char, next: char) -> bool {
    (is_nikhahit(last) && is_tone(next)) || (last == next && doubled(last).is_some())
}

/// Returns the characters of a normalised text without invisible characters in their one spelling.
pub(super) fn respelled<I: Iterator<Item = char>>(chars: I) -> Respelled<I> {
    Respelled { chars: chars.peekable(), nikhahit: None }
}

/// Iterator over the characters of a text in their one spelling.
pub(super) struct Respelled<I: Iterator<Item = char>> {
    chars: Peekable<I>,
    /// A nikhahit whose tone marks are not all known.
    nikhahit: Option<char>,
}

impl<I: Iterator<Item = char>> Iterator for Respelled<I> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        if self.nikhahit.is_none() {
            let c = self.chars.next()?;
            if let Some(doubled) = doubled(c) {
                return Some(self.chars.next_if_eq(&c).map_or(c, |_| doubled));
            }
            if !is_nikhahit(c) {
                return Some(c);
            }
            self.nikhahit = Some(c);
        }
        self.chars.next_if(|&c| is_tone(c)).or_else(|| self.nikhahit.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fold;
    use crate::fold::search::{SearchText, fold_for_search};

    #[test]
    fn spellings_that_look_the_same_are_one() {
        for (text, other) in [
            ("น\u{e49}\u{e33}", "น\u{e4d}\u{e49}\u{e32}"),
            ("น\u{e49}\u{e33}", "น\u{e49}\u{e4d}\u{e32}"),
            ("น\u{e49}\u{e33}", "น\u{e4d}\u{200b}\u{e49}\u{e32}"),
            ("\u{e41}ม่", "\u{e40}\u{e40}ม่"),
            ("\u{e41}ม่", "\u{e40}\u{200b}\u{e40}ม่"),
            ("ນ\u{ec9}\u{eb3}", "ນ\u{ecd}\u{ec9}\u{eb2}"),
            ("\u{ec1}ມ່", "\u{ec0}\u{ec0}ມ່"),
        ] {
            assert_eq!(fold(text), fold(other), "{other:?}");
            assert_eq!(fold_for_search(text), fold_for_search(other), "{other:?}");
        }
        assert_eq!(fold("เแเเเ"), "เแแเ", "from the first on");
        assert_ne!(fold("เเ"), fold("เ"));
        let both: String = respelled("\u{e4d}\u{e48}\u{e49}\u{e4d}".chars()).collect();
        assert_eq!(both, "\u{e48}\u{e49}\u{e4d}\u{e4d}");
    }

    #[test]
    fn respelled_characters_know_their_origin() {
        let text = SearchText::new("aเเม่ น\u{e4d}\u{e49}\u{e32}!");
        assert_eq!(text.as_str(), "aแม่ น\u{e49}\u{e4d}\u{e32}!");
        assert_eq!(text.original(1..2), 1..3);
        assert_eq!(text.original(2..4), 3..5);
        assert_eq!(text.original(5..9), 6..10);
        assert_eq!(text.original(7..8), 6..9, "what folds together is not separated");
    }
}
