//! Texts that rules must not answer, compared with a message as phrases of rules are.
//!
//! Only the texts of rules that may answer a message are compared with it, so they need no index.
//! Rarity and corrections of typos are those of the rules' phrases.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::features::{Extractor, Feature};
use super::phrases::Phrases;
use super::score::{Evidence, is_specific};
use super::{COMPARED_CLOSELY, Message};
use crate::answer::{
    Candidate, RuleText, Strictness, TextsOfRules, excluded_texts, matcher_of, thresholds,
};
use crate::fold::alike::fold_alike;
use crate::fold::strip_marks;
use crate::keyword::{KeywordError, KeywordMatcher};

/// Texts that rules must not answer.
#[derive(Debug)]
pub(super) struct ExcludedPhrases {
    of_rules: TextsOfRules,
    keywords: KeywordMatcher,
    texts: Vec<ExcludedPhrase>,
}

/// A text as a vector.
#[derive(Debug)]
struct ExcludedPhrase {
    /// Hashes of its features, ascending, and the squares of their weights.
    features: Vec<(u64, f32)>,
    norm: f32,
    /// Its characters without spaces and punctuation.
    text: String,
    /// `true` if it counts inside a longer message.
    is_specific: bool,
}

impl ExcludedPhrases {
    /// Compiles the texts of `rules`, which have these phrases.
    pub(super) fn build(rules: &[RuleText<'_>], phrases: &Phrases) -> Result<Self, KeywordError> {
        let (texts, of_rules) =
            excluded_texts(rules, |text| strip_marks(&fold_alike(text)).to_owned());
        let keywords = matcher_of(&texts)?;
        let texts = texts.iter().map(|text| ExcludedPhrase::new(text, phrases)).collect();
        Ok(Self { of_rules, keywords, texts })
    }

    /// Marks those candidates as excluded that could answer and must not: the message is at least as
    /// near to one of their texts.
    pub(super) fn mark(&self, candidates: &mut [Candidate], message: &Message) {
        let least = thresholds::FUZZY.of(Strictness::Eager).least_score;
        let mut inside = None;
        for candidate in candidates.iter_mut().filter(|candidate| candidate.score >= least) {
            let texts = self.of_rules.of(candidate.rule);
            if !texts.is_empty() {
                let inside = inside.get_or_insert_with(|| self.inside(message));
                candidate.excluded = self.nearest(texts, message, inside) >= candidate.score;
            }
        }
    }

    /// Returns the texts that a message has in it word for word, or equals.
    fn inside(&self, message: &Message) -> HashSet<u32> {
        let mut inside = HashSet::new();
        for spelling in [&message.folded, &message.spelled] {
            self.keywords.contains_where(spelling, |hit| {
                if self.texts[hit.rule as usize].is_specific {
                    inside.insert(hit.rule);
                }
                false
            });
        }
        inside
    }

    /// Returns the score of the nearest of these texts.
    fn nearest(&self, texts: &[u32], message: &Message, inside: &HashSet<u32>) -> f32 {
        let equal = self.keywords.exact(&message.folded).map(|hit| hit.rule);
        let evidence = |&text: &u32| {
            let phrase = &self.texts[text as usize];
            let mut evidence = phrase.evidence(message);
            (evidence.equal, evidence.contained) = (equal == Some(text), inside.contains(&text));
            (evidence, phrase)
        };
        let mut all: Vec<_> = texts.iter().map(evidence).collect();
        all.sort_by(|(a, _), (b, _)| b.likeness().total_cmp(&a.likeness()));
        for (evidence, phrase) in all.iter_mut().take(COMPARED_CLOSELY) {
            evidence.compare(message, &phrase.text);
        }
        all.iter().map(|(evidence, _)| evidence.score()).fold(0.0, f32::max)
    }

    /// Returns the memory in bytes.
    pub(super) fn size(&self) -> usize {
        let texts = self.texts.iter().map(|phrase| {
            size_of_val(phrase) + size_of_val(phrase.features.as_slice()) + phrase.text.len()
        });
        self.of_rules.size() + self.keywords.size() + texts.sum::<usize>()
    }
}

impl ExcludedPhrase {
    fn new(folded: &str, phrases: &Phrases) -> Self {
        let mut extractor = Extractor::default();
        extractor.split(folded);
        let text = extractor.chars.iter().collect();
        extractor.respell(|word| phrases.vocabulary.correct(word));
        extractor.name();
        let square = |feature: &Feature| (feature.hash, phrases.weight(*feature).powi(2));
        let features: Vec<_> = extractor.features.iter().map(square).collect();
        let norm = features.iter().map(|(_, square)| square).sum::<f32>().sqrt();
        let is_specific = is_specific(&folded.chars().collect::<Vec<_>>());
        Self { features, norm, text, is_specific }
    }

    /// Returns the shared features of the text and a message, as evidence.
    fn evidence(&self, message: &Message) -> Evidence {
        let mut evidence =
            Evidence { phrases: 1.0, unspaced: message.unspaced, ..Evidence::default() };
        let shared = self.shared(&message.features);
        if shared > 0.0 {
            evidence.cosine = shared / (self.norm * message.query.norm);
            evidence.centroid = evidence.cosine;
            evidence.cover = shared / (self.norm * self.norm);
        }
        evidence
    }

    /// Returns the sum of the squared weights of the features that both have.
    fn shared(&self, features: &[Feature]) -> f32 {
        let (mut own, mut others) = (self.features.iter().peekable(), features.iter().peekable());
        let mut shared = 0.0;
        while let (Some(&&(hash, square)), Some(other)) = (own.peek(), others.peek()) {
            match hash.cmp(&other.hash) {
                Ordering::Less => {
                    own.next();
                }
                Ordering::Greater => {
                    others.next();
                }
                Ordering::Equal => {
                    shared += square;
                    own.next();
                    others.next();
                }
            }
        }
        shared
    }
}
