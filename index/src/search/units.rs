//! Text in units: what is indexed, what a query asks for, and the tokenizer between the two.
//!
//! A unit is a word of a script with spaces, or one character of a script without them, or one
//! symbol, or the white space between two of these unless both are words. Every unit takes a
//! position, so that a phrase of units is a piece of the text and nothing else. Runs of Han, kana,
//! Thai, Hangul, … are indexed as overlapping pairs: any substring is then a phrase of pairs. Han
//! and kana are indexed singly as well, for one can be a word; of the others only the last of a run
//! is, and one of them is looked for as the beginning of pairs.

use std::iter::Peekable;
use std::str::CharIndices;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::IndexOptions;
use crate::fold::search::each_folded;
use crate::script::{Class, is_ideograph, is_kana};

/// The longest word, in characters, that is one term. Longer ones (links, keys) are cut from their
/// beginning on, so that a prefix of the word is still a phrase of its terms.
const MAX_WORD: usize = 64;

/// What kind of thing a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word, or a piece of a very long one.
    Word,
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
    /// Where the character after it ends, for a pair.
    pub(super) pair_end: usize,
    /// Its place in the text.
    pub(super) position: usize,
}

impl Unit {
    /// The longest term that begins with this unit in `folded`: a pair, a word, a character.
    pub(super) fn longest<'a>(&self, folded: &'a str) -> &'a str {
        let end =
            if self.kind == (Kind::Character { pair: true }) { self.pair_end } else { self.end };
        &folded[self.start..end]
    }
}

/// The units of a text folded for search.
pub(super) fn units(folded: &str) -> Units<'_> {
    Units {
        chars: folded.char_indices().peekable(),
        position: 0,
        len: folded.len(),
        after_word: false,
    }
}

/// Iterator over the units of a text.
pub(super) struct Units<'a> {
    chars: Peekable<CharIndices<'a>>,
    position: usize,
    len: usize,
    /// Whether the last unit was a whole word.
    after_word: bool,
}

impl Units<'_> {
    /// The byte at which the next character begins.
    fn next_start(&mut self) -> usize {
        self.chars.peek().map_or(self.len, |&(at, _)| at)
    }

    fn next_class(&mut self) -> Option<Class> {
        self.chars.peek().map(|&(_, c)| Class::of(c))
    }

    /// Takes the rest of a word that has begun, up to [`MAX_WORD`] characters in all; whether that
    /// was all of it.
    fn take_word(&mut self) -> bool {
        (1..MAX_WORD).any(|_| self.chars.next_if(|&(_, c)| Class::of(c) == Class::Word).is_none())
    }

    /// Whether a space is said already by what stands around it: at the ends, and between words,
    /// which could not stand next to each other without it.
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
        let end = self.next_start();
        let second = self.chars.peek().filter(|&&(_, c)| Class::of(c).is_substring_script());
        let pair_end = second.map_or(end, |&(at, c)| at + c.len_utf8());
        let kind = match class {
            Class::Word => Kind::Word,
            Class::Symbol | Class::Space => Kind::Symbol,
            Class::Hangul | Class::Unspaced => Kind::Character { pair: pair_end > end },
        };
        let position = self.position;
        self.position += 1;
        Some(Unit { kind, start, end, pair_end, position })
    }
}

/// The tokenizer of the text field. Keeps its buffers from one text to the next.
#[derive(Clone, Default)]
pub(super) struct UnitTokenizer {
    options: IndexOptions,
    folded: String,
    units: Vec<Unit>,
    token: Token,
}

impl UnitTokenizer {
    /// A tokenizer for an index with those options.
    pub(super) fn new(options: IndexOptions) -> Self {
        Self { options, ..Self::default() }
    }
}

impl Tokenizer for UnitTokenizer {
    type TokenStream<'a> = UnitTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> UnitTokens<'a> {
        self.folded.clear();
        let options = self.options;
        each_folded(text, |c, _| self.folded.push(options.fold_char(c)));
        self.units.clear();
        self.units.extend(units(&self.folded));
        self.token.reset();
        UnitTokens { tokenizer: self, next: 0, pair_done: false }
    }
}

/// Whether a character that begins a pair is a term by itself as well: thousands of pairs may begin
/// with one ideograph. Without kana what is half kana would seem short, and Japanese questions find
/// their paragraph less often.
pub(super) fn is_single(c: char) -> bool {
    is_ideograph(c) || is_kana(c)
}

/// The terms of one text: of a character that begins a pair, the pair and then perhaps the
/// character.
pub(super) struct UnitTokens<'a> {
    tokenizer: &'a mut UnitTokenizer,
    next: usize,
    pair_done: bool,
}

impl TokenStream for UnitTokens<'_> {
    fn advance(&mut self) -> bool {
        let UnitTokenizer { folded, units, token, .. } = &mut *self.tokenizer;
        let Some(unit) = units.get(self.next) else {
            return false;
        };
        let is_pair = unit.kind == Kind::Character { pair: true } && !self.pair_done;
        let end = if is_pair { unit.pair_end } else { unit.end };
        token.position = unit.position;
        (token.offset_from, token.offset_to) = (unit.start, end);
        token.text.clear();
        token.text.push_str(&folded[unit.start..end]);
        self.pair_done = is_pair && token.text.starts_with(is_single);
        self.next += usize::from(!self.pair_done);
        true
    }

    fn token(&self) -> &Token {
        &self.tokenizer.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokenizer.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<(usize, String)> {
        let mut tokenizer = UnitTokenizer::new(IndexOptions { han_variants: false });
        let mut stream = tokenizer.token_stream(text);
        let mut terms = Vec::new();
        stream.process(&mut |token| terms.push((token.position, token.text.clone())));
        terms
    }

    #[test]
    fn words_are_terms_and_runs_are_pairs_and_characters() {
        let expected = [
            (0, "iphone"),
            (1, "を買"),
            (1, "を"),
            (2, "買う"),
            (2, "買"),
            (3, "う"),
            (4, "!"),
            (5, " "),
            (6, "ok"),
            (7, "now"),
        ];
        let expected = expected.map(|(at, text)| (at, text.to_owned()));
        assert_eq!(terms(" iPhoneを買う！ \n OK now "), expected);
    }

    #[test]
    fn letters_are_terms_only_at_the_end_of_a_run() {
        let expected = [(0, "주차"), (1, "차장"), (2, "장"), (3, "ok")];
        assert_eq!(terms("주차장ok"), expected.map(|(at, text)| (at, text.to_owned())));
    }

    #[test]
    fn a_pair_never_spans_a_gap() {
        let expected = [(0, "你"), (1, " "), (2, "好"), (3, ","), (4, "嗎")];
        assert_eq!(terms("你 好，嗎"), expected.map(|(at, text)| (at, text.to_owned())));
    }

    #[test]
    fn variants_are_one_term_if_the_index_is_so() {
        let mut tokenizer = UnitTokenizer::new(IndexOptions { han_variants: true });
        let mut stream = tokenizer.token_stream("時間");
        let mut terms = Vec::new();
        stream.process(&mut |token| terms.push(token.text.clone()));
        assert_eq!(terms, ["时间", "时", "间"]);
    }

    #[test]
    fn a_very_long_word_is_cut_into_pieces() {
        let long = "x".repeat(150);
        let lengths: Vec<_> = terms(&long).iter().map(|(at, text)| (*at, text.len())).collect();
        assert_eq!(lengths, [(0, 64), (1, 64), (2, 22)]);
        let two_words = format!("{} {}", "x".repeat(64), "y");
        assert_eq!(terms(&two_words)[1..], [(1, " ".to_owned()), (2, "y".to_owned())]);
    }
}
