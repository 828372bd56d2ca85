//! The space that messages and phrases are compared in: an embedder, and its background.

use std::fmt;
use std::sync::{Arc, LazyLock};

use super::Calibration;
use super::classifier::Gram;
use crate::answer::thresholds;
use crate::embed::{self, Embedder, normalize};

/// Ordinary chat in the supported languages, written for this: it shows the centre of an embedder's
/// space, and texts that no rule is for.
const BACKGROUND: &str = include_str!("background.txt");

/// An embedder, prepared for matchers. Built once for each embedder and shared by all channels.
///
/// Vectors are taken relative to the mean of the background: sentence embeddings of chat lie
/// together in one corner of their space, and only their differences distinguish meanings.
pub struct SemanticSpace {
    embedder: Arc<dyn Embedder>,
    calibration: Calibration,
    mean: Vec<f32>,
    background: Gram,
}

impl SemanticSpace {
    /// Returns the space of the built-in embedder.
    pub fn built_in() -> Arc<Self> {
        static SPACE: LazyLock<Arc<SemanticSpace>> = LazyLock::new(|| {
            Arc::new(SemanticSpace::new(embed::built_in(), thresholds::SEMANTIC_BUILTIN))
        });
        Arc::clone(&SPACE)
    }

    /// Embeds the background with `embedder`, which `calibration` was measured with.
    pub fn new(embedder: Arc<dyn Embedder>, calibration: Calibration) -> Self {
        let dimensions = embedder.dimensions();
        let texts: Vec<&str> = BACKGROUND.lines().filter(|line| !line.is_empty()).collect();
        let mut vectors = embedder.embed(&texts);
        let mean = mean(&vectors, dimensions);
        vectors.chunks_exact_mut(dimensions).for_each(|vector| centre(vector, &mean));
        let background = Gram::of_background(&vectors, dimensions);
        Self { embedder, calibration, mean, background }
    }

    /// Returns the embedder's name.
    pub fn name(&self) -> &str {
        self.embedder.name()
    }

    /// Returns the calibration of scores.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    pub(super) fn dimensions(&self) -> usize {
        self.mean.len()
    }

    pub(super) fn background(&self) -> &Gram {
        &self.background
    }

    /// Returns one vector of length 1 for each text, relative to the mean; zeros for a text without
    /// known content.
    pub(super) fn embed(&self, texts: &[&str]) -> Vec<f32> {
        let mut vectors = self.embedder.embed(texts);
        for vector in vectors.chunks_exact_mut(self.dimensions()) {
            if vector.iter().any(|&number| number != 0.0) {
                centre(vector, &self.mean);
            }
        }
        vectors
    }
}

impl fmt::Debug for SemanticSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemanticSpace").field("embedder", &self.embedder).finish_non_exhaustive()
    }
}

/// Returns the mean of the vectors that are not zero.
fn mean(vectors: &[f32], dimensions: usize) -> Vec<f32> {
    let mut mean = vec![0.0; dimensions];
    let mut count = 0.0_f32;
    for vector in vectors.chunks_exact(dimensions) {
        if vector.iter().any(|&number| number != 0.0) {
            mean.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number);
            count += 1.0;
        }
    }
    for sum in &mut mean {
        *sum /= count.max(1.0);
    }
    mean
}

fn centre(vector: &mut [f32], mean: &[f32]) {
    vector.iter_mut().zip(mean).for_each(|(number, mean)| *number -= mean);
    normalize(vector);
}
