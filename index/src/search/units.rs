//! Units of text, of which the terms of the index and of a query are made.
//!
//! A unit is a word of a script with spaces, or one character of a script without them, or one
//! symbol, or the white space between two of these unless both are words. Every unit takes a
//! position, so that a phrase of units is a piece of the text and nothing else. Runs of Han, kana,
//! Thai, Hangul, … are indexed as overlapping pairs: any substring is then a phrase of pairs. Han
//! and kana are indexed singly as well, for one can be a word; of the others only the last of a run
//! is, and one of them is searched as the beginning of pairs.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::script::Class;

/// Maximum length of a word that is one term, in characters. Longer ones (links, keys) are cut from
/// their beginning on, so that a prefix of the word is still a phrase of its terms.
pub(super) const MAX_WORD: usize = 64;

/// First character of the term of a [`Kind::Rest`]: no word begins there.
const CONTINUED: char = '\u{1}';

/// Kind of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word, or the first piece of a very long one.
    Word,
    /// A further piece of a very long word.
    Rest,
    /// One character of a script searched by substring; `pair` if another one follows at once.
    Character { pair: bool },
    /// One symbol, punctuation mark, emoji or white space.
    Symbol,
}

/// A unit of folded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) kind: Kind,
    /// Byte range in the folded text.
    pub(super) start: usize,
    pub(super) end: usize,
    /// End of the next character, for a pair.
    pub(super) pair_end: usize,
    /// Position in the text.
    pub(super) position: usize,
}

impl Unit {
    /// Returns the longest term that begins with this unit in `folded`: a pair, a word, a
    /// character.
    pub(super) fn longest<'a>(&self, folded: &'a str) -> &'a str {
        let end =
            if self.kind == (Kind::Character { pair: true }) { self.pair_end } else { self.end };
        &folded[self.start..end]
    }
}

/// Writes the term of a unit with that text.
pub(super) fn write_term(kind: Kind, text: &str, term: &mut String) {
    term.clear();
    if kind == Kind::Rest {
        term.push(CONTINUED);
    }
    term.push_str(text);
}

/// Returns the units of a text folded for search.
pub(super) fn units(folded: &str) -> Units<'_> {
    Units {
        chars: folded.char_indices().peekable(),
        position: 0,
        len: folded.len(),
        after_word: false,
        in_word: false,
    }
}

/// Iterator over the units of a text.
pub(super) struct Units<'a> {
    chars: Peekable<CharIndices<'a>>,
    position: usize,
    len: usize,
    /// `true` if the last unit was a whole word.
    after_word: bool,
    /// `true` if the last unit was a piece of a word that may go on.
    in_word: bool,
}

impl Units<'_> {
    /// Returns the byte offset of the next character.
    fn next_start(&mut self) -> usize {
        self.chars.peek().map_or(self.len, |&(at, _)| at)
    }

    fn next_class(&mut self) -> Option<Class> {
        self.chars.peek().map(|&(_, c)| Class::of(c))
    }

    /// Takes the rest of a word that has begun, up to [`MAX_WORD`] characters in total; returns
    /// whether that was all of it.
    fn take_word(&mut self) -> bool {
        (1..MAX_WORD).any(|_| self.chars.next_if(|&(_, c)| Class::of(c) == Class::Word).is_none())
    }

    /// Returns whether a space is implied by its neighbours: at the ends, and between words, which
    /// could not stand next to each other without it.
    fn is_silent_space(&mut self) -> bool {
        match self.next_class() {
            None => true,
            Some(Class::Word) => self.after_word || self.position == 0,
            Some(_) => self.position == 0,
        }
    }
}

impl Iterator for Units<'_> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        let (mut start, mut c) = self.chars.next()?;
        if Class::of(c) == Class::Space && self.is_silent_space() {
            (start, c) = self.chars.next()?;
        }
        let class = Class::of(c);
        self.after_word = class == Class::Word && self.take_word();
        let is_rest = self.in_word;
        self.in_word = class == Class::Word && !self.after_word;
        let end = self.next_start();
        let second = self.chars.peek().filter(|&&(_, c)| Class::of(c).is_substring_script());
        let pair_end = second.map_or(end, |&(at, c)| at + c.len_utf8());
        let kind = match class {
            Class::Word if is_rest => Kind::Rest,
            Class::Word => Kind::Word,
            Class::Symbol | Class::Space => Kind::Symbol,
            Class::Hangul | Class::Unspaced => Kind::Character { pair: pair_end > end },
        };
        let position = self.position;
        self.position += 1;
        Some(Unit { kind, start, end, pair_end, position })
    }
}
