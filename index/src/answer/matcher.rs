//! Matching of a channel's rules, in any mode.

use std::sync::Arc;

use crate::fuzzy::FuzzyMatcher;
use crate::keyword::{KeywordError, KeywordHit, KeywordMatcher};
use crate::semantic::{NoVectors, PhraseVectors, SemanticMatcher, SemanticSpace};

use super::{Acceptance, Candidate, Rating, RuleText, thresholds};

/// Tolerance between a message and a rule.
#[derive(Clone, Debug)]
pub enum Mode {
    /// Word for word.
    Keyword,
    /// Tolerates typos, word order and small changes.
    Fuzzy,
    /// By meaning, as this space measures it.
    Semantic(Arc<SemanticSpace>),
}

/// A compiled matcher of a channel's rules. Built once, shared, replaced as a whole.
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
    /// Compiles `rules`, oldest first. With `contains`, a keyword that occurs in a message as whole
    /// words counts as much as a message that equals the keyword. Phrases that are in `before` as
    /// well, the matcher that this one replaces, are not computed again.
    ///
    /// # Errors
    /// Fails when the keywords cannot be compiled.
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

    /// Returns the rule that answers `message`, if any, and the best candidates. A word-for-word
    /// match takes precedence over any tolerant one.
    pub fn rate(&self, message: &str) -> Rating {
        if let Some(KeywordHit { rule, .. }) = self.literally(message) {
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

    /// Returns the rule that answers `message` word for word, with the keyword.
    pub fn literally(&self, message: &str) -> Option<KeywordHit> {
        let inside = || self.keywords.contains(message).filter(|_| self.contains);
        self.keywords.exact(message).or_else(inside)
    }

    /// Returns the thresholds of tolerant matches; `None` where there are none.
    pub fn acceptance(&self) -> Option<Acceptance> {
        match &self.tolerant {
            Tolerant::Off => None,
            Tolerant::Fuzzy(_) => Some(thresholds::FUZZY),
            Tolerant::Semantic(matcher) => Some(matcher.acceptance()),
        }
    }

    /// Returns the memory of the matcher in bytes.
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
