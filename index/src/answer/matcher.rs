//! Matching of a channel's rules, in any mode.

use std::sync::Arc;

use crate::fuzzy::FuzzyMatcher;
use crate::keyword::{KeywordError, KeywordHit, KeywordMatcher};
use crate::semantic::{NoVectors, PhraseVectors, SemanticMatcher, SemanticSpace};

use super::exclusion::Exclusions;
use super::{Acceptance, Candidate, Rating, RuleText, Strictness, thresholds};

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

/// Method of matching.
#[derive(Clone, Debug)]
pub struct Matching {
    /// Tolerance.
    pub mode: Mode,
    /// `true` if a keyword that occurs in a message as whole words counts as much as a message that
    /// equals the keyword.
    pub contains: bool,
    /// Certainty that the tolerant modes require.
    pub strictness: Strictness,
}

/// A compiled matcher of a channel's rules. Built once, shared, replaced as a whole.
#[derive(Debug)]
pub struct RuleMatcher {
    keywords: KeywordMatcher,
    exclusions: Exclusions,
    contains: bool,
    strictness: Strictness,
    tolerant: Tolerant,
}

#[derive(Debug)]
enum Tolerant {
    Off,
    Fuzzy(Box<FuzzyMatcher>),
    Semantic(Box<SemanticMatcher>),
}

impl RuleMatcher {
    /// Compiles `rules`, oldest first. Phrases that are in `before` as well, the matcher that this
    /// one replaces, are not computed again.
    ///
    /// # Errors
    /// Fails when the keywords cannot be compiled.
    pub fn build(
        rules: &[RuleText<'_>],
        matching: &Matching,
        before: Option<&Self>,
    ) -> Result<Self, KeywordError> {
        let keywords = rules.iter().zip(0_u32..).flat_map(|(rule, ordinal)| {
            rule.keywords.iter().map(move |keyword| (ordinal, keyword.as_str()))
        });
        let Matching { mode, contains, strictness } = matching;
        let tolerant = match mode {
            Mode::Keyword => Tolerant::Off,
            Mode::Fuzzy => Tolerant::Fuzzy(Box::new(FuzzyMatcher::build(rules))),
            Mode::Semantic(space) => {
                let known = before.map_or(&NoVectors as &dyn PhraseVectors, Self::vectors);
                Tolerant::Semantic(Box::new(SemanticMatcher::build(rules, space, known)?))
            }
        };
        Ok(Self {
            keywords: KeywordMatcher::build(keywords)?,
            exclusions: Exclusions::build(rules)?,
            contains: *contains,
            strictness: *strictness,
            tolerant,
        })
    }

    /// Returns the rule that answers `message`, if any, and the best candidates. A word-for-word
    /// match takes precedence over any tolerant one.
    pub fn rate(&self, message: &str) -> Rating {
        let literal = self.literal(message);
        if let Some((KeywordHit { rule, .. }, false)) = literal {
            return Rating { answer: Some(rule), candidates: vec![Candidate::new(rule, 1.0)] };
        }
        match &self.tolerant {
            Tolerant::Off => {
                let excluded = literal
                    .map(|(hit, excluded)| Candidate { excluded, ..Candidate::new(hit.rule, 1.0) });
                Rating { answer: None, candidates: excluded.into_iter().collect() }
            }
            Tolerant::Fuzzy(matcher) => matcher.rate(message, self.strictness),
            Tolerant::Semantic(matcher) => matcher.rate(message, self.strictness),
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
        self.literal(message).filter(|(_, excluded)| !excluded).map(|(hit, _)| hit)
    }

    /// Returns whether the whole message is a keyword.
    pub fn is_keyword(&self, message: &str) -> bool {
        self.keywords.exact(message).is_some()
    }

    /// Returns the keyword of a message that answers it; if there is none, one whose rule must not
    /// answer it, and `true`.
    fn literal(&self, message: &str) -> Option<(KeywordHit, bool)> {
        let first = self.hit(message, |_| true)?;
        if self.exclusions.is_empty() {
            return Some((first, false));
        }
        let excluded = self.exclusions.in_message(message, self.contains);
        let answers = self.hit(message, |hit| !excluded.cover(hit));
        Some(answers.map_or((first, true), |hit| (hit, false)))
    }

    fn hit(&self, message: &str, accept: impl Fn(KeywordHit) -> bool) -> Option<KeywordHit> {
        let exact = self.keywords.exact(message).filter(|hit| accept(*hit));
        let inside = || self.keywords.contains_where(message, &accept);
        exact.or_else(|| self.contains.then(inside).flatten())
    }

    /// Returns the thresholds of tolerant matches; `None` where there are none.
    pub fn acceptance(&self) -> Option<Acceptance> {
        match &self.tolerant {
            Tolerant::Off => None,
            Tolerant::Fuzzy(_) => Some(thresholds::FUZZY.of(self.strictness)),
            Tolerant::Semantic(matcher) => Some(matcher.acceptance(self.strictness)),
        }
    }

    /// Returns the memory of the matcher in bytes.
    pub fn size(&self) -> usize {
        let tolerant = match &self.tolerant {
            Tolerant::Off => 0,
            Tolerant::Fuzzy(matcher) => matcher.size(),
            Tolerant::Semantic(matcher) => matcher.size(),
        };
        self.keywords.size() + self.exclusions.size() + tolerant
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
            .map(|(keywords, (_, answer))| RuleText { keywords, answer, ..RuleText::default() })
            .collect();
        let matching = Matching { mode: mode.clone(), contains, strictness: Strictness::default() };
        RuleMatcher::build(&rules, &matching, None).unwrap().rate(message).answer
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

    /// Returns what answers in keyword mode, and whether something would but for an exclusion.
    fn keyword(contains: bool, not_for: &[&str], message: &str) -> (Option<u32>, bool) {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (hours, not_for, other) =
            (owned(&["hours", "營業時間"]), owned(not_for), owned(&["our"]));
        let rules = [
            RuleText { keywords: &hours, not_for: &not_for, ..RuleText::default() },
            RuleText { keywords: &other, ..RuleText::default() },
        ];
        let strictness = Strictness::default();
        let matching = Matching { mode: Mode::Keyword, contains, strictness };
        let rating = RuleMatcher::build(&rules, &matching, None).unwrap().rate(message);
        (rating.answer, rating.candidates.iter().any(|near| near.excluded))
    }

    #[test]
    fn a_keyword_inside_of_a_text_that_is_not_for_the_rule_does_not_count() {
        let not_for = ["happy hours", "營業時間外"];
        for message in ["Happy HOURS!", "the happy hours begin", "營業時間外可以打電話嗎"]
        {
            assert_eq!(keyword(true, &not_for, message), (None, true), "{message}");
            assert_eq!(keyword(true, &[], message), (Some(0), false), "{message}");
        }
        for message in ["happy hours or opening hours?", "營業時間", "happy about your hours"] {
            assert_eq!(keyword(true, &not_for, message), (Some(0), false), "{message}");
        }
        assert_eq!(keyword(true, &not_for, "our happy hours"), (Some(1), false));
        assert_eq!(keyword(true, &not_for, "good morning"), (None, false));
    }

    #[test]
    fn addresses_are_no_words_of_a_text_that_is_not_for_the_rule() {
        let not_for = ["new hours: https://a.example/hours please read", "mail a@b.example, hours"];
        for text in not_for {
            let message = crate::without_addresses(text);
            assert_eq!(keyword(true, &not_for, &message), (None, true), "{message}");
            assert_eq!(keyword(true, &[], &message), (Some(0), false), "{message}");
        }
    }

    /// Returns what answers of rules of one keyword each.
    fn of_words(mode: &Mode, words: &[&str], message: &str) -> Option<usize> {
        let words: Vec<_> = words.iter().map(|word| vec![(*word).to_owned()]).collect();
        let rules = words.iter().map(|keywords| RuleText { keywords, ..RuleText::default() });
        let rules: Vec<_> = rules.collect();
        let strictness = Strictness::Balanced;
        let matching = Matching { mode: mode.clone(), contains: false, strictness };
        let rating = RuleMatcher::build(&rules, &matching, None).unwrap().rate(message);
        rating.answer.map(|rule| rule as usize)
    }

    #[test]
    fn another_number_or_letter_is_another_thing() {
        let semantic = Mode::Semantic(SemanticSpace::built_in());
        let words = ["3年級家長會", "A棟電梯", "第1次月考日期", "10月班費", "pitch 2", "plan b"];
        for mode in [&Mode::Fuzzy, &semantic] {
            for message in
                ["4年級家長會", "C棟電梯", "第2次月考日期", "11月班費", "pitch 3", "plan c"]
            {
                assert_eq!(of_words(mode, &words, message), None, "{message} {mode:?}");
            }
            let pairs = ["3年級家長會", "4年級家長會", "A棟電梯", "B棟電梯"];
            for (message, rule) in [("3年級家長會幾點", 0), ("4年級的家長會", 1), ("B 棟的電梯", 3)]
            {
                assert_eq!(of_words(mode, &pairs, message), Some(rule), "{message} {mode:?}");
            }
        }
    }

    #[test]
    fn another_number_beside_the_same_one_is_another_thing() {
        let semantic = Mode::Semantic(SemanticSpace::built_in());
        for mode in [&Mode::Fuzzy, &semantic] {
            for (one, other) in [
                ("5月5日活動", "5月6日活動"),
                ("5月5日活動", "6月5日活動"),
                ("10號10點集合", "10號9點集合"),
                ("3年3班功課", "3年4班功課"),
                ("3年4班功課", "4年3班功課"),
                ("bus 10 at 10", "bus 12 at 10"),
                ("四年級", "三年級"),
                ("五月五日活動", "五月六日活動"),
                ("三班功課", "十三班功課"),
                ("ชั้น ๔", "ชั้น ๓"),
                ("甲班功課", "乙班功課"),
                ("plan Б", "plan В"),
            ] {
                for (word, message) in [(one, other), (other, one)] {
                    assert_eq!(of_words(mode, &[word], message), None, "{word} {message} {mode:?}");
                    assert_eq!(of_words(mode, &[word], word), Some(0), "{word} {mode:?}");
                    let asked = of_words(mode, &[one, other], &format!("{word}?"));
                    assert_eq!(asked, Some(usize::from(word == other)), "{word} {mode:?}");
                }
            }
            assert_eq!(of_words(mode, &["5月5日活動", "5月6日活動"], "5月7日活動"), None);
        }
        for (word, message) in [("5月5日活動", "5月5日的活動"), ("甲班的功課", "甲班功課")]
        {
            assert_eq!(of_words(&Mode::Fuzzy, &[word], message), Some(0), "{message}");
        }
    }

    #[test]
    fn votes_and_counts_ask_for_nothing() {
        let words = ["A棟電梯", "1樓大廳", "3年級家長會", "10月班費", "7-11", "pitch 2", "plan b"];
        for message in ["+1", "1", "我+1", "3", "我3個", "B", "B餐", "10", "+10", "7", "+2", "3月"]
        {
            assert_eq!(of_words(&Mode::Fuzzy, &words, message), None, "{message}");
        }
        assert_eq!(of_words(&Mode::Fuzzy, &words, "1樓的大廳"), Some(1));
        assert_eq!(of_words(&Mode::Fuzzy, &words, "7-11"), Some(4));
    }

    #[test]
    fn a_word_of_a_long_message_that_asks_nothing_is_no_question_for_it() {
        let words = ["hours", "停車", "address", "明天", "ราคา"];
        for message in [
            "I waited four hours at the dentist yesterday and then the car broke down on the way",
            "他昨天在我家門口違規停車，我已經報警了，警察說要等兩個小時才會來",
            "please send me your email address so that I can forward the invoice to the accountant",
            "我家小孩明天要去外婆家，所以不會來",
        ] {
            assert_eq!(of_words(&Mode::Fuzzy, &words, message), None, "{message}");
        }
        for (message, rule) in [
            ("what are your hours today?", 0),
            ("請問附近哪裡可以停車", 1),
            ("your address please", 2),
            ("ราคาเท่าไหร่คะ", 4),
        ] {
            assert_eq!(of_words(&Mode::Fuzzy, &words, message), Some(rule), "{message}");
        }
    }

    #[test]
    fn of_two_rules_that_are_nearly_alike_the_better_one_answers() {
        let semantic = Mode::Semantic(SemanticSpace::built_in());
        let words = ["土曜日の練習時間", "日曜日の練習時間"];
        assert_eq!(of_words(&semantic, &words, "土曜日の練習時間は？"), Some(0));
        assert_eq!(of_words(&semantic, &words, "日曜の練習時間"), Some(1));
    }

    #[test]
    fn a_whole_message_is_excluded_without_contains_too() {
        assert_eq!(keyword(false, &["HOURS"], "hours?"), (None, true));
        assert_eq!(keyword(false, &["happy hours"], "hours?"), (Some(0), false));
    }
}
