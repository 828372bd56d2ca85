//! Fuzzy rules: matching of messages to rules that tolerates typos and small changes.
//!
//! The phrases of a channel (keywords and questions) are sets of words and short runs of characters
//! with weights by rarity (`phrases`). An index proposes the few rules that share the most with a
//! message, without a scan; only those are compared closely (`score`): by shared features, by edit
//! distance, and by whether the phrase occurs inside the message. Mistyped words are first
//! corrected to the nearest word of the phrases (`words`).

pub(crate) mod common;
mod exclusion;
pub(crate) mod features;
pub(crate) mod hash;
#[cfg(test)]
mod laws;
mod phrases;
mod query;
mod score;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;

use crate::answer::{
    Candidate, Identifiers, Rating, RuleText, Strictness, thresholds, without_identifiers,
};
use crate::fold::alike::fold_alike;
use crate::fold::strip_marks;
use crate::keyword::{KeywordHit, KeywordMatcher};
use exclusion::ExcludedPhrases;
use features::{Extractor, Feature};
use phrases::Phrases;
use query::{Members, MessageVector};
use score::Evidence;

/// Number of phrases that the index proposes.
const PROPOSED: usize = 64;
/// Maximum number of rules, of those that the proposed phrases belong to, that are compared.
const COMPARED: usize = 32;
/// Number of them, those with the most in common, that are compared character by character.
const COMPARED_CLOSELY: usize = 8;
/// Minimum share of a phrase that a message with identifiers has beside them: a number or a letter
/// alone is a vote or a count.
const LEAST_NAMED: f32 = 0.1;
/// Minimum share of a message's telling characters that a phrase inside of it has.
const LEAST_INSIDE: f32 = 0.3;
/// The same for a question.
const LEAST_INSIDE_QUESTION: f32 = 0.12;
/// Maximum number of candidates of a rating.
const RATED: usize = 5;

/// A compiled matcher of the phrases of a set of rules. Built once, shared, replaced as a whole.
pub struct FuzzyMatcher {
    keywords: KeywordMatcher,
    phrases: Phrases,
    excluded: ExcludedPhrases,
}

impl FuzzyMatcher {
    /// Compiles rules; the index of a rule in the list is its ordinal.
    ///
    /// # Panics
    ///
    /// Never: the map of phrases fails on keys out of order alone, and these are sorted.
    #[expect(clippy::expect_used, reason = "see above")]
    pub fn build(rules: &[RuleText<'_>]) -> Self {
        let phrases = (0..).zip(rules);
        let phrases = phrases
            .flat_map(|(rule, text)| text.phrases().map(move |phrase| (rule, fold_alike(phrase))));
        let phrases: Vec<(u32, String)> = phrases.collect();
        let keywords = phrases.iter().map(|(rule, phrase)| (*rule, phrase.as_str()));
        let keywords = KeywordMatcher::build(keywords).expect("sorted keys make a map");
        let phrases = Phrases::build(rules);
        let excluded = ExcludedPhrases::build(rules, &phrases).expect("sorted keys make a map");
        Self { keywords, phrases, excluded }
    }

    /// Returns the memory of the matcher in bytes: about 0.7 kB a phrase of 25 characters.
    pub fn size(&self) -> usize {
        self.keywords.size() + self.phrases.size() + self.excluded.size()
    }

    /// Returns the rules that a message may ask for, and the one that answers it. A message that
    /// equals a phrase, but for width, case, white space, the script of Chinese and of kana, and sentence
    /// marks at its end, scores 1.
    pub fn rate(&self, message: &str, strictness: Strictness) -> Rating {
        let folded = fold_alike(message);
        let message = Message::new(self, strip_marks(&folded));
        let mut candidates = self.candidates(&message);
        self.excluded.mark(&mut candidates, &message);
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.rule.cmp(&b.rule)));
        let same = candidates.iter().find(|best| !best.excluded);
        let same = same.filter(|best| best.score >= 1.0).map(|best| best.rule);
        let rating = thresholds::FUZZY.of(strictness).rate(candidates, RATED);
        // Of rules with the very same phrase, the older one answers: no lead is needed.
        Rating { answer: same.or(rating.answer), ..rating }
    }

    /// Returns the candidate rules, with their scores.
    fn candidates(&self, message: &Message) -> Vec<Candidate> {
        let found = message.equal.iter().chain(&message.contained);
        let mut rules: Vec<u32> = found.map(|hit| hit.rule).collect();
        rules.dedup();
        for phrase in self.phrases.candidates(&message.query, PROPOSED) {
            let rule = self.phrases.rule(phrase);
            if rules.len() < COMPARED && !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        let mut evidence: Vec<(Evidence, Option<u32>)> =
            rules.iter().map(|&rule| self.evidence(message, rule)).collect();
        evidence.sort_by(|(a, _), (b, _)| b.likeness().total_cmp(&a.likeness()));
        for (evidence, phrase) in evidence.iter_mut().take(COMPARED_CLOSELY) {
            if let Some(phrase) = *phrase {
                evidence.compare(message, self.phrases.text(phrase));
            }
        }
        evidence.iter().map(|(e, _)| Candidate::new(e.rule, e.score())).collect()
    }

    /// Returns the evidence for a rule, and the rule's best phrase if any shares something.
    fn evidence(&self, message: &Message, rule: u32) -> (Evidence, Option<u32>) {
        let is_rule = |hit: Option<KeywordHit>| hit.is_some_and(|hit| hit.rule == rule);
        let mut evidence = Evidence {
            rule,
            phrases: phrases::to_f32(self.phrases.of_rule(rule).len()),
            unspaced: message.unspaced,
            equal: is_rule(message.equal),
            contained: is_rule(message.contained),
            ..Evidence::default()
        };
        let mut best = None;
        let mut sum = 0.0;
        let mut all_of_another = !self.phrases.of_rule(rule).is_empty();
        for phrase in self.phrases.of_rule(rule) {
            if self.phrases.is_of_another(&message.identifiers, phrase) {
                continue;
            }
            all_of_another = false;
            let norm = self.phrases.norm(phrase);
            let telling = |members| self.phrases.shared(members, phrase) / (norm * norm);
            if message.named.as_ref().is_some_and(|named| telling(named) < LEAST_NAMED) {
                continue;
            }
            let shared = self.phrases.shared(&message.members, phrase);
            let cosine = shared / (norm * message.query.norm);
            sum += cosine;
            if cosine > evidence.cosine {
                (evidence.cosine, evidence.cover) = (cosine, shared / (norm * norm));
                best = Some(phrase);
            }
        }
        if best.is_some() {
            evidence.centroid = sum / self.phrases.centroid_norm(rule);
        }
        // `三班` is written inside of `十三班`.
        evidence.contained &= !all_of_another;
        (evidence, best)
    }
}

impl fmt::Debug for FuzzyMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FuzzyMatcher").field("keywords", &self.keywords).finish_non_exhaustive()
    }
}

/// A message, split for matching.
struct Message {
    /// Characters without spaces and punctuation.
    text: String,
    /// The whole message, folded, without marks at its end; then with mistyped words corrected.
    folded: String,
    spelled: String,
    features: Vec<Feature>,
    /// Share of characters in scripts without spaces.
    unspaced: f32,
    query: MessageVector,
    members: Members,
    identifiers: Identifiers,
    /// Features without the identifiers, if there are any.
    named: Option<Members>,
    /// Minimum number of characters of a phrase that counts inside of the message.
    least_inside: f32,
    /// Phrase that equals the message.
    equal: Option<KeywordHit>,
    /// Longest phrase that occurs in it word for word, mistyped words corrected.
    contained: Option<KeywordHit>,
}

impl Message {
    fn new(matcher: &FuzzyMatcher, folded: &str) -> Self {
        let mut extractor = Extractor::default();
        extractor.split(folded);
        let text = extractor.chars.iter().collect();
        let unspaced = extractor.unspaced_share();
        let vocabulary = &matcher.phrases.vocabulary;
        let corrected = extractor.respell(|word| vocabulary.correct(word));
        extractor.name();
        let query = matcher.phrases.query(&extractor.features);
        let members = matcher.phrases.members(&query);
        let spelled = if corrected { extractor.spelled() } else { folded.to_owned() };
        let is_question = common::is_asking(folded);
        let share = if is_question { LEAST_INSIDE_QUESTION } else { LEAST_INSIDE };
        let least_inside = share * phrases::to_f32(extractor.telling());
        let contained = matcher.keywords.contains(&spelled);
        let contained = contained.filter(|hit| {
            score::may_stand_inside(&spelled, *hit) && phrases::to_f32(hit.len) >= least_inside
        });
        let equal = matcher.keywords.exact(folded);
        let features = std::mem::take(&mut extractor.features);
        let identifiers = Identifiers::of(folded);
        let named = (!identifiers.is_empty()).then(|| {
            extractor.split(&without_identifiers(folded));
            extractor.respell(|word| vocabulary.correct(word));
            extractor.name();
            matcher.phrases.members(&matcher.phrases.query(&extractor.features))
        });
        let folded = folded.to_owned();
        Self {
            text,
            folded,
            spelled,
            features,
            unspaced,
            query,
            members,
            identifiers,
            named,
            least_inside,
            equal,
            contained,
        }
    }
}
