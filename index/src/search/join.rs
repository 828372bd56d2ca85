//! Words joined over their hyphens: `Wi-Fi` and `wifi` are one spelling of one word. Folding has made
//! one hyphen of all that are typed for it.
//!
//! A hyphen between two words is removed, but for one between two digits, which counts or separates
//! numbers (`3-4` is not 34). This depends on the two characters beside it alone, so that a part of
//! a text is joined as the text is.

use crate::script::Class;

const HYPHEN: char = '-';

/// A folded text without the hyphens that join words.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    text: String,
    breaks: Vec<usize>,
    /// `true` if the last character is a hyphen after a word character.
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

    /// Joins a search text: a hyphen at either end may be one that joins in the text, where it is
    /// removed.
    pub(super) fn needle(folded: &str) -> Self {
        let mut needle = folded;
        if let Some(rest) = needle.strip_prefix(HYPHEN)
            && rest.starts_with(is_word)
        {
            needle = rest;
        }
        if let Some(rest) = needle.strip_suffix(HYPHEN)
            && rest.ends_with(is_word)
        {
            needle = rest;
        }
        Self::new(needle.chars())
    }

    /// Clears everything but its buffers.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.breaks.clear();
        self.pending = false;
    }

    /// Adds the next character of the folded text. Returns whether the hyphen before it was
    /// removed.
    #[inline]
    pub(super) fn push(&mut self, c: char) -> bool {
        let went = self.pending && is_word(c) && self.joins(c);
        if went {
            self.text.pop();
            self.breaks.push(self.text.len());
        }
        self.pending = c == HYPHEN && self.text.ends_with(is_word);
        self.text.push(c);
        went
    }

    /// Returns whether the hyphen at the end joins the word before it with `next`.
    fn joins(&self, next: char) -> bool {
        let before = self.text.chars().rev().nth(1);
        !(next.is_numeric() && before.is_some_and(char::is_numeric))
    }

    /// Returns the text.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the positions of removed hyphens, in bytes of the text, in order.
    pub(super) fn breaks(&self) -> &[usize] {
        &self.breaks
    }
}

fn is_word(c: char) -> bool {
    Class::of(c) == Class::Word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_between_words_go_and_others_stay() {
        for (text, joined, breaks) in [
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
        for (needle, joined) in
            [("-fi", "fi"), ("wi-", "wi"), ("-", "-"), ("!-", "!-"), ("e-mail", "email")]
        {
            assert_eq!(Joined::needle(needle).as_str(), joined);
        }
    }
}
