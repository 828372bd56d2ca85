//! The unigram tokenizer: cuts a text into those known pieces whose scores add up to the most
//! (Kudo 2018, the decoding of `SentencePiece`'s unigram models).

use tantivy::directory::OwnedBytes;
use yada::DoubleArray;
use yada::builder::DoubleArrayBuilder;

use super::ModelError;
use crate::script::Class;

/// Character for a space, and for the beginning of a text, as in `SentencePiece`.
pub(super) const SPACE: char = '\u{2581}';

/// Penalty of an unknown character below the worst piece; `SentencePiece`'s value.
const UNKNOWN_PENALTY: f32 = 10.0;

/// A vocabulary with the score of every piece (the logarithm of how frequent it is).
pub(super) struct Pieces {
    trie: DoubleArray<OwnedBytes>,
    /// Scores of four bytes each, little-endian.
    scores: OwnedBytes,
    unknown: f32,
}

/// Best segmentation up to a position of the text.
#[derive(Clone, Copy)]
struct Arrival {
    score: f64,
    from: usize,
    piece: Option<u32>,
}

const NOWHERE: Arrival = Arrival { score: f64::NEG_INFINITY, from: 0, piece: None };

impl Pieces {
    /// Creates the vocabulary from a trie made by [`trie`] and one score a piece.
    pub(super) fn new(trie: OwnedBytes, scores: OwnedBytes) -> Result<Self, ModelError> {
        let trie = DoubleArray::new(trie)
            .map_err(|_| ModelError::damaged("pieces", "it is no valid trie"))?;
        let worst =
            scores.as_chunks().0.iter().copied().map(f32::from_le_bytes).fold(0.0, f32::min);
        let unknown = worst - UNKNOWN_PENALTY;
        Ok(Self { trie, scores, unknown })
    }

    /// Returns the pieces of `text` in order; `None` for a character that no piece has. Nothing if
    /// the vocabulary does not know most of the text: what would be left of any two such texts is
    /// much the same, whatever they mean.
    pub(super) fn cut(&self, text: &str) -> Vec<Option<u32>> {
        let mut arrivals = vec![NOWHERE; text.len() + 1];
        arrivals[0].score = 0.0;
        for (place, c) in text.char_indices() {
            self.leave(&mut arrivals, text, place, c.len_utf8());
        }
        let mut cut = Vec::new();
        let mut known = Coverage::default();
        let mut place = text.len();
        while place > 0 {
            let Arrival { from, piece, .. } = arrivals[place];
            known.add(&text[from..place], piece.is_some());
            cut.push(piece);
            place = from;
        }
        cut.reverse();
        if known.suffices() { cut } else { Vec::new() }
    }

    /// Extends the segmentation at `place`, where a character of `width` bytes is, by every piece.
    fn leave(&self, arrivals: &mut [Arrival], text: &str, place: usize, width: usize) {
        let here = arrivals[place].score;
        let mut known = false;
        for (piece, length) in self.trie.common_prefix_search(&text[place..]) {
            let score = self.scores.as_chunks().0.get(piece as usize).copied();
            let score = score.map_or(self.unknown, f32::from_le_bytes);
            arrive(arrivals, place, place + length, here + f64::from(score), Some(piece));
            known |= length == width;
        }
        if !known {
            arrive(arrivals, place, place + width, here + f64::from(self.unknown), None);
        }
    }
}

/// Share of a text that is in pieces with a meaning.
#[derive(Default)]
struct Coverage {
    letters: usize,
    known_letters: usize,
    /// A character that is no space is in a piece.
    any: bool,
}

impl Coverage {
    /// Adds a part of a text: a piece, or a character that is in none.
    fn add(&mut self, part: &str, is_piece: bool) {
        let letters = part.chars().filter(|c| c.is_alphabetic()).count();
        self.letters += letters;
        if is_piece {
            self.any |= part.chars().any(|c| c != SPACE);
            // Vocabularies have single letters of many alphabets, which mean nothing.
            let is_meaningful =
                letters > 1 || part.chars().any(|c| Class::of(c).is_substring_script());
            self.known_letters += if is_meaningful { letters } else { 0 };
        }
    }

    fn suffices(&self) -> bool {
        self.any && self.known_letters * 2 >= self.letters
    }
}

/// Records the segmentation up to `to` if it is better; of equals, the longest piece stays.
fn arrive(arrivals: &mut [Arrival], from: usize, to: usize, score: f64, piece: Option<u32>) {
    if score > arrivals[to].score {
        arrivals[to] = Arrival { score, from, piece };
    }
}

/// Builds a trie of `pieces`, each with its number, as [`Pieces::new`] takes it. `None` if it would
/// be too large, or if a piece is empty, a duplicate or has a zero byte.
pub(super) fn trie(mut pieces: Vec<(&str, u32)>) -> Option<Vec<u8>> {
    pieces.sort_unstable();
    DoubleArrayBuilder::build(&pieces).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_mostly_unknown_have_no_pieces() {
        let list = ["▁", "w", "wifi", "α", "猫", "1", "👍"];
        let bytes = trie(list.into_iter().zip(0..).collect()).unwrap();
        let scores = super::super::npy::to_bytes(&[-1.0; 7]);
        let pieces = Pieces::new(OwnedBytes::new(bytes), OwnedBytes::new(scores)).unwrap();
        for text in ["▁ဆိုင်", "▁ok▁ဆိုင်", "▁αβ", "▁αα", "▁ဆိုင်▁1111111", "▁w▁w", "▁?", "▁", ""]
        {
            assert!(pieces.cut(text).is_empty(), "{text}");
        }
        for text in ["▁wifi", "▁wifi▁αβ", "▁猫", "▁猫犬", "▁11", "▁👍👌"] {
            assert!(!pieces.cut(text).is_empty(), "{text}");
        }
    }
}
