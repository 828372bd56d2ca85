//! Beginnings of words: terms of their own, so that a word being typed is one posting list.
//!
//! Thousands of words may begin with two letters, and millions of numbers with four digits. The
//! first [`LENGTHS`] characters of every word are therefore indexed at the word's position, in a
//! field of their own: neither the length of a message nor the frequency of a word changes. A term
//! there is its number of characters, as one character, and the characters.
//!
//! An open prefix of a query is looked up as follows:
//!
//! - As many characters as one of the lengths: one list.
//! - Fewer than the longest: the lists of the next length that begin with it, a few dozen, and the
//!   word itself, which may be too short for them.
//! - More: the lists of all words that begin with it; so many characters say enough.
//!
//! Beyond eight characters, where words are links, numbers and keys, the lengths are further apart:
//! a word that ends between two of them is indexed as a whole in place of the longer beginning.
//!
//! One letter of a script in which every character begins a pair of its own (Hangul, Thai) is a
//! beginning of these pairs.

use std::sync::Arc;

use tantivy::postings::TermInfo;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use tantivy::{InvertedIndexReader, SegmentReader};

use super::IndexOptions;
use super::posting_list::Source;
use super::schema::Fields;
use super::tokenizer::{Extra, UnitTokenizer, is_single};
use super::units::{Kind, Unit, write_term};

/// Numbers of characters, ascending. As a character, each tells the terms of its length from those
/// of all others.
const LENGTHS: [u8; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/// Length up to which no more than one is left out between two: a word of that one is looked up in
/// the field of whole words.
const CLOSE: u8 = 8;

/// The tokenizer of the field. Reuses its buffers.
#[derive(Clone, Default)]
pub(super) struct BeginningTokenizer {
    units: UnitTokenizer,
    /// Words, by position.
    words: Vec<Extra>,
    /// Term of the present word.
    term: String,
    token: Token,
}

impl BeginningTokenizer {
    /// Creates a tokenizer for an index with those options.
    pub(super) fn new(options: IndexOptions) -> Self {
        Self { units: UnitTokenizer::new(options), ..Self::default() }
    }
}

impl Tokenizer for BeginningTokenizer {
    type TokenStream<'a> = Beginnings<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Beginnings<'a> {
        self.units.read(text);
        let folded = self.units.folded();
        self.words.clear();
        self.words.extend(self.units.units().iter().filter_map(|unit| {
            let begins = match unit.kind {
                Kind::Word | Kind::Rest => true,
                Kind::Symbol => false,
                Kind::Character { .. } => !folded[unit.start..].starts_with(is_single),
            };
            let Unit { kind, position, start, end, .. } = *unit;
            begins.then_some(Extra { kind, position, start, end })
        }));
        let before = self.words.len();
        self.words.extend(self.units.rests());
        if self.words.len() > before {
            self.words.sort_by_key(|word| word.position);
        }
        self.token.reset();
        Beginnings { tokenizer: self, word: 0, length: 0 }
    }
}

/// Beginnings of the words of one text.
pub(super) struct Beginnings<'a> {
    tokenizer: &'a mut BeginningTokenizer,
    word: usize,
    length: usize,
}

impl TokenStream for Beginnings<'_> {
    fn advance(&mut self) -> bool {
        let BeginningTokenizer { units, words, term: word, token } = &mut *self.tokenizer;
        while let Some(&Extra { kind, position, start, end }) = words.get(self.word) {
            if self.length == 0 {
                write_term(kind, &units.folded()[start..end], word);
            }
            let length = LENGTHS.get(self.length).copied();
            let before = self.length.checked_sub(1).map_or(0, |before| LENGTHS[before]);
            self.length += 1;
            if let Some(length) = length
                && let Some(beginning) = beginning(word, length, before)
            {
                token.position = position;
                (token.offset_from, token.offset_to) = (start, end);
                token.text.clear();
                token.text.push(char::from(length));
                token.text.push_str(beginning);
                return true;
            }
            (self.word, self.length) = (self.word + 1, 0);
        }
        false
    }

    fn token(&self) -> &Token {
        &self.tokenizer.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokenizer.token
    }
}

/// Returns the first `length` characters of a word, if it has as many; the whole word if it has
/// more than `before`, the length before this one, and that is far away.
fn beginning(word: &str, length: u8, before: u8) -> Option<&str> {
    let mut rest = word.char_indices();
    if length <= CLOSE {
        let (at, last) = rest.nth(usize::from(length).checked_sub(1)?)?;
        return word.get(..at + last.len_utf8());
    }
    rest.nth(usize::from(before))?;
    let end = rest.nth(usize::from(length - before).checked_sub(1)?);
    word.get(..end.map_or(word.len(), |(at, _)| at))
}

/// Returns the posting lists of the words that begin with `prefix` in a segment.
pub(super) fn lists(
    segment: &SegmentReader,
    fields: Fields,
    prefix: &str,
) -> tantivy::Result<Vec<Source>> {
    let characters = prefix.chars().count();
    let length = LENGTHS.into_iter().find(|length| usize::from(*length) >= characters);
    let text = segment.inverted_index(fields.text)?;
    let mut lists = Vec::new();
    let Some(length) = length else {
        words(&text, prefix, &mut lists)?;
        return Ok(lists);
    };
    let term = format!("{}{prefix}", char::from(length));
    let begun = segment.inverted_index(fields.beginnings)?;
    if usize::from(length) == characters {
        add(&begun, begun.terms().get(&term)?, &mut lists);
        return Ok(lists);
    }
    words(&begun, &term, &mut lists)?;
    if length <= CLOSE {
        add(&text, text.terms().get(prefix)?, &mut lists);
    }
    Ok(lists)
}

fn add(index: &Arc<InvertedIndexReader>, info: Option<TermInfo>, lists: &mut Vec<Source>) {
    lists.extend(info.map(|info| (Arc::clone(index), info)));
}

/// Adds the lists of all terms that begin with `prefix`.
fn words(
    index: &Arc<InvertedIndexReader>,
    prefix: &str,
    lists: &mut Vec<Source>,
) -> tantivy::Result<()> {
    let mut terms = index.terms().range().ge(prefix).into_stream()?;
    while terms.advance() && terms.key().starts_with(prefix.as_bytes()) {
        add(index, Some(terms.value().clone()), lists);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_with_their_first_characters() {
        let mut tokenizer = BeginningTokenizer::new(IndexOptions::default());
        let mut stream = tokenizer.token_stream("Do e-mails 주차 今日!");
        let mut found = Vec::new();
        stream.process(&mut |token| found.push((token.position, token.text.clone())));
        let words = |at: usize, texts: &[&str]| -> Vec<(usize, String)> {
            let term = |text: &&str| {
                let length = u32::try_from(text.chars().count()).unwrap();
                (at, format!("{}{text}", char::from_u32(length).unwrap()))
            };
            texts.iter().map(term).collect()
        };
        let mut expected = words(0, &["d", "do"]);
        expected.extend(words(1, &["e", "em", "ema", "emai", "emails"]));
        expected.extend(words(1, &["m", "ma", "mai", "mail"]));
        expected.extend(words(2, &["주"]));
        expected.extend(words(3, &["차"]));
        assert_eq!(found, expected);
    }

    #[test]
    fn beyond_eight_characters_a_word_between_two_lengths_is_a_beginning_itself() {
        let all = "abcdefghijklmnopqrstuvwxyzé".repeat(3);
        let end = |count: usize| all.char_indices().nth(count).unwrap().0;
        for count in 1..=80 {
            let word = &all[..end(count)];
            let mut before = 0;
            for length in LENGTHS {
                let expected = if count >= usize::from(length) {
                    Some(&all[..end(usize::from(length))])
                } else if length > CLOSE && count > usize::from(before) {
                    Some(word)
                } else {
                    None
                };
                assert_eq!(beginning(word, length, before), expected, "{count} {length}");
                before = length;
            }
        }
    }
}
