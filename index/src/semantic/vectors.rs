//! The vectors of a channel's rules, and how near a message is to them.

use super::Calibration;
use super::rows::{Factor, Rows};
use super::space::{SemanticSpace, normalize};

/// The vectors of all phrases and rules.
pub(super) struct RuleVectors {
    /// One row a phrase.
    phrases: Rows,
    /// One row a rule: its centroid and its row of the classifier in one, by their weights. The
    /// product with a message's vector is both scores at once.
    rules: Rows,
    /// Where the phrases of each rule begin, and where the last ones end.
    starts: Vec<u32>,
}

impl RuleVectors {
    /// From the vectors of phrases, the first ones those of the first rule up to `starts[1]`.
    pub(super) fn build(phrases: Rows, starts: Vec<u32>, space: &SemanticSpace) -> Self {
        let dimensions = space.dimensions();
        let centroids = centroids(&phrases, &starts, dimensions);
        let classifier = space.background().classifier(&centroids);
        let Calibration { centroid: share, classifier: row_share, .. } = *space.calibration();
        let mut rules = Rows::new(dimensions);
        let mut row = vec![0.0; dimensions];
        for centroid in centroids.chunks_exact(dimensions) {
            row.iter_mut().zip(centroid).for_each(|(row, number)| *row = share * number);
            classifier.add_row(centroid, row_share, &mut row);
            rules.push(&row);
        }
        Self { phrases: phrases.shrunk(), rules: rules.without_prefixes(), starts }
    }

    /// The weighted scores of a message's vector with each rule: exact but for `nearest`, which is
    /// judged by the beginnings of the vectors.
    pub(super) fn first_pass(&self, message: &Factor, nearest: f32) -> Vec<f32> {
        let mut scores = self.rules.products(message);
        if nearest == 0.0 {
            return scores;
        }
        let similarities = self.phrases.prefix_products(message);
        for (score, phrases) in scores.iter_mut().zip(self.starts.windows(2)) {
            let similarities = &similarities[phrases[0] as usize..phrases[1] as usize];
            *score += nearest * similarities.iter().copied().fold(0.0, f32::max);
        }
        scores
    }

    /// The weighted score of a message's vector with one rule.
    pub(super) fn score(&self, message: &Factor, rule: usize, nearest: f32) -> f32 {
        let phrases = self.starts[rule] as usize..self.starts[rule + 1] as usize;
        let similarity =
            phrases.map(|phrase| self.phrases.product(message, phrase)).fold(0.0, f32::max);
        self.rules.product(message, rule) + nearest * similarity
    }

    /// The rule that has a phrase.
    pub(super) fn rule_of(&self, phrase: u32) -> u32 {
        let rule = self.starts.partition_point(|&start| start <= phrase).saturating_sub(1);
        u32::try_from(rule).unwrap_or(u32::MAX)
    }

    /// Copies the vector of `phrase`.
    pub(super) fn copy_phrase(&self, phrase: usize, vector: &mut [f32]) {
        vector.fill(0.0);
        self.phrases.add_to(phrase, vector);
    }

    /// Bytes held in memory.
    pub(super) fn size(&self) -> usize {
        self.phrases.size() + self.rules.size() + self.starts.len() * size_of::<u32>()
    }
}

/// The mean of each rule's phrases, of length 1.
fn centroids(phrases: &Rows, starts: &[u32], dimensions: usize) -> Vec<f32> {
    let rules = starts.len().saturating_sub(1);
    let mut centroids = vec![0.0; rules * dimensions];
    for (centroid, own) in centroids.chunks_exact_mut(dimensions).zip(starts.windows(2)) {
        (own[0]..own[1]).for_each(|phrase| phrases.add_to(phrase as usize, centroid));
        normalize(centroid);
    }
    centroids
}
