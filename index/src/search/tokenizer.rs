//! Tokenizer of the text field: from a text to the terms of its units.
//!
//! Words joined by hyphens are one word without them (see [`super::join`]), one unit; from each of
//! the hyphens on, the rest of it is a term at the same position, so that it matches from there too
//! (and so that a phrase matches `the mail` where `the e-mail` is).

use std::ops::Range;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::IndexOptions;
use super::join::Joined;
use super::query::MAX_QUERY;
use super::units::{Kind, MAX_WORD, Unit, units, write_term};
use crate::fold::search::each_folded;
use crate::script::{is_ideograph, is_kana};

/// Maximum number of terms of the rest of a word from a hyphen on: enough for the longest query.
const MAX_REST: usize = MAX_QUERY.div_ceil(MAX_WORD);

/// Positions of the parts of joined words: behind those of any text, apart from each other, so that
/// no phrase matches them. They are only for ranking.
const PARTS: (usize, usize) = (1 << 24, 4);

/// The tokenizer of the text field. Reuses its buffers.
#[derive(Clone, Default)]
pub(super) struct UnitTokenizer {
    options: IndexOptions,
    joined: Joined,
    units: Vec<Unit>,
    /// Further terms of joined words, by position.
    extras: Vec<Extra>,
    token: Token,
}

/// A further term of a joined word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extra {
    /// [`Kind::Word`], or [`Kind::Rest`] for the further pieces of a very long one.
    pub(super) kind: Kind,
    pub(super) position: usize,
    /// Byte range in the folded text.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl UnitTokenizer {
    /// Creates a tokenizer for an index with those options.
    pub(super) fn new(options: IndexOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Folds a text and takes it apart.
    pub(super) fn read(&mut self, text: &str) {
        self.joined.clear();
        let options = self.options;
        each_folded(text, |c, _| {
            self.joined.push(options.fold_char(c));
        });
        self.units.clear();
        self.units.extend(units(self.joined.as_str()));
        self.extras.clear();
        if !self.joined.breaks().is_empty() {
            extras(&self.joined, &self.units, &mut self.extras);
        }
    }

    /// Returns the folded text.
    pub(super) fn folded(&self) -> &str {
        self.joined.as_str()
    }

    /// Returns the units of the text.
    pub(super) fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Returns the pieces of joined words from each of their hyphens on.
    pub(super) fn rests(&self) -> impl Iterator<Item = &Extra> {
        self.extras.iter().filter(|extra| extra.position < PARTS.0)
    }
}

impl Tokenizer for UnitTokenizer {
    type TokenStream<'a> = UnitTokens<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> UnitTokens<'a> {
        self.read(text);
        self.token.reset();
        UnitTokens { tokenizer: self, next: 0, next_extra: 0, pair_done: false }
    }
}

/// Collects the further terms of the joined words of a text.
fn extras(joined: &Joined, units: &[Unit], extras: &mut Vec<Extra>) {
    let (text, mut breaks) = (joined.as_str(), joined.breaks());
    let words = units.chunk_by(|_, next| next.kind == Kind::Rest);
    for word in words {
        let (Some(first), Some(last)) = (word.first(), word.last()) else { continue };
        let inside = breaks.partition_point(|&at| at < last.end);
        let (here, rest) = breaks.split_at(inside);
        breaks = rest;
        let mut begin = first.start;
        for &at in here {
            add_part(text, begin, at, extras);
            add_rest(text, at, last, extras);
            begin = at;
        }
        if !here.is_empty() {
            add_part(text, begin, last.end, extras);
        }
    }
    let term =
        |extra: &Extra| (extra.position, extra.kind == Kind::Rest, &text[extra.start..extra.end]);
    extras.sort_unstable_by(|a, b| term(a).cmp(&term(b)));
    extras.dedup_by(|a, b| term(a) == term(b));
}

/// Adds a part of a joined word.
fn add_part(text: &str, start: usize, end: usize, extras: &mut Vec<Extra>) {
    let end = start + first_piece(&text[start..end]).len();
    let position = PARTS.0 + PARTS.1 * extras.len();
    extras.push(Extra { kind: Kind::Word, position, start, end });
}

/// Adds the rest of a word from `start` on, whose last piece is `last`: in pieces of its own, the
/// last in the last one's position, where the rest of the text expects it.
fn add_rest(text: &str, start: usize, last: &Unit, extras: &mut Vec<Extra>) {
    let rest = &text[start..last.end];
    let pieces = rest.chars().count().div_ceil(MAX_WORD);
    let mut position = (last.position + 1).saturating_sub(pieces);
    let (mut start, mut kind) = (start, Kind::Word);
    for _ in 0..pieces.min(MAX_REST) {
        let end = start + first_piece(&text[start..last.end]).len();
        extras.push(Extra { kind, position, start, end });
        (start, position, kind) = (end, position + 1, Kind::Rest);
    }
}

/// Returns the beginning of `text` that is one term.
fn first_piece(text: &str) -> &str {
    text.char_indices().nth(MAX_WORD).map_or(text, |(end, _)| &text[..end])
}

/// Returns whether a character that begins a pair is a term by itself as well: thousands of pairs
/// may begin with one ideograph. Without kana, texts of half kana would seem short, and Japanese
/// questions find their paragraph less often.
pub(super) fn is_single(c: char) -> bool {
    is_ideograph(c) || is_kana(c)
}

/// Terms of one text: of a character that begins a pair, the pair and then perhaps the character.
pub(super) struct UnitTokens<'a> {
    tokenizer: &'a mut UnitTokenizer,
    next: usize,
    next_extra: usize,
    pair_done: bool,
}

impl TokenStream for UnitTokens<'_> {
    fn advance(&mut self) -> bool {
        let UnitTokenizer { joined, units, extras, token, .. } = &mut *self.tokenizer;
        let folded = joined.as_str();
        let unit = units.get(self.next);
        // By position: the same term may be both.
        if let Some(extra) = extras.get(self.next_extra)
            && unit.is_none_or(|unit| extra.position < unit.position)
        {
            self.next_extra += 1;
            set(token, extra.position, extra.start..extra.end);
            write_term(extra.kind, &folded[extra.start..extra.end], &mut token.text);
            return true;
        }
        let Some(unit) = unit else {
            return false;
        };
        let is_pair = unit.kind == Kind::Character { pair: true } && !self.pair_done;
        let end = if is_pair { unit.pair_end } else { unit.end };
        set(token, unit.position, unit.start..end);
        write_term(unit.kind, &folded[unit.start..end], &mut token.text);
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

const fn set(token: &mut Token, position: usize, at: Range<usize>) {
    token.position = position;
    (token.offset_from, token.offset_to) = (at.start, at.end);
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
    fn joined_words_are_one_unit_and_found_from_each_hyphen_on() {
        let far = |at: usize| PARTS.0 + PARTS.1 * at;
        let expected = [
            (0, "my"),
            (1, "emailaddress"),
            (1, "address"),
            (1, "mailaddress"),
            (2, "?"),
            (far(0), "e"),
            (far(2), "mail"),
            (far(4), "address"),
        ];
        let expected = expected.map(|(at, text)| (at, text.to_owned()));
        assert_eq!(terms("my E-mail-address?"), expected);
        let (long, rest) = ("x".repeat(40), "y".repeat(40));
        let pieces = terms(&format!("{long}-{rest}"));
        let places: Vec<_> = pieces.iter().map(|(at, text)| (*at, text.len())).collect();
        assert_eq!(places[..3], [(0, 64), (1, 17), (1, 40)], "the rest ends where the word does");
    }

    #[test]
    fn a_very_long_word_is_cut_into_pieces() {
        let long = "x".repeat(150);
        let lengths: Vec<_> = terms(&long).iter().map(|(at, text)| (*at, text.len())).collect();
        assert_eq!(lengths, [(0, 64), (1, 65), (2, 23)], "no word begins with a further piece");
        let two_words = format!("{} {}", "x".repeat(64), "y");
        assert_eq!(terms(&two_words)[1..], [(1, " ".to_owned()), (2, "y".to_owned())]);
    }
}
