//! One matcher for the rules of a channel, whatever its mode.

use std::sync::Arc;

use crate::fuzzy::FuzzyMatcher;
use crate::keyword::{KeywordError, KeywordMatcher};
use crate::semantic::{NoVectors, PhraseVectors, SemanticMatcher, SemanticSpace};

use super::{Candidate, Rating, RuleText};

/// How far a message may be from what a rule says.
#[derive(Clone, Debug)]
pub enum Mode {
    /// Word for word.
    Keyword,
    /// Typos, word order and small changes do not matter.
    Fuzzy,
    /// Only the meaning matters, as this space has it.
    Semantic(Arc<SemanticSpace>),
}

/// A channel's rules, ready for matching. Built once, shared, replaced as a whole.
#[derive(Debug)]
pub struct RuleMatcher {
    keywords: KeywordMatcher,
    contains: bool,
    tolerant: Tolerant,
}

#[derive(Debug)]
enum Tolerant {
    Off,
    Fuzzy(Box<FuzzyMatcher>),
    Semantic(Box<SemanticMatcher>),
}

impl RuleMatcher {
    /// Compiles `rules`, oldest first. With `contains`, a keyword that occurs in a message as
    /// whole words is as good as a message that is the keyword. What `before`
    /// knows of the same phrases, the matcher that this one replaces, is not worked out again.
    ///
    /// # Errors
    /// When the keywords cannot be compiled.
    pub fn build(
        rules: &[RuleText<'_>],
        mode: &Mode,
        contains: bool,
        before: Option<&Self>,
    ) -> Result<Self, KeywordError> {
        let keywords = rules.iter().zip(0_u32..).flat_map(|(rule, ordinal)| {
            rule.keywords.iter().map(move |keyword| (ordinal, keyword.as_str()))
        });
        let tolerant = match mode {
            Mode::Keyword => Tolerant::Off,
            Mode::Fuzzy => Tolerant::Fuzzy(Box::new(FuzzyMatcher::build(rules))),
            Mode::Semantic(space) => {
                let known = before.map_or(&NoVectors as &dyn PhraseVectors, Self::vectors);
                Tolerant::Semantic(Box::new(SemanticMatcher::build(rules, space, known)?))
            }
        };
        Ok(Self { keywords: KeywordMatcher::build(keywords)?, contains, tolerant })
    }

    /// The rule that answers `message`, if one does, and those that came near. Word for word goes
    /// before anything tolerant.
    pub fn rate(&self, message: &str) -> Rating {
        if let Some(rule) = self.literally(message) {
            let candidates = vec![Candidate { rule, score: 1.0 }];
            return Rating { answer: Some(rule), candidates };
        }
        match &self.tolerant {
            Tolerant::Off => Rating::default(),
            Tolerant::Fuzzy(matcher) => matcher.rate(message),
            Tolerant::Semantic(matcher) => matcher.rate(message),
        }
    }

    fn vectors(&self) -> &dyn PhraseVectors {
        match &self.tolerant {
            Tolerant::Semantic(matcher) => &**matcher,
            Tolerant::Off | Tolerant::Fuzzy(_) => &NoVectors,
        }
    }

    fn literally(&self, message: &str) -> Option<u32> {
        let inside = || self.keywords.contains(message).filter(|_| self.contains);
        self.keywords.exact(message).or_else(inside).map(|hit| hit.rule)
    }

    /// What the matcher holds in memory, in bytes.
    pub fn size(&self) -> usize {
        let tolerant = match &self.tolerant {
            Tolerant::Off => 0,
            Tolerant::Fuzzy(matcher) => matcher.size(),
            Tolerant::Semantic(matcher) => matcher.size(),
        };
        self.keywords.size() + tolerant
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [(&[&str], &str); 3] = [
        (&["營業時間", "opening hours"], "9-18"),
        (&["wifi password"], "ask the desk"),
        (&["refund"], "within 30 days"),
    ];

    fn answer(mode: &Mode, contains: bool, message: &str) -> Option<u32> {
        let keywords = RULES.map(|(keywords, _)| keywords.iter().map(ToString::to_string));
        let keywords: Vec<Vec<String>> = keywords.into_iter().map(Iterator::collect).collect();
        let rules = keywords.iter().zip(RULES);
        let rules: Vec<_> = rules
            .map(|(keywords, (_, answer))| RuleText { keywords, question: "", answer })
            .collect();
        RuleMatcher::build(&rules, mode, contains, None).unwrap().rate(message).answer
    }

    #[test]
    fn keyword_mode_takes_words_literally() {
        assert_eq!(answer(&Mode::Keyword, false, "Opening hours?"), Some(0));
        assert_eq!(answer(&Mode::Keyword, false, "your opening hours"), None);
        assert_eq!(answer(&Mode::Keyword, true, "your opening hours"), Some(0));
        assert_eq!(answer(&Mode::Keyword, true, "opning hours"), None);
    }

    #[test]
    fn fuzzy_mode_forgives_typos() {
        assert_eq!(answer(&Mode::Fuzzy, false, "opning huors"), Some(0));
        assert_eq!(answer(&Mode::Fuzzy, false, "營業的時間"), Some(0));
        assert_eq!(answer(&Mode::Fuzzy, false, "see you tomorrow"), None);
    }

    #[test]
    fn semantic_mode_looks_for_the_meaning() {
        let mode = Mode::Semantic(SemanticSpace::built_in());
        assert_eq!(answer(&mode, false, "I want my money back, refund please"), Some(2));
        assert_eq!(answer(&mode, false, "what is the password of the wifi network"), Some(1));
        assert_eq!(answer(&mode, false, "haha nice"), None);
    }
}
