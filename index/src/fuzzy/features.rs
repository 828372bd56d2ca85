//! Features of a text for the fuzzy matcher: words, pairs of words, and short runs of characters,
//! each with a weight.
//!
//! Words of scripts with spaces give themselves, their pairs and their triples of characters, the
//! edges of the word included. Scripts without spaces, and Korean, whose spaces come and go, give
//! single characters, pairs and triples; white space within them does not matter.

use std::ops::Range;

use crate::script::Class;

use super::common;

/// One feature of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Feature {
    /// Identity; features of different kinds never share one but by accident of hashing.
    pub(crate) hash: u64,
    /// Weight, before its rarity.
    pub(crate) weight: f32,
}

/// A part of a text: its range among the retained characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    kind: Kind,
    range: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A word of a script with spaces.
    Word,
    /// A run of scripts without spaces, or of Korean.
    Run,
    /// An emoji or a sign.
    Symbol,
}

impl Kind {
    fn of(class: Class) -> Option<Self> {
        match class {
            Class::Word => Some(Self::Word),
            Class::Hangul | Class::Unspaced => Some(Self::Run),
            Class::Symbol | Class::Space => None,
        }
    }
}

/// Weight of function words and particles relative to other words.
const COMMON: f32 = 0.5;
const WORD: f32 = 1.0;
const WORD_PAIR: f32 = 0.5;
const WORD_TRIPLE: f32 = 0.55;
const SYMBOL: f32 = 0.5;

/// Weights of one, two and three characters of a script without spaces.
const HAN: [f32; 3] = [0.45, 1.0, 0.6];
const KANA: [f32; 3] = [0.2, 0.7, 0.8];
const HANGUL: [f32; 3] = [0.3, 1.0, 0.7];
/// Weights for Thai, Lao, Khmer, Myanmar: alphabets.
const ALPHABET: [f32; 3] = [0.1, 0.55, 0.75];

/// Marks the edge of a word among its characters.
const EDGE: char = '\u{1}';
/// Separates the two words of a pair.
const BETWEEN: char = '\u{2}';

/// Splits texts into features; reuses its buffers.
#[derive(Debug, Default)]
pub(crate) struct Extractor {
    /// Meaningful characters of the text: no white space, no punctuation.
    pub(crate) chars: Vec<char>,
    pieces: Vec<Piece>,
    common: Vec<bool>,
    /// Features of the text, each once, after [`Self::name`].
    pub(crate) features: Vec<Feature>,
}

impl Extractor {
    /// Splits `folded` and computes its features.
    pub(crate) fn extract(&mut self, folded: &str) {
        self.split(folded);
        self.name();
    }

    /// Splits `folded` into words, runs, and meaningful symbols. It is folded by
    /// [`fold_alike`](crate::fold::alike::fold_alike), as the common strings are.
    pub(crate) fn split(&mut self, folded: &str) {
        self.chars.clear();
        self.pieces.clear();
        let mut open = None;
        for c in folded.chars() {
            let class = Class::of(c);
            let silent = match class {
                // don't, dont
                Class::Symbol => c == '\'' && open == Some(Kind::Word),
                // Writers of scripts without spaces put them anywhere or nowhere.
                Class::Space => open == Some(Kind::Run),
                _ => false,
            };
            if silent {
                continue;
            }
            let kind = Kind::of(class);
            if let Some(kind) = kind {
                self.keep(c, kind, open == Some(kind));
            } else if is_telling(c) {
                self.keep(c, Kind::Symbol, false);
            }
            open = kind;
        }
    }

    /// Adds a character, to the previous piece if it `continues` that.
    fn keep(&mut self, c: char, kind: Kind, continues: bool) {
        let start = self.chars.len();
        self.chars.push(c);
        match self.pieces.last_mut() {
            Some(piece) if continues => piece.range.end += 1,
            _ => self.pieces.push(Piece { kind, range: start..start + 1 }),
        }
    }

    /// Returns the words of scripts with spaces.
    pub(crate) fn words(&self) -> impl Iterator<Item = &[char]> {
        let words = self.pieces.iter().filter(|piece| piece.kind == Kind::Word);
        words.map(|word| &self.chars[word.range.clone()])
    }

    /// Returns the share of characters in runs of scripts without spaces, or of Korean.
    #[expect(clippy::cast_precision_loss, reason = "lengths of chat messages")]
    pub(crate) fn unspaced_share(&self) -> f32 {
        let runs = self.pieces.iter().filter(|piece| piece.kind == Kind::Run);
        let unspaced: usize = runs.map(|run| run.range.len()).sum();
        unspaced as f32 / self.chars.len().max(1) as f32
    }

    /// Returns the number of characters that are part of no function word, particle, polite form or
    /// question word.
    pub(crate) fn telling(&mut self) -> usize {
        let mut count = 0;
        for piece in &self.pieces {
            let chars = &self.chars[piece.range.clone()];
            count += match piece.kind {
                Kind::Word if common::is_common_word(word_hash(chars)) => 0,
                Kind::Word => chars.len(),
                Kind::Run => {
                    common::mark(chars, &mut self.common);
                    self.common.iter().filter(|common| !**common).count()
                }
                Kind::Symbol => 0,
            };
        }
        count
    }

    /// Replaces words by their corrections by `correct`; returns whether there was any.
    pub(crate) fn respell<'a>(&mut self, correct: impl Fn(&[char]) -> Option<&'a str>) -> bool {
        let mut changed = false;
        for piece in &mut self.pieces {
            if piece.kind == Kind::Word
                && let Some(word) = correct(&self.chars[piece.range.clone()])
            {
                let start = self.chars.len();
                self.chars.extend(word.chars());
                piece.range = start..self.chars.len();
                changed = true;
            }
        }
        changed
    }

    /// Returns the pieces with a space between each two.
    pub(crate) fn spelled(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            if !text.is_empty() {
                text.push(' ');
            }
            text.extend(&self.chars[piece.range.clone()]);
        }
        text
    }

    /// Computes the features of the pieces.
    pub(crate) fn name(&mut self) {
        self.features.clear();
        let mut previous = None;
        for piece in &self.pieces {
            let chars = &self.chars[piece.range.clone()];
            match piece.kind {
                Kind::Word => {
                    let word = push_word(&mut self.features, chars);
                    if let Some(before) = previous {
                        self.features.push(pair(before, word));
                    }
                    previous = Some(word);
                }
                Kind::Run => {
                    common::mark(chars, &mut self.common);
                    push_grams(&mut self.features, chars, &self.common);
                }
                Kind::Symbol => {
                    let hash = mix(SEED, chars[0]);
                    self.features.push(Feature { hash, weight: SYMBOL });
                }
            }
        }
        self.features.sort_unstable_by_key(|feature| feature.hash);
        self.features.dedup_by_key(|feature| feature.hash);
    }
}

/// Returns the hash of a word's feature.
pub(crate) fn word_hash(word: &[char]) -> u64 {
    mix(hash_of(word), EDGE)
}

/// Pushes a word and its triples; returns the hash of the word, and whether it is common.
fn push_word(features: &mut Vec<Feature>, word: &[char]) -> (u64, bool) {
    let hash = word_hash(word);
    let is_common = common::is_common_word(hash);
    // A triple of a function word is another feature than the same one of a rare word.
    let (factor, kind) = if is_common { (COMMON, BETWEEN) } else { (1.0, EDGE) };
    features.push(Feature { hash, weight: WORD * factor });
    let padded = |at: usize| at.checked_sub(1).and_then(|at| word.get(at)).copied().unwrap_or(EDGE);
    for at in 0..word.len() {
        let triple = [padded(at), padded(at + 1), padded(at + 2)];
        features.push(Feature { hash: mix(hash_of(&triple), kind), weight: WORD_TRIPLE * factor });
    }
    (hash, is_common)
}

/// Returns the feature of two adjacent words.
fn pair(first: (u64, bool), second: (u64, bool)) -> Feature {
    let factor = if first.1 && second.1 { COMMON } else { 1.0 };
    Feature { hash: mix(mix(first.0, BETWEEN), second.0), weight: WORD_PAIR * factor }
}

/// Pushes the single characters, pairs and triples of a run.
fn push_grams(features: &mut Vec<Feature>, run: &[char], common: &[bool]) {
    for at in 0..run.len() {
        let mut hash = SEED;
        let mut is_common = true;
        let weights = gram_weights(run[at]);
        for ((&c, &common), weight) in run[at..].iter().zip(&common[at..]).zip(weights) {
            hash = mix(hash, c);
            is_common &= common;
            features.push(Feature { hash, weight: weight * if is_common { COMMON } else { 1.0 } });
        }
    }
}

/// Returns whether a symbol is meaningful: emoji and signs are, punctuation is not.
fn is_telling(c: char) -> bool {
    matches!(c, '\u{20a0}'..='\u{20cf}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' | '$')
        && c != '\u{22ef}'
}

/// Returns the weights of the grams that begin with a character.
fn gram_weights(first: char) -> [f32; 3] {
    match first {
        '\u{3041}'..='\u{30ff}' => KANA,
        '\u{ac00}'..='\u{d7a3}' => HANGUL,
        '\u{0e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => ALPHABET,
        _ => HAN,
    }
}

const SEED: u64 = 0x9ae1_6a3b_2f90_404f;

fn hash_of(chars: &[char]) -> u64 {
    chars.iter().fold(SEED, |hash, &c| mix(hash, c))
}

trait Bits {
    fn bits(self) -> u64;
}

impl Bits for char {
    fn bits(self) -> u64 {
        u64::from(self)
    }
}

impl Bits for u64 {
    fn bits(self) -> u64 {
        self
    }
}

/// Computes one step of a multiplicative hash.
#[inline]
fn mix(hash: u64, next: impl Bits) -> u64 {
    let product = (hash ^ next.bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 29
}
