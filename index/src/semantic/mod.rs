//! Semantic rules: matching of messages to rules by meaning.
//!
//! A rule is rated by four similarities with the message: to the nearest of its phrases, to their
//! centroid, to its row of a classifier that is solved for each channel, and by shared n-grams. A
//! logistic function of their weighted sum is the score, less a share of the rule's best rival: a
//! message that fits two rules is often about neither. The weights are data: [`Calibration`]. Rules
//! in another language than the message are no rivals: where groups use several languages, the same
//! rule exists in each of them.
//!
//! Texts that a rule must not answer are compared with a message as the rule itself is.
//!
//! Rating reads the beginning of one vector a rule, at one byte a number, and rates the best few
//! hundred rules again in full. Memory: the embedder's dimensions + 4 bytes a phrase, dimensions +
//! 137 bytes a rule, 4 bytes a different n-gram of each text.

mod classifier;
mod exclusion;
#[cfg(test)]
mod laws;
mod lexical;
mod ngrams;
mod rows;
mod score;
mod space;
mod vectors;

use std::fmt;
use std::sync::Arc;

use crate::answer::thresholds::SEMANTIC_FOREIGN_LEAD;
use crate::answer::{
    Acceptance, AcceptanceLevels, Candidate, Identifiers, Rating, RuleText, Strictness,
    excluded_texts,
};
use crate::fold::fold_phrase;
use crate::keyword::{KeywordError, KeywordMatcher};
use crate::language::{self, Languages};
use exclusion::{ExcludedVectors, MessageSums};
use lexical::{LexicalBuilder, LexicalIndex};
use rows::{Factor, Rows};
use score::Scores;
pub use space::SemanticSpace;
use vectors::RuleVectors;

/// Number of candidates in a rating.
const CANDIDATES: usize = 5;
/// Number of rules that are rated again in full.
const SECOND_PASS: usize = 256;
/// Batch size of embedding, in phrases.
const BATCH: usize = 256;

/// Weights of similarities in a score, and thresholds of an answer. Measured for one embedder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Weight of the similarity to the nearest phrase.
    pub nearest: f32,
    /// Weight of the similarity to the centroid.
    pub centroid: f32,
    /// Weight of the classifier.
    pub classifier: f32,
    /// Weight of shared n-grams.
    pub lexical: f32,
    /// Share of the best other rule's weighted sum that is subtracted.
    pub rival: f32,
    /// Summand of the weighted sum.
    pub bias: f32,
    /// Summand for each factor of *e* by which a channel has fewer rules than 150. Among fewer
    /// rules it is less likely that one resembles a message by accident.
    pub few_rules: f32,
    /// Thresholds at which the best rule answers.
    pub acceptance: AcceptanceLevels,
}

/// Vectors of phrases that are already known.
pub trait PhraseVectors {
    /// Copies the vector of a folded phrase in `space` to `vector`, if it is known.
    fn copy(&self, space: &SemanticSpace, phrase: &str, vector: &mut [f32]) -> bool;
}

/// An empty set of known vectors.
#[derive(Clone, Copy, Debug)]
pub struct NoVectors;

impl PhraseVectors for NoVectors {
    fn copy(&self, _space: &SemanticSpace, _phrase: &str, _vector: &mut [f32]) -> bool {
        false
    }
}

/// A compiled matcher of a channel's rules. Built once, shared, replaced as a whole; the matcher
/// replaced is the [`PhraseVectors`] for the next one.
pub struct SemanticMatcher {
    space: Arc<SemanticSpace>,
    /// Folded phrases; their ordinals are those of `vectors`.
    phrases: KeywordMatcher,
    /// Rules, then the texts that they must not answer.
    lexical: LexicalIndex,
    vectors: RuleVectors,
    excluded: ExcludedVectors,
    /// Identifiers of the phrases of each rule; none if a phrase has none.
    identifiers: Vec<Vec<Identifiers>>,
    /// Languages of each rule, and of all.
    languages: Vec<Languages>,
    spoken: Languages,
}

impl SemanticMatcher {
    /// Compiles `rules` in `space`. Phrases that `known` does not have are embedded.
    pub fn build(
        rules: &[RuleText<'_>],
        space: &Arc<SemanticSpace>,
        known: &dyn PhraseVectors,
    ) -> Result<Self, KeywordError> {
        let mut phrases: Vec<String> = Vec::new();
        let mut starts = vec![0];
        let mut lexical = LexicalBuilder::new();
        let mut languages = Vec::with_capacity(rules.len());
        let mut identifiers = Vec::with_capacity(rules.len());
        for rule in rules {
            let mut spoken = Languages::default();
            let mut named = Vec::new();
            for phrase in rule.phrases().map(fold_phrase).filter(|phrase| !phrase.is_empty()) {
                lexical.phrase(&phrase);
                spoken = spoken.or(Languages::of(&phrase));
                named.push(Identifiers::of(&phrase));
                phrases.push(phrase);
            }
            languages.push(spoken);
            // One phrase without any may be meant by every message.
            let all_named =
                named.iter().all(|phrase| !phrase.is_empty()) && !Identifiers::vary(&named);
            identifiers.push(if all_named { named } else { Vec::new() });
            lexical.answer(&fold_phrase(rule.answer));
            lexical.end_rule();
            starts.push(u32::try_from(phrases.len()).unwrap_or(u32::MAX));
        }
        language::settle(&mut languages);
        let (texts, of_rules) = excluded_texts(rules, fold_phrase);
        lexical.end_counted();
        for text in &texts {
            lexical.phrase(text);
            lexical.end_rule();
        }
        let rows = embed(&phrases, space, known);
        let (vectors, groups) =
            RuleVectors::build(rows, starts, language::groups(&languages), space);
        let rows = embed(&texts, space, known);
        Ok(Self {
            space: Arc::clone(space),
            phrases: KeywordMatcher::build((0..).zip(phrases.iter().map(String::as_str)))?,
            lexical: lexical.build(),
            vectors,
            excluded: ExcludedVectors::build(&texts, rows, of_rules, &groups)?,
            spoken: Languages::all(&languages),
            languages,
            identifiers,
        })
    }

    /// Returns the best rules for `message`, and the one that answers, if any. A message that is
    /// one of a rule's phrases has score 1 and is answered. One with next to no letters is answered
    /// in no other way.
    pub fn rate(&self, message: &str, strictness: Strictness) -> Rating {
        let folded = fold_phrase(message);
        let equal = self.phrases.exact(&folded).map(|hit| self.vectors.rule_of(hit.rule));
        let equal = equal.filter(|&rule| !self.excluded.is_whole(rule, &folded));
        let mut candidates =
            if ngrams::has_content(&folded) { self.candidates(&folded) } else { Vec::new() };
        let Some(rule) = equal else {
            let acceptance = self.acceptance(strictness);
            let mut rating = acceptance.rate_by(candidates, CANDIDATES, score::lead);
            for candidate in &mut rating.candidates {
                candidate.score = score::shown(candidate.score);
            }
            return rating;
        };
        candidates.retain(|candidate| candidate.rule != rule);
        candidates.insert(0, Candidate::new(rule, 1.0));
        candidates.truncate(CANDIDATES);
        for candidate in &mut candidates[1..] {
            candidate.score = score::shown(candidate.score);
        }
        Rating { answer: Some(rule), candidates }
    }

    /// Returns the thresholds at which the best rule answers.
    pub fn acceptance(&self, strictness: Strictness) -> Acceptance {
        self.space.calibration().acceptance.of(strictness)
    }

    /// Returns the rules for a folded message that are rated in full, the best first.
    fn candidates(&self, folded: &str) -> Vec<Candidate> {
        let calibration = self.space.calibration();
        let message = Factor::new(&self.space.embed(&[folded]));
        let (lexical, texts) = self.lexical_scores(folded);
        let mut sums = self.vectors.first_pass(&message);
        sums.iter_mut().zip(&lexical).for_each(|(sum, score)| *sum += calibration.lexical * score);
        let mut best: Vec<(u32, f32)> = (0..).zip(sums).collect();
        keep_best(&mut best, SECOND_PASS);
        for (rule, sum) in &mut best {
            let at = *rule as usize;
            *sum = self.vectors.score(&message, at, calibration.nearest);
            *sum += calibration.lexical * lexical[at];
        }
        let identifiers = Identifiers::of(folded);
        best.retain(|&(rule, _)| !self.is_of_another(&identifiers, rule));
        self.prefer(folded, &mut best);
        let scores = Scores::new(calibration, self.len(), best.iter().map(|&(_, sum)| sum));
        let sums = MessageSums { folded, message: &message, texts: &texts, calibration };
        let candidate = |(rule, sum): (u32, f32)| {
            let near = (sum, lexical[rule as usize]);
            let score = scores.score(near.0, near.1);
            let may_answer = score >= calibration.acceptance.of(Strictness::Eager).least_score;
            let excluded = may_answer && self.excluded.exclude((rule, near), &sums);
            Candidate { rule, score, excluded }
        };
        let mut candidates: Vec<Candidate> = best.into_iter().map(candidate).collect();
        candidates.sort_unstable_by(|left, right| {
            right.score.total_cmp(&left.score).then(left.rule.cmp(&right.rule))
        });
        candidates
    }

    /// Returns whether all phrases of a rule name another thing than a message does: the 4th grade
    /// and not the 3rd.
    fn is_of_another(&self, identifiers: &Identifiers, rule: u32) -> bool {
        let phrases = &self.identifiers[rule as usize];
        !phrases.is_empty() && phrases.iter().all(|phrase| identifiers.conflict(phrase))
    }

    /// Retains the rules in one language: the message's, unless the best of another one is much
    /// better, and then that.
    fn prefer(&self, folded: &str, sums: &mut Vec<(u32, f32)>) {
        let languages = |rule: u32| self.languages[rule as usize];
        let spoken = Languages::of(folded).among(self.spoken);
        let best = |sums: &mut dyn Iterator<Item = &(u32, f32)>| {
            sums.max_by(|left, right| left.1.total_cmp(&right.1).then(right.0.cmp(&left.0)))
                .copied()
        };
        let Some((first, sum)) = best(&mut sums.iter()) else {
            return;
        };
        let own = best(&mut sums.iter().filter(|(rule, _)| spoken.meet(languages(*rule))));
        let is_behind = own.is_none_or(|(_, own)| own < sum - SEMANTIC_FOREIGN_LEAD);
        let chosen = if is_behind { languages(first) } else { spoken };
        sums.retain(|&(rule, _)| chosen.meet(languages(rule)));
    }

    /// Returns the lexical score of each rule, and of each text that rules must not answer. A phrase
    /// that occurs in the message literally counts by its share of the message.
    fn lexical_scores(&self, folded: &str) -> (Vec<f32>, Vec<f32>) {
        let mut scores = self.lexical.scores(folded);
        let mut texts = scores.split_off(self.len());
        let letters = folded.chars().filter(|c| !c.is_whitespace()).count();
        #[expect(clippy::cast_precision_loss, reason = "characters of a message")]
        let share = |length: usize| (length as f32 / letters.max(1) as f32).min(1.0);
        if let Some(hit) = self.phrases.contains(folded) {
            let rule = self.vectors.rule_of(hit.rule) as usize;
            scores[rule] = scores[rule].max(share(hit.len));
        }
        self.excluded.raise(folded, &mut texts, share);
        (scores, texts)
    }

    /// Returns the number of rules.
    pub fn len(&self) -> usize {
        self.languages.len()
    }

    /// Returns whether there is no rule at all.
    pub fn is_empty(&self) -> bool {
        self.languages.is_empty()
    }

    /// Returns the memory of the matcher in bytes, the space not counted.
    pub fn size(&self) -> usize {
        let excluded = self.excluded.size() + self.languages.len();
        let named = self.identifiers.iter().flatten().map(|one| size_of_val(one) + one.size());
        let named = named.sum::<usize>() + size_of_val(self.identifiers.as_slice());
        let excluded = excluded + named;
        self.phrases.size() + self.lexical.size() + self.vectors.size() + excluded
    }
}

impl PhraseVectors for SemanticMatcher {
    fn copy(&self, space: &SemanticSpace, phrase: &str, vector: &mut [f32]) -> bool {
        if !std::ptr::eq(space, &raw const *self.space) {
            return false;
        }
        match self.phrases.exact(phrase) {
            Some(hit) => self.vectors.copy_phrase(hit.rule as usize, vector),
            None => return self.excluded.copy(phrase, vector),
        }
        true
    }
}

impl fmt::Debug for SemanticMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SemanticMatcher")
            .field("space", &self.space)
            .field("rules", &self.len())
            .finish_non_exhaustive()
    }
}

/// Returns the vectors of `phrases`, in order.
fn embed(phrases: &[String], space: &SemanticSpace, known: &dyn PhraseVectors) -> Rows {
    let dimensions = space.dimensions();
    let mut rows = Rows::new(dimensions, 0);
    for batch in phrases.chunks(BATCH) {
        let mut vectors = vec![0.0; batch.len() * dimensions];
        let places = vectors.chunks_exact_mut(dimensions).zip(batch);
        let unknown: Vec<_> = places
            .filter_map(|(place, phrase)| {
                (!known.copy(space, phrase, place)).then_some((place, phrase.as_str()))
            })
            .collect();
        let (places, texts): (Vec<_>, Vec<_>) = unknown.into_iter().unzip();
        let embedded = if texts.is_empty() { Vec::new() } else { space.embed(&texts) };
        for (place, vector) in places.into_iter().zip(embedded.chunks_exact(dimensions)) {
            place.copy_from_slice(vector);
        }
        vectors.chunks_exact(dimensions).for_each(|vector| rows.push(vector));
    }
    rows
}

/// Retains the `count` rules of the highest sums, in no order.
fn keep_best(rules: &mut Vec<(u32, f32)>, count: usize) {
    if rules.len() > count {
        rules.select_nth_unstable_by(count, |left, right| right.1.total_cmp(&left.1));
        rules.truncate(count);
    }
}

#[cfg(test)]
mod tests;
