//! Words joined over their hyphens, and numbers over their commas: `Wi-Fi` and `wifi` are one spelling
//! of one word, `9,500` and `9500` of one number. And texts without the blanks that some put between a
//! word and a script without blanks: `2980元` and `2,980 元` are one price. Folding has made one hyphen
//! of all that are typed for it, one comma, and one space.
//!
//! A hyphen between two words is removed, but for one between two digits, which counts or separates
//! numbers (`3-4` is not 34); a comma between two digits is removed; a space between a word and a
//! character that is searched by substring is removed, on either side. This depends on the two
//! characters beside it alone, so that a part of a text is joined as the text is: also `1,2` is 12.

use crate::script::Class;

const HYPHEN: char = '-';
const COMMA: char = ',';
const SPACE: char = ' ';

/// A folded text without the hyphens, commas and spaces that join.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    text: String,
    breaks: Vec<usize>,
    /// `true` if the last character may join what is before it.
    pending: bool,
}

impl Joined {
    /// Creates an empty text with room for that many bytes.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), ..Self::default() }
    }

    /// Joins a folded text.
    pub(super) fn new(folded: impl Iterator<Item = char>) -> Self {
        let mut joined = Self::default();
        for c in folded {
            joined.push(c);
        }
        joined
    }

    /// Joins a search text: a hyphen or comma at either end may be one that joins in the text, where
    /// it is removed.
    pub(super) fn needle(folded: &str) -> Self {
        let mut needle = folded;
        for joiner in [HYPHEN, COMMA] {
            let may_join = |c: char| if joiner == COMMA { is_digit(c) } else { is_word(c) };
            if let Some(rest) = needle.strip_prefix(joiner)
                && rest.starts_with(may_join)
            {
                needle = rest;
            }
            if let Some(rest) = needle.strip_suffix(joiner)
                && rest.ends_with(may_join)
            {
                needle = rest;
            }
        }
        Self::new(needle.chars())
    }

    /// Clears everything but its buffers.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.breaks.clear();
        self.pending = false;
    }

    /// Adds the next character of the folded text. Returns whether the one before it was removed.
    #[inline]
    pub(super) fn push(&mut self, c: char) -> bool {
        let went = self.pending && self.joins(c);
        // Where a space was, no word goes on.
        if went && self.text.pop() != Some(SPACE) {
            self.breaks.push(self.text.len());
        }
        self.pending = match c {
            HYPHEN | COMMA => self.text.ends_with(is_word),
            SPACE => self.text.ends_with(|c| is_word(c) || is_spaceless(c)),
            _ => false,
        };
        self.text.push(c);
        went
    }

    /// Returns whether the last character joins the one before it with `next`.
    fn joins(&self, next: char) -> bool {
        let mut before = self.text.chars().rev();
        let (joiner, Some(last)) = (before.next(), before.next()) else { return false };
        let are_digits = is_digit(last) && is_digit(next);
        match joiner {
            Some(SPACE) => {
                (is_word(last) && is_spaceless(next)) || (is_spaceless(last) && is_word(next))
            }
            Some(COMMA) => are_digits,
            _ => is_word(next) && !are_digits,
        }
    }

    /// Returns the text.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the positions of removed hyphens and commas, in bytes of the text, in order.
    pub(super) fn breaks(&self) -> &[usize] {
        &self.breaks
    }
}

fn is_word(c: char) -> bool {
    Class::of(c) == Class::Word
}

fn is_spaceless(c: char) -> bool {
    Class::of(c).is_substring_script()
}

fn is_digit(c: char) -> bool {
    c.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_joins_goes_and_the_rest_stays() {
        for (text, joined, breaks) in [
            ("9,500 or 1,234,567", "9500 or 1234567", vec![1, 9, 12]),
            ("10,5-8 a,b 3, 4 5,b ,6 7,", "105-8 a,b 3, 4 5,b ,6 7,", vec![2]),
            ("wi-fi", "wifi", vec![2]),
            ("wi-fi and e-mail", "wifi and email", vec![2, 10]),
            ("covid-19", "covid19", vec![5]),
            ("2-in-1", "2in1", vec![1, 3]),
            ("3-4 a -b c- d--e - -f g-", "3-4 a -b c- d--e - -f g-", vec![]),
            ("t-シャツ", "t-シャツ", vec![]),
            ("2,980 元 b2 車位 300 m", "2980元b2車位300 m", vec![1]),
            ("650 บาท 3 시 元 、 a -元 元 元", "650บาท3시 元 、 a -元 元 元", vec![]),
        ] {
            let found = Joined::new(text.chars());
            assert_eq!((found.as_str(), found.breaks()), (joined, &*breaks), "{text}");
        }
    }

    #[test]
    fn a_needle_loses_what_may_join_in_the_text() {
        for (needle, joined) in [
            ("-fi", "fi"),
            ("wi-", "wi"),
            ("-", "-"),
            ("!-", "!-"),
            ("e-mail", "email"),
            ("9,", "9"),
            (",500", "500"),
            ("a,", "a,"),
            (",", ","),
        ] {
            assert_eq!(Joined::needle(needle).as_str(), joined);
        }
    }
}
