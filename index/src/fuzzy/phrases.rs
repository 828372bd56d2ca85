//! The phrases of all rules as sets of features with weights by rarity, and the inverted index from
//! features to phrases.

use std::collections::HashMap;
use std::ops::Range;

use super::features::{Extractor, Feature};
use super::hash::Hashed;
use super::words::Vocabulary;
use crate::answer::{Identifiers, RuleText};
use crate::fold::alike::fold_alike;
use crate::fold::strip_marks;

/// Number of rules that a channel is assumed to have beside its own, so that features of all of its
/// few rules still have a weight.
const PRIOR: f32 = 9.0;
/// Summand to the number of rules that have a feature.
const SMOOTHING: f32 = 0.7;
/// Weight of an unknown feature relative to the rarest known one.
const UNKNOWN: f32 = 0.9;

/// The phrases of all rules.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    pub(super) ids: HashMap<u64, u32, Hashed>,
    /// Weight of a feature by id.
    pub(super) weights: Vec<f32>,
    /// Start of the postings of each feature; one more than there are features.
    pub(super) starts: Vec<u32>,
    pub(super) postings: Vec<u32>,
    /// Start of the features, and of the text, of each phrase; one more than there are phrases.
    phrase_starts: Vec<(u32, u32)>,
    pub(super) phrase_features: Vec<u32>,
    pub(super) norms: Vec<f32>,
    /// Characters of the phrases, without spaces and punctuation.
    text: String,
    /// Identifiers of each phrase.
    identifiers: Vec<Identifiers>,
    /// `true` for each rule whose phrases name one thing.
    are_of_one: Vec<bool>,
    /// Rule of each phrase.
    pub(super) rules: Vec<u32>,
    /// Start of the phrases of each rule; one more than there are rules.
    rule_starts: Vec<u32>,
    /// Length of the sum of a rule's phrases, each of length 1.
    centroids: Vec<f32>,
    /// Weight of a feature that no phrase has, before its kind.
    pub(super) unknown: f32,
    pub(super) vocabulary: Vocabulary,
}

impl Phrases {
    pub(super) fn build(rules: &[RuleText<'_>]) -> Self {
        let mut this = Self::default();
        let mut extractor = Extractor::default();
        let mut kinds = Vec::new();
        let mut frequencies: Vec<(u32, u32)> = Vec::new();
        for (rule, text) in (0..).zip(rules) {
            let start = this.rules.len();
            this.rule_starts.push(length(&this.rules));
            for phrase in text.phrases() {
                let folded = fold_alike(phrase);
                extractor.extract(strip_marks(&folded));
                if !extractor.features.is_empty() {
                    this.identifiers.push(Identifiers::of(&folded));
                    this.push(rule, &extractor, &mut kinds, &mut frequencies);
                }
            }
            this.are_of_one.push(!Identifiers::vary(&this.identifiers[start..]));
        }
        this.rule_starts.push(length(&this.rules));
        this.phrase_starts.push((length(&this.phrase_features), bytes(&this.text)));
        this.weigh(rules.len(), &kinds, &frequencies);
        this.link();
        this.sum_rules();
        this.vocabulary.finish();
        this
    }

    fn push(
        &mut self,
        rule: u32,
        extractor: &Extractor,
        kinds: &mut Vec<f32>,
        frequencies: &mut Vec<(u32, u32)>,
    ) {
        self.phrase_starts.push((length(&self.phrase_features), bytes(&self.text)));
        self.rules.push(rule);
        for feature in &extractor.features {
            let next = length(kinds);
            let id = *self.ids.entry(feature.hash).or_insert(next);
            if id == next {
                kinds.push(feature.weight);
                frequencies.push((0, u32::MAX));
            }
            let (count, last) = &mut frequencies[id as usize];
            if *last != rule {
                (*count, *last) = (*count + 1, rule);
            }
            self.phrase_features.push(id);
        }
        let from = self.phrase_features.len() - extractor.features.len();
        self.phrase_features[from..].sort_unstable();
        self.text.extend(&extractor.chars);
        for word in extractor.words() {
            self.vocabulary.add(word);
        }
    }

    /// Computes weights by rarity: by the number of rules, not phrases, that have a feature.
    fn weigh(&mut self, rules: usize, kinds: &[f32], frequencies: &[(u32, u32)]) {
        let total = to_f32(rules) + PRIOR;
        let rarity = |count: f32| (total / (count + SMOOTHING)).ln();
        self.unknown = UNKNOWN * rarity(0.0);
        let weights = kinds.iter().zip(frequencies);
        self.weights =
            weights.map(|(kind, &(count, _))| kind * rarity(to_f32(count as usize))).collect();
        self.norms = (0..length(&self.rules))
            .map(|phrase| {
                let features = &self.phrase_features[self.features(phrase)];
                let squares = features.iter().map(|&id| self.weights[id as usize].powi(2));
                squares.sum::<f32>().sqrt()
            })
            .collect();
    }

    /// Fills the postings by counting.
    fn link(&mut self) {
        let mut starts = vec![0_u32; self.weights.len() + 1];
        for &id in &self.phrase_features {
            starts[id as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        self.postings = vec![0; self.phrase_features.len()];
        for phrase in 0..length(&self.rules) {
            for &id in &self.phrase_features[self.features(phrase)] {
                let slot = &mut next[id as usize];
                self.postings[*slot as usize] = phrase;
                *slot += 1;
            }
        }
        self.starts = starts;
    }

    /// Computes the length of the sum of the phrases of each rule, each of length 1.
    fn sum_rules(&mut self) {
        let mut sums = vec![0.0_f32; self.weights.len()];
        self.centroids = (0..length(&self.rule_starts) - 1)
            .map(|rule| {
                let phrases = self.of_rule(rule);
                let mut squares = 0.0;
                for phrase in phrases.clone() {
                    for &id in &self.phrase_features[self.features(phrase)] {
                        let (sum, weight) = (&mut sums[id as usize], self.weights[id as usize]);
                        let grown = *sum + weight / self.norms[phrase as usize];
                        squares += grown * grown - *sum * *sum;
                        *sum = grown;
                    }
                }
                for phrase in phrases {
                    for &id in &self.phrase_features[self.features(phrase)] {
                        sums[id as usize] = 0.0;
                    }
                }
                squares.sqrt()
            })
            .collect();
    }

    /// Returns the weight of a feature of any text.
    pub(super) fn weight(&self, feature: Feature) -> f32 {
        let known = self.ids.get(&feature.hash).map(|&id| self.weights[id as usize]);
        known.unwrap_or(feature.weight * self.unknown)
    }

    /// Returns the range of a phrase's features.
    pub(super) fn features(&self, phrase: u32) -> Range<usize> {
        let at = phrase as usize;
        self.phrase_starts[at].0 as usize..self.phrase_starts[at + 1].0 as usize
    }

    /// Returns the phrases of a rule.
    pub(super) fn of_rule(&self, rule: u32) -> Range<u32> {
        let at = rule as usize;
        self.rule_starts[at]..self.rule_starts[at + 1]
    }

    /// Returns the characters of a phrase without spaces and punctuation.
    pub(super) fn text(&self, phrase: u32) -> &str {
        let at = phrase as usize;
        &self.text[self.phrase_starts[at].1 as usize..self.phrase_starts[at + 1].1 as usize]
    }

    /// Returns whether a phrase names another thing than a message with these identifiers.
    pub(super) fn is_of_another(&self, message: &Identifiers, phrase: u32) -> bool {
        self.are_of_one[self.rule(phrase) as usize]
            && message.conflict(&self.identifiers[phrase as usize])
    }

    /// Returns the rule of a phrase.
    pub(super) fn rule(&self, phrase: u32) -> u32 {
        self.rules[phrase as usize]
    }

    pub(super) fn norm(&self, phrase: u32) -> f32 {
        self.norms[phrase as usize]
    }

    pub(super) fn centroid_norm(&self, rule: u32) -> f32 {
        self.centroids[rule as usize]
    }

    /// Returns the memory in bytes.
    pub(super) fn size(&self) -> usize {
        let words = self.weights.len()
            + self.starts.len()
            + self.postings.len()
            + self.phrase_features.len()
            + self.phrase_starts.len() * 2
            + self.norms.len()
            + self.rules.len()
            + self.rule_starts.len()
            + self.centroids.len();
        let identifiers = size_of_val(self.identifiers.as_slice())
            + self.identifiers.iter().map(Identifiers::size).sum::<usize>();
        let text = self.text.len() + identifiers + self.are_of_one.len();
        words * 4 + self.ids.capacity() * 17 + text + self.vocabulary.size()
    }
}

/// Returns a length as 32 bits. Lists are far smaller than that: rules are written by people.
#[expect(clippy::cast_possible_truncation, reason = "see above")]
fn length<T>(list: &[T]) -> u32 {
    list.len() as u32
}

#[expect(clippy::cast_possible_truncation, reason = "as for lists")]
fn bytes(text: &str) -> u32 {
    text.len() as u32
}

#[expect(clippy::cast_precision_loss, reason = "a count; the logarithm of it is what matters")]
pub(super) fn to_f32(count: usize) -> f32 {
    count as f32
}
