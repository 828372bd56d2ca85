//! Responder: input and output of the tolerant matchers.
//!
//! [`crate::keyword`] matches rules word for word. The tolerant matchers rate rules instead: they
//! return the best few with their scores, and decide by the thresholds of [`Acceptance`] whether
//! the best one answers.

mod matcher;
pub mod similar;
pub mod thresholds;

pub use matcher::{Mode, RuleMatcher};

/// Text of a rule for the tolerant matchers. Its index in the list that a matcher is built from is
/// its ordinal; older rules come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleText<'a> {
    /// Keywords, each a word or a whole phrase.
    pub keywords: &'a [String],
    /// Question that it answers; may be empty.
    pub question: &'a str,
    /// Reply text.
    pub answer: &'a str,
}

impl<'a> RuleText<'a> {
    /// Returns the phrases to match: the keywords, and the question unless it is empty.
    pub fn phrases(self) -> impl Iterator<Item = &'a str> {
        let question = Some(self.question).filter(|question| !question.trim().is_empty());
        self.keywords.iter().map(String::as_str).chain(question)
    }
}

/// Score of a rule for a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Ordinal of the rule.
    pub rule: u32,
    /// Score from 0, nothing in common, to 1, the same.
    pub score: f32,
}

/// Result of a tolerant matcher for a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rating {
    /// Rule that answers, if one fits well enough.
    pub answer: Option<u32>,
    /// Best rules, the best first; of equal score, the older first.
    pub candidates: Vec<Candidate>,
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
    /// Returns the rating of sorted candidates.
    pub fn rate(self, candidates: Vec<Candidate>) -> Rating {
        let runner_up = candidates.get(1).map_or(0.0, |candidate| candidate.score);
        let answer = candidates
            .first()
            .filter(|best| best.score >= self.least_score)
            .filter(|best| best.score - runner_up >= self.least_lead)
            .map(|best| best.rule);
        Rating { answer, candidates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPTANCE: Acceptance = Acceptance { least_score: 0.5, least_lead: 0.1 };

    fn answer(scores: &[f32]) -> Option<u32> {
        let candidates = scores.iter().zip(0..).map(|(&score, rule)| Candidate { rule, score });
        ACCEPTANCE.rate(candidates.collect()).answer
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
    fn an_empty_question_is_no_phrase() {
        let keywords = ["wifi".to_owned()];
        let rule = RuleText { keywords: &keywords, question: " ", answer: "" };
        assert_eq!(rule.phrases().collect::<Vec<_>>(), ["wifi"]);
        let asked = RuleText { question: "Which network?", ..rule };
        assert_eq!(asked.phrases().count(), 2);
    }
}
