//! Sentence embeddings: texts as vectors that are near each other when the texts mean the same.

use std::fmt;

/// Turns texts into vectors.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// What it is called in status and logs.
    fn name(&self) -> &str;

    /// Numbers in a vector.
    fn dimensions(&self) -> usize;

    /// One vector of length 1 a text, one after another. A text without anything to go by gives
    /// zeros.
    fn embed(&self, texts: &[&str]) -> Vec<f32>;
}
