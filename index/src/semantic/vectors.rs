//! Vectors of a channel's rules, and their similarity with a message.

use std::borrow::Cow;

use super::Calibration;
use super::classifier::{Classifier, padded};
use super::rows::{Factor, Rows};
use super::space::SemanticSpace;
use crate::embed::normalize;

/// Length of the prefix of a rule's vector that the first pass reads.
const PREFIX: usize = 128;
/// Batch size of the classifier, in rules.
const BATCH: usize = 256;

/// The vectors of all phrases and rules.
pub(super) struct RuleVectors {
    /// Vectors of phrases, one row each.
    phrases: Rows,
    /// Vectors of rules, one row each: centroid and row of the classifier in one, by their weights.
    /// The product with a message's vector is both scores at once.
    rules: Rows,
    /// Start of the phrases of each rule, and end of the last ones.
    starts: Vec<u32>,
}

impl RuleVectors {
    /// Builds the vectors of rules from those of phrases, the first ones those of the first rule up
    /// to `starts[1]`. Each rule is separated from those of its own group alone; `groups` has the
    /// group of each. The groups are returned for texts that are compared with the rules.
    pub(super) fn build(
        phrases: Rows,
        starts: Vec<u32>,
        groups: Vec<usize>,
        space: &SemanticSpace,
    ) -> (Self, RuleGroups) {
        let dimensions = space.dimensions();
        let width = padded(dimensions);
        let centroids = centroids(&phrases, &starts, width);
        let Calibration { centroid: share, classifier: row_share, .. } = *space.calibration();
        let groups = RuleGroups::of(centroids, groups, space);
        let mut rules = Rows::new(dimensions, PREFIX);
        let batches = groups.centroids.chunks(BATCH * width).zip(groups.of_rules.chunks(BATCH));
        for (centroids, of_rules) in batches {
            let mut rows = groups.rows(centroids, of_rules);
            for (number, centroid) in rows.iter_mut().zip(centroids) {
                *number = share * centroid + row_share * *number;
            }
            rows.chunks_exact(width).for_each(|row| rules.push(&row[..dimensions]));
        }
        (Self { phrases: phrases.shrunk(), rules: rules.shrunk(), starts }, groups)
    }

    /// Returns approximate weighted scores of a message's vector with each rule: by the prefixes of
    /// the rules' vectors, and without the nearest phrases, which are near their centroids.
    pub(super) fn first_pass(&self, message: &Factor) -> Vec<f32> {
        self.rules.prefix_products(message)
    }

    /// Returns the weighted score of a message's vector with one rule.
    pub(super) fn score(&self, message: &Factor, rule: usize, nearest: f32) -> f32 {
        let score = self.rules.product(message, rule);
        if nearest == 0.0 {
            return score;
        }
        let phrases = self.starts[rule] as usize..self.starts[rule + 1] as usize;
        let similarities = phrases.map(|phrase| self.phrases.product(message, phrase));
        score + nearest * similarities.fold(0.0, f32::max)
    }

    /// Returns the rule of a phrase.
    pub(super) fn rule_of(&self, phrase: u32) -> u32 {
        let rule = self.starts.partition_point(|&start| start <= phrase).saturating_sub(1);
        u32::try_from(rule).unwrap_or(u32::MAX)
    }

    /// Copies the vector of `phrase`.
    pub(super) fn copy_phrase(&self, phrase: usize, vector: &mut [f32]) {
        vector.fill(0.0);
        self.phrases.add_to(phrase, vector);
    }

    /// Returns the memory in bytes.
    pub(super) fn size(&self) -> usize {
        self.phrases.size() + self.rules.size() + self.starts.len() * size_of::<u32>()
    }
}

/// Rules by their groups, with the classifier of each group.
pub(super) struct RuleGroups {
    width: usize,
    /// Centroids of the rules, padded.
    centroids: Vec<f32>,
    /// Group of each rule.
    of_rules: Vec<usize>,
    classifiers: Vec<Classifier>,
}

impl RuleGroups {
    fn of(centroids: Vec<f32>, of_rules: Vec<usize>, space: &SemanticSpace) -> Self {
        let width = padded(space.dimensions());
        let count = of_rules.iter().max().map_or(0, |last| last + 1);
        let classifier = |group| {
            let own = members(&centroids, &of_rules, group, width);
            space.background().classifier(&own)
        };
        let classifiers = (0..count).map(classifier).collect();
        Self { width, centroids, of_rules, classifiers }
    }

    /// Returns the centroid of a rule, padded.
    pub(super) fn centroid(&self, rule: u32) -> &[f32] {
        &self.centroids[rule as usize * self.width..][..self.width]
    }

    /// Returns the group of a rule.
    pub(super) fn group_of(&self, rule: u32) -> usize {
        self.of_rules[rule as usize]
    }

    /// Returns the rows of texts with these centroids, padded, by the classifier of a group that they
    /// are no part of.
    pub(super) fn rows_beside(&self, group: usize, centroids: &[f32]) -> Vec<f32> {
        self.classifiers[group].rows(centroids)
    }

    /// Returns the rows of rules with these centroids, which are of these groups.
    fn rows(&self, centroids: &[f32], groups: &[usize]) -> Vec<f32> {
        let mut all = vec![0.0; centroids.len()];
        for (group, classifier) in self.classifiers.iter().enumerate() {
            let rows = classifier.rows(&members(centroids, groups, group, self.width));
            let places = all.chunks_exact_mut(self.width).zip(groups);
            let places = places.filter(|&(_, of)| *of == group);
            for ((place, _), row) in places.zip(rows.chunks_exact(self.width)) {
                place.copy_from_slice(row);
            }
        }
        all
    }
}

/// Returns the rows of one group.
fn members<'a>(rows: &'a [f32], groups: &[usize], group: usize, width: usize) -> Cow<'a, [f32]> {
    if groups.iter().all(|&of| of == group) {
        return Cow::Borrowed(rows);
    }
    let own = rows.chunks_exact(width).zip(groups).filter(|&(_, of)| *of == group);
    own.flat_map(|(row, _)| row).copied().collect()
}

/// Returns the mean of each rule's phrases, of length 1, padded to `width` numbers.
fn centroids(phrases: &Rows, starts: &[u32], width: usize) -> Vec<f32> {
    let rules = starts.len().saturating_sub(1);
    let mut centroids = vec![0.0; rules * width];
    for (centroid, own) in centroids.chunks_exact_mut(width).zip(starts.windows(2)) {
        (own[0]..own[1]).for_each(|phrase| phrases.add_to(phrase as usize, centroid));
        normalize(centroid);
    }
    centroids
}
