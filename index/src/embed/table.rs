//! Static tables of vectors: the vector of a text is the sum of its pieces' vectors. They are
//! distilled from the full model (`index/examples/distill`), and used without unpacking.
//!
//! A table's file is the signature [`SIGNATURE`]; four numbers of 32 bits: pieces, numbers a
//! vector, bytes of the trie, and 0; the trie of the pieces; their scores; the scale of every
//! vector (both in single precision); and the vectors, half a byte a number, the even number in the
//! low half: the number 8 is 0, and a step is worth the scale. All little-endian.

use std::fmt;

use tantivy::directory::OwnedBytes;

use super::{Embedder, ModelError, Tokenizer, npy};

const SIGNATURE: &[u8; 16] = b"chatkeep table 1";

/// Name of the file in errors.
const PART: &str = "the table";

/// Half byte that stands for 0.
const ZERO: f32 = 8.0;

/// Largest absolute number of a half byte.
const LARGEST: f32 = 7.0;

/// Static vectors of pieces.
pub struct Table {
    name: &'static str,
    tokenizer: Tokenizer,
    dimensions: usize,
    scales: OwnedBytes,
    vectors: OwnedBytes,
}

impl Table {
    /// Opens the table in `file`, as [`Table::file`] makes it.
    pub fn new(name: &'static str, mut file: OwnedBytes) -> Result<Self, ModelError> {
        let mut take = |length: usize| -> Result<OwnedBytes, ModelError> {
            if length > file.len() {
                return Err(ModelError::damaged(PART, "it is too short"));
            }
            let rest = file.split_off(length);
            Ok(std::mem::replace(&mut file, rest))
        };
        if take(SIGNATURE.len())?.as_slice() != SIGNATURE {
            return Err(ModelError::damaged(PART, "it is no table"));
        }
        let mut header = take(16)?;
        let [pieces, dimensions, trie, _] = [(); 4].map(|()| header.read_u32() as usize);
        let (trie, scores, scales) = (take(trie)?, take(pieces * 4)?, take(pieces * 4)?);
        let vectors = take(pieces * dimensions / 2)?;
        if dimensions == 0 || !dimensions.is_multiple_of(2) {
            return Err(ModelError::damaged(PART, "its vectors have no even length"));
        }
        let tokenizer = Tokenizer::from_files(trie, scores)?;
        Ok(Self { name, tokenizer, dimensions, scales, vectors })
    }

    /// Builds the file of a table from its vocabulary and the vectors of its pieces, one after
    /// another.
    pub fn file(vocabulary: &[(String, f32)], vectors: &[f32]) -> Result<Vec<u8>, ModelError> {
        let dimensions = vectors.len() / vocabulary.len().max(1);
        let (trie, scores) = Tokenizer::files(vocabulary)?;
        let mut file = SIGNATURE.to_vec();
        for number in [vocabulary.len(), dimensions, trie.len(), 0] {
            let number = u32::try_from(number);
            let number = number.map_err(|_| ModelError::damaged(PART, "it is too large"))?;
            file.extend(number.to_le_bytes());
        }
        file.extend(trie);
        file.extend(scores);
        let rows = vectors.chunks_exact(dimensions.max(1));
        let scales: Vec<f32> = rows.clone().map(best_scale).collect();
        file.extend(npy::to_bytes(&scales));
        for (row, &scale) in rows.zip(&scales) {
            file.extend(
                row.as_chunks::<2>()
                    .0
                    .iter()
                    .map(|&[low, high]| half_byte(low, scale) | half_byte(high, scale) << 4),
            );
        }
        Ok(file)
    }

    /// Adds the vectors of the pieces of `text` to `sum`.
    fn add(&self, text: &str, sum: &mut [f32]) {
        for token in self.tokenizer.tokens(text) {
            let token = token as usize;
            let width = self.dimensions / 2;
            let scale = self.scales.as_chunks().0.get(token).copied().map(f32::from_le_bytes);
            let row = self.vectors.get(token * width..(token + 1) * width);
            let (Some(scale), Some(row)) = (scale, row) else { continue };
            for ([low, high], &byte) in sum.as_chunks_mut::<2>().0.iter_mut().zip(row) {
                *low += (f32::from(byte & 15) - ZERO) * scale;
                *high += (f32::from(byte >> 4) - ZERO) * scale;
            }
        }
    }
}

impl Embedder for Table {
    fn name(&self) -> &str {
        self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Vec<f32> {
        let mut embedded = vec![0.0; texts.len() * self.dimensions];
        for (text, vector) in texts.iter().zip(embedded.chunks_exact_mut(self.dimensions)) {
            self.add(text, vector);
            super::normalize(vector);
        }
        embedded
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns the scale that loses the least of `row`: large numbers are cut off, small ones rounded.
fn best_scale(row: &[f32]) -> f32 {
    let largest = row.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let scales = (4_u8..=10).map(|part| largest / LARGEST * f32::from(part) / 10.0);
    let lost = |scale: f32| -> f32 {
        row.iter().map(|&number| (number - steps(number, scale) * scale).powi(2)).sum()
    };
    scales.min_by(|&a, &b| lost(a).total_cmp(&lost(b))).unwrap_or_default()
}

/// Returns the number in steps of `scale`, within the range of half a byte.
fn steps(number: f32, scale: f32) -> f32 {
    if scale > 0.0 { (number / scale).round().clamp(-LARGEST - 1.0, LARGEST) } else { 0.0 }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 15 by construction"
)]
fn half_byte(number: f32, scale: f32) -> u8 {
    (steps(number, scale) + ZERO) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<u8> {
        let vocabulary =
            [("▁", -1.0), ("猫", -2.0), ("犬", -2.0)].map(|(text, score)| (text.to_owned(), score));
        Table::file(&vocabulary, &[0.0, 0.0, 0.7, -0.1, 0.1, 0.7]).unwrap()
    }

    #[test]
    fn a_text_is_the_sum_of_its_pieces() {
        let table = Table::new("test", OwnedBytes::new(table())).unwrap();
        assert_eq!((table.name(), table.dimensions()), ("test", 2));
        let vectors = table.embed(&["猫", "犬犬", "猫犬", "", "?"]);
        let expected = [0.99, -0.14, 0.14, 0.99, 0.8, 0.6, 0.0, 0.0, 0.0, 0.0];
        for (number, expected) in vectors.iter().zip(expected) {
            assert!((number - expected).abs() < 0.01, "{vectors:?}");
        }
    }

    #[test]
    fn damaged_tables_are_refused() {
        let table = table();
        for end in [0, 20, 40, table.len() - 1] {
            assert!(Table::new("test", OwnedBytes::new(table[..end].to_vec())).is_err(), "{end}");
        }
    }
}
