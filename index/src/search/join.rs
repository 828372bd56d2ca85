//! Words joined over their hyphens, and numbers over their commas: `Wi-Fi` and `wifi` are one spelling
//! of one word, `9,500` and `9500` of one number. Folding has made one hyphen of all that are typed
//! for it, and one comma.
//!
//! A hyphen between two words is removed, but for one between two digits, which counts or separates
//! numbers (`3-4` is not 34); a comma between two digits is removed. This depends on the two
//! characters beside it alone, so that a part of a text is joined as the text is: also `1,2` is 12.

use crate::script::Class;

const HYPHEN: char = '-';
const COMMA: char = ',';

/// A folded text without the hyphens and commas that join words.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    text: String,
    breaks: Vec<usize>,
    /// `true` if the last character is a hyphen or comma that may join what is before it.
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

    /// Adds the next character of the folded text. Returns whether the hyphen or comma before it was
    /// removed.
    #[inline]
    pub(super) fn push(&mut self, c: char) -> bool {
        let went = self.pending && is_word(c) && self.joins(c);
        if went {
            self.text.pop();
            self.breaks.push(self.text.len());
        }
        self.pending = matches!(c, HYPHEN | COMMA) && self.text.ends_with(is_word);
        self.text.push(c);
        went
    }

    /// Returns whether the hyphen or comma at the end joins the word before it with `next`.
    fn joins(&self, next: char) -> bool {
        let mut before = self.text.chars().rev();
        let is_comma = before.next() == Some(COMMA);
        is_comma == (is_digit(next) && before.next().is_some_and(is_digit))
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
