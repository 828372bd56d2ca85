//! Texts that rules must not answer, as vectors.
//!
//! A text has a row of the classifier as if it alone were one more rule: with the inverse matrix of
//! its rules that is Sherman and Morrison's formula. The same formula gives what the text takes from
//! the rule that it is compared with: both then compete for a message as two rules do, and the
//! scores of all rules stay as they are.

use super::Calibration;
use super::classifier::{RIDGE, padded};
use super::rows::{Factor, Rows};
use super::score::nearness;
use super::vectors::RuleGroups;
use crate::answer::{TextsOfRules, matcher_of};
use crate::keyword::{KeywordError, KeywordMatcher};

/// Texts that rules must not answer.
pub(super) struct ExcludedVectors {
    of_rules: TextsOfRules,
    phrases: KeywordMatcher,
    /// Vectors of the texts.
    vectors: Rows,
    /// Rows of the classifier for each rule's texts, in the order of `of_rules`.
    rows: Rows,
    /// Product of each of these rows with the centroid of its rule, by that of a whole rule.
    overlaps: Vec<f32>,
}

/// A message, and what is known of its similarities.
pub(super) struct MessageSums<'a> {
    pub(super) folded: &'a str,
    pub(super) message: &'a Factor,
    /// Lexical scores of the texts.
    pub(super) texts: &'a [f32],
    pub(super) calibration: &'a Calibration,
}

/// Batch size of the classifier, in texts.
const BATCH: usize = 256;

impl ExcludedVectors {
    /// Prepares texts of these vectors, which are not for rules of these groups.
    pub(super) fn build(
        texts: &[String],
        vectors: Rows,
        of_rules: TextsOfRules,
        groups: &RuleGroups,
    ) -> Result<Self, KeywordError> {
        let dimensions = vectors.dimensions();
        let mut this = Self {
            phrases: matcher_of(texts)?,
            vectors: vectors.shrunk(),
            rows: Rows::new(dimensions, 0),
            overlaps: Vec::new(),
            of_rules,
        };
        let pairs: Vec<(u32, u32)> = this.of_rules.pairs().collect();
        let batches =
            pairs.chunk_by(|left, right| groups.group_of(left.0) == groups.group_of(right.0));
        batches.flat_map(|pairs| pairs.chunks(BATCH)).for_each(|pairs| this.add(pairs, groups));
        this.rows = this.rows.shrunk();
        Ok(this)
    }

    /// Adds texts with their rules, which are of one group.
    fn add(&mut self, pairs: &[(u32, u32)], groups: &RuleGroups) {
        let Some(&(first, _)) = pairs.first() else { return };
        let dimensions = self.vectors.dimensions();
        let width = padded(dimensions);
        let mut texts = vec![0.0; pairs.len() * width];
        for (place, &(_, text)) in texts.chunks_exact_mut(width).zip(pairs) {
            self.vectors.add_to(text as usize, &mut place[..dimensions]);
        }
        let mut rows = groups.rows_beside(groups.group_of(first), &texts);
        let places = rows.chunks_exact_mut(width).zip(texts.chunks_exact(width));
        for ((row, text), &(rule, _)) in places.zip(pairs) {
            self.overlaps.push(dot(row, groups.centroid(rule)) / RIDGE);
            let whole = 1.0 + dot(row, text) / RIDGE;
            for number in row.iter_mut() {
                *number /= whole;
            }
            self.rows.push(&row[..dimensions]);
        }
    }

    /// Returns whether a rule of that weighted sum and lexical score must not answer a message: one
    /// of its texts is the message, or at least as near to it.
    pub(super) fn exclude(&self, (rule, near): (u32, (f32, f32)), sums: &MessageSums<'_>) -> bool {
        let mut texts = self.of_rules.range(rule).zip(self.of_rules.of(rule));
        self.is_whole(rule, sums.folded)
            || texts.any(|(at, &text)| self.is_nearer((at, text), near, sums))
    }

    /// Returns whether a message is a text that the rule must not answer.
    pub(super) fn is_whole(&self, rule: u32, folded: &str) -> bool {
        let texts = self.of_rules.of(rule);
        let whole = || self.phrases.exact(folded).is_some_and(|hit| texts.contains(&hit.rule));
        !texts.is_empty() && whole()
    }

    fn is_nearer(
        &self,
        (at, text): (usize, u32),
        (sum, lexical): (f32, f32),
        sums: &MessageSums<'_>,
    ) -> bool {
        let MessageSums { message, calibration, .. } = *sums;
        let own_lexical = sums.lexical_of(text);
        let cosine = self.vectors.product(message, text as usize);
        let classified = calibration.classifier * self.rows.product(message, at);
        let own = calibration.nearest * cosine.max(0.0)
            + calibration.centroid * cosine
            + classified
            + calibration.lexical * own_lexical;
        let rest = sum - classified * self.overlaps[at];
        nearness(own, own_lexical) >= nearness(rest, lexical)
    }

    /// Raises the lexical scores of those texts that a message has in it; `share` is that of so many
    /// characters.
    pub(super) fn raise(&self, folded: &str, scores: &mut [f32], share: impl Fn(usize) -> f32) {
        self.phrases.contains_where(folded, |hit| {
            let score = &mut scores[hit.rule as usize];
            *score = score.max(share(hit.len));
            false
        });
    }

    /// Copies the vector of a folded text, if it is one of them.
    pub(super) fn copy(&self, text: &str, vector: &mut [f32]) -> bool {
        let hit = self.phrases.exact(text);
        if let Some(hit) = hit {
            vector.fill(0.0);
            self.vectors.add_to(hit.rule as usize, vector);
        }
        hit.is_some()
    }

    /// Returns the memory in bytes.
    pub(super) fn size(&self) -> usize {
        let rows = self.vectors.size() + self.rows.size() + size_of_val(self.overlaps.as_slice());
        self.of_rules.size() + self.phrases.size() + rows
    }
}

impl MessageSums<'_> {
    fn lexical_of(&self, text: u32) -> f32 {
        self.texts.get(text as usize).copied().unwrap_or_default()
    }
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[cfg(test)]
mod tests {
    use super::super::classifier::Gram;
    use super::super::tests::numbers;
    use super::*;
    use crate::matrix::PANEL;

    #[test]
    fn a_text_and_its_rule_compete_as_two_rules_do() {
        let width = 2 * PANEL;
        let (all, message) = (numbers(2, 30 * width), numbers(7, width));
        let (rules, text) = all.split_at(29 * width);
        let background = Gram::of_background(&numbers(1, 5 * width), width);
        let both = background.classifier(&all);
        let expected = [text, &rules[..width]].map(|centroid| dot(&both.rows(centroid), &message));
        let alone = background.classifier(rules);
        let raw = alone.rows(text);
        let own = dot(&raw, &message) / (1.0 + dot(&raw, text) / RIDGE);
        let overlap = dot(&raw, &rules[..width]) / RIDGE;
        let rest = dot(&alone.rows(&rules[..width]), &message) - own * overlap;
        for (number, expected) in [own, rest].iter().zip(&expected) {
            assert!((number - expected).abs() < 1e-2, "{number} {expected}");
        }
    }
}
