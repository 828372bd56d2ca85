//! The tokenizer of static tables: pieces of folded text.

use std::fmt;

use tantivy::directory::OwnedBytes;

use super::pieces::{self, Pieces, SPACE};
use super::{ModelError, npy};
use crate::fold::fold_cow;

/// Cuts texts into the pieces of a vocabulary.
pub struct Tokenizer {
    pieces: Pieces,
}

impl Tokenizer {
    /// Creates a tokenizer for `vocabulary`: pieces in the form of [`Tokenizer::piece`], each once,
    /// with scores.
    pub fn new(vocabulary: &[(String, f32)]) -> Result<Self, ModelError> {
        let (trie, scores) = Self::files(vocabulary)?;
        Self::from_files(OwnedBytes::new(trie), OwnedBytes::new(scores))
    }

    /// Returns the trie and the scores in their file formats.
    pub(super) fn files(vocabulary: &[(String, f32)]) -> Result<(Vec<u8>, Vec<u8>), ModelError> {
        let list = vocabulary.iter().map(|(piece, _)| piece.as_str()).zip(0..).collect();
        let trie = pieces::trie(list)
            .ok_or_else(|| ModelError::damaged("the vocabulary", "its pieces make no trie"))?;
        let scores: Vec<f32> = vocabulary.iter().map(|&(_, score)| score).collect();
        Ok((trie, npy::to_bytes(&scores)))
    }

    pub(super) fn from_files(trie: OwnedBytes, scores: OwnedBytes) -> Result<Self, ModelError> {
        Ok(Self { pieces: Pieces::new(trie, scores)? })
    }

    /// Returns the piece of a `SentencePiece` vocabulary in folded form: `▁The` is `▁the`. `None`
    /// if nothing is left of it.
    pub fn piece(piece: &str) -> Option<String> {
        let begins = piece.starts_with(SPACE);
        let spaced = piece.replace(SPACE, " ");
        let folded = fold_cow(&spaced).trim().replace(' ', &SPACE.to_string());
        let marked = if begins { format!("{SPACE}{folded}") } else { folded };
        Some(marked).filter(|piece| !piece.is_empty())
    }

    /// Returns the numbers of the pieces of `text` in order; text that is in no piece is left out.
    /// None for a text most of which is.
    pub fn tokens(&self, text: &str) -> Vec<u32> {
        let folded = fold_cow(text);
        if folded.is_empty() {
            return Vec::new();
        }
        let mut marked = String::with_capacity(folded.len() * 2);
        marked.push(SPACE);
        marked.extend(folded.chars().map(|c| if c == ' ' { SPACE } else { c }));
        self.pieces.cut(&marked).into_iter().flatten().collect()
    }
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(vocabulary: &[(&str, f32)], text: &str) -> Vec<String> {
        let vocabulary: Vec<(String, f32)> =
            vocabulary.iter().map(|&(piece, score)| (piece.to_owned(), score)).collect();
        let tokens = Tokenizer::new(&vocabulary).unwrap().tokens(text);
        tokens.into_iter().map(|token| vocabulary[token as usize].0.clone()).collect()
    }

    #[test]
    fn the_best_scores_win_over_the_longest_pieces() {
        let vocabulary =
            [("▁new", -2.0), ("▁n", -3.0), ("ew", -3.0), ("▁york", -3.0), ("er", -9.0)];
        assert_eq!(tokens(&vocabulary, "NEW  York"), ["▁new", "▁york"]);
        assert_eq!(tokens(&vocabulary, "newer"), ["▁new", "er"]);
        let cheap = [("▁new", -7.0), ("▁n", -3.0), ("ew", -3.0)];
        assert_eq!(tokens(&cheap, "new"), ["▁n", "ew"]);
    }

    #[test]
    fn what_no_piece_has_is_left_out() {
        let vocabulary = [("▁", -2.0), ("猫", -3.0)];
        assert_eq!(tokens(&vocabulary, "猫犬猫"), ["▁", "猫", "猫"]);
        assert!(tokens(&vocabulary, " \u{200b} ").is_empty());
    }

    #[test]
    fn pieces_are_folded_as_texts_are() {
        assert_eq!(Tokenizer::piece("▁The").as_deref(), Some("▁the"));
        assert_eq!(Tokenizer::piece("Ｗi▁Fi").as_deref(), Some("wi▁fi"));
        assert_eq!(Tokenizer::piece("\u{200b}"), None);
    }
}
