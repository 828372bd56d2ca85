//! Responder: input and output of the tolerant matchers.
//!
//! [`crate::keyword`] matches rules word for word. The tolerant matchers rate rules instead: they
//! return the best few with their scores, and decide by the thresholds of [`Acceptance`] whether
//! the best one answers.

mod exclusion;
mod identifiers;
#[cfg(test)]
mod laws;
mod matcher;
pub mod similar;
pub mod thresholds;

pub(crate) use exclusion::{TextsOfRules, excluded_texts, matcher_of};
pub(crate) use identifiers::{Identifiers, without_identifiers};
pub use matcher::{Matching, Mode, RuleMatcher};

/// Text of a rule for the tolerant matchers. Its index in the list that a matcher is built from is
/// its ordinal; older rules come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleText<'a> {
    /// Keywords, each a word or a whole phrase.
    pub keywords: &'a [String],
    /// Question that it answers; may be empty.
    pub question: &'a str,
    /// Reply text.
    pub answer: &'a str,
    /// Texts that it must not answer.
    pub not_for: &'a [String],
}

impl<'a> RuleText<'a> {
    /// Returns the phrases to match: the keywords, and the question unless it is empty.
    pub fn phrases(self) -> impl Iterator<Item = &'a str> {
        let question = Some(self.question).filter(|question| !question.trim().is_empty());
        self.keywords.iter().map(String::as_str).chain(question)
    }
}

/// Builds a matcher of rules of one keyword each, with the texts that they must not answer.
#[cfg(test)]
pub(crate) fn with_not_for<M>(
    rules: &[(&str, &[&str])],
    build: impl FnOnce(&[RuleText<'_>]) -> M,
) -> M {
    let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let rules: Vec<_> = rules.iter().map(|(word, not)| (owned(&[word]), owned(not))).collect();
    let texts = rules.iter().map(|(keywords, not_for)| RuleText {
        keywords,
        not_for,
        ..RuleText::default()
    });
    build(&texts.collect::<Vec<_>>())
}

/// Score of a rule for a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Ordinal of the rule.
    pub rule: u32,
    /// Score from 0, nothing in common, to 1, the same.
    pub score: f32,
    /// `true` if the message is at least as near to a text that the rule must not answer: it does
    /// not. The score is the one without such texts.
    pub excluded: bool,
}

impl Candidate {
    /// Creates a candidate that may answer.
    pub const fn new(rule: u32, score: f32) -> Self {
        Self { rule, score, excluded: false }
    }
}

/// Result of a tolerant matcher for a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rating {
    /// Rule that answers, if one fits well enough.
    pub answer: Option<u32>,
    /// Best rules, the best first; of equal score, the older first.
    pub candidates: Vec<Candidate>,
}

impl Rating {
    /// Returns the candidate that answers; if none does, the best that may.
    pub fn best(&self) -> Option<&Candidate> {
        let answer = self.candidates.iter().find(|candidate| Some(candidate.rule) == self.answer);
        answer.or_else(|| self.candidates.iter().find(|candidate| !candidate.excluded))
    }
}

/// Certainty that a reply of a tolerant matcher requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Fewest wrong replies; more questions stay without one.
    Careful,
    /// In between.
    #[default]
    Balanced,
    /// Most questions get a reply; more replies are wrong.
    Eager,
}

/// Thresholds of each strictness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AcceptanceLevels {
    /// Thresholds of [`Strictness::Careful`].
    pub careful: Acceptance,
    /// Thresholds of [`Strictness::Balanced`].
    pub balanced: Acceptance,
    /// Thresholds of [`Strictness::Eager`].
    pub eager: Acceptance,
}

impl AcceptanceLevels {
    /// Returns levels with one minimum lead, and these minimum scores from careful to eager.
    pub const fn new([careful, balanced, eager]: [f32; 3], least_lead: f32) -> Self {
        Self {
            careful: Acceptance { least_score: careful, least_lead },
            balanced: Acceptance { least_score: balanced, least_lead },
            eager: Acceptance { least_score: eager, least_lead },
        }
    }

    /// Returns the thresholds of a strictness.
    pub const fn of(&self, strictness: Strictness) -> Acceptance {
        match strictness {
            Strictness::Careful => self.careful,
            Strictness::Balanced => self.balanced,
            Strictness::Eager => self.eager,
        }
    }
}

/// Thresholds at which the best rule answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acceptance {
    /// Minimum score of the best rule.
    pub least_score: f32,
    /// Minimum lead of the best rule over the second one.
    pub least_lead: f32,
}

impl Acceptance {
    /// Returns the rating of sorted candidates, with the first `most` of them. Excluded ones do not
    /// answer, and are no rivals.
    pub fn rate(self, candidates: Vec<Candidate>, most: usize) -> Rating {
        self.rate_by(candidates, most, |best, second| best - second)
    }

    /// Returns the rating of candidates as [`Self::rate`] does, with `lead` of a score over another.
    pub(crate) fn rate_by(
        self,
        mut candidates: Vec<Candidate>,
        most: usize,
        lead: impl Fn(f32, f32) -> f32,
    ) -> Rating {
        let mut open = candidates.iter().filter(|candidate| !candidate.excluded);
        let best = open.next();
        let runner_up = open.next().map_or(0.0, |candidate| candidate.score);
        let answer = best
            .filter(|best| best.score >= self.least_score)
            .filter(|best| lead(best.score, runner_up) >= self.least_lead)
            .map(|best| best.rule);
        candidates.truncate(most);
        Rating { answer, candidates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPTANCE: Acceptance = Acceptance { least_score: 0.5, least_lead: 0.1 };

    fn answer(scores: &[f32]) -> Option<u32> {
        let candidates = scores.iter().zip(0..).map(|(&score, rule)| Candidate::new(rule, score));
        ACCEPTANCE.rate(candidates.collect(), 5).answer
    }

    #[test]
    fn the_best_answers_if_it_is_good_and_ahead() {
        assert_eq!(answer(&[0.9, 0.5]), Some(0));
        assert_eq!(answer(&[0.6]), Some(0));
        assert_eq!(answer(&[0.4]), None);
        assert_eq!(answer(&[0.9, 0.85]), None, "no lead");
        assert_eq!(answer(&[]), None);
    }

    #[test]
    fn an_excluded_rule_neither_answers_nor_competes() {
        let best = Candidate { excluded: true, ..Candidate::new(0, 0.9) };
        let rated = |candidates: &[Candidate]| ACCEPTANCE.rate(candidates.to_vec(), 1).answer;
        assert_eq!(rated(&[best]), None);
        let (one, two) = (Candidate::new(1, 0.85), Candidate::new(2, 0.84));
        assert_eq!(rated(&[best, one, two]), None, "what is not listed counts, too");
        assert_eq!(rated(&[best, Candidate::new(1, 0.85)]), Some(1));
        assert_eq!(rated(&[best, Candidate::new(1, 0.4)]), None);
    }

    #[test]
    fn levels_are_those_of_their_strictness() {
        let levels = AcceptanceLevels::new([0.8, 0.6, 0.4], 0.1);
        let least = |strictness| levels.of(strictness).least_score.to_bits();
        assert_eq!(least(Strictness::Careful), 0.8_f32.to_bits());
        assert_eq!(least(Strictness::default()), 0.6_f32.to_bits());
        assert_eq!(least(Strictness::Eager), 0.4_f32.to_bits());
    }

    #[test]
    fn an_empty_question_is_no_phrase() {
        let keywords = ["wifi".to_owned()];
        let rule = RuleText { keywords: &keywords, question: " ", ..RuleText::default() };
        assert_eq!(rule.phrases().collect::<Vec<_>>(), ["wifi"]);
        let asked = RuleText { question: "Which network?", ..rule };
        assert_eq!(asked.phrases().count(), 2);
    }
}
