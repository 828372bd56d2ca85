//! Decision on the reply to a text, as a pure function of the text and the settings.

use std::borrow::Cow;
use std::time::Duration;

use chatkeep_core::assistant::{KeywordMatch, NoMatchScope, QaMode, Rule};
use chatkeep_core::id::RuleId;
use chatkeep_index::answer::{Acceptance, Rating};
use chatkeep_index::keyword::{KeywordHit, KeywordMatcher};
use chatkeep_index::{fold, is_blank, without_addresses};
use chatkeep_store::ReplySource;

use super::compiled::Compiled;

/// Maximum length of a text that is considered, in characters: what people can send at once.
const MAX_TEXT: usize = 5_000;
/// Bytes of a text times rules that are decided in well under a millisecond.
const QUICK: usize = 20_000;

/// Decision on a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A reply.
    Answer(Reply),
    /// No rule matched; the no-match reply may apply.
    NoMatch,
    /// No reply: the assistant, or everything that could reply, is switched off, or the text says
    /// nothing.
    Silent,
}

/// A decided reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Source of the reply.
    pub source: ReplySource,
    /// Rule, for [`ReplySource::Qa`].
    pub rule: Option<RuleId>,
    /// Text of the reply.
    pub text: String,
}

/// A decision, and its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionTrace {
    /// Decision.
    pub decision: Decision,
    /// Rating of the rules; empty if they were not rated.
    pub rating: Rating,
}

/// Returns what rules are rated for in a text: its beginning, if it is longer than people can send,
/// without links and mail addresses, unless all of it `is_keyword`.
pub fn words_to_rate(text: &str, is_keyword: impl FnOnce(&str) -> bool) -> Cow<'_, str> {
    let text = text.char_indices().nth(MAX_TEXT).map_or(text, |(end, _)| &text[..end]);
    match without_addresses(text) {
        Cow::Owned(words) if !is_keyword(text) => words.into(),
        _ => text.into(),
    }
}

impl Compiled {
    /// Decides on a text: triggers of the group rules first, then of the link, then questions and
    /// answers.
    pub fn decide(&self, text: &str) -> Decision {
        self.consider(text).decision
    }

    /// Returns whether deciding on a text takes well under a millisecond.
    pub fn is_quick(&self, text: &str) -> bool {
        text.len().saturating_mul(self.rules.len().max(1)) <= QUICK
    }

    /// Decides on a text, and rates the rules. See [`words_to_rate`] for what is considered.
    pub fn consider(&self, text: &str) -> DecisionTrace {
        let text = &*self.words_of(text);
        let without_rules = |decision| DecisionTrace { decision, rating: Rating::default() };
        if !self.config.enabled {
            return without_rules(Decision::Silent);
        }
        if let Some(triggered) = self.group_rules_for(text).or_else(|| self.link_for(text)) {
            return without_rules(Decision::Answer(triggered));
        }
        if !self.config.qa.enabled {
            return without_rules(Decision::Silent);
        }
        let rating = self.matcher.rate(text);
        let rule = rating.answer.and_then(|ordinal| self.rule(ordinal));
        let answer = rule.map(|rule| Reply {
            source: ReplySource::Qa,
            rule: Some(rule.id.clone()),
            text: rule.answer.clone(),
        });
        // Nobody asks anything with signs and emoji alone, nor with an address.
        let nothing =
            if text.contains(char::is_alphanumeric) { Decision::NoMatch } else { Decision::Silent };
        DecisionTrace { decision: answer.map_or(nothing, Decision::Answer), rating }
    }

    /// Returns the words of a text.
    fn words_of<'t>(&self, text: &'t str) -> Cow<'t, str> {
        words_to_rate(text, |text| {
            let triggers = [&self.triggers, &self.link_triggers];
            triggers.iter().any(|all| all.exact(text).is_some()) || self.matcher.is_keyword(text)
        })
    }

    /// Returns the rule of that ordinal.
    pub fn rule(&self, ordinal: u32) -> Option<&Rule> {
        self.rules.get(ordinal as usize)
    }

    /// Returns the effective matching mode, which the owner's plan may lower.
    pub const fn mode(&self) -> QaMode {
        self.mode
    }

    fn group_rules_for(&self, text: &str) -> Option<Reply> {
        if !self.config.rules.enabled || is_blank(&self.group_rules) {
            return None;
        }
        if !self.triggered(&self.triggers, text) {
            return None;
        }
        Some(Reply { source: ReplySource::Rules, rule: None, text: self.group_rules.clone() })
    }

    fn link_for(&self, text: &str) -> Option<Reply> {
        let link = self.link.as_ref().filter(|_| self.triggered(&self.link_triggers, text))?;
        Some(Reply { source: ReplySource::Link, rule: None, text: link.clone() })
    }

    /// Returns the group-rules trigger of a text, folded, where such a text gets the group rules.
    pub fn trigger_of(&self, text: &str) -> Option<String> {
        let text = &*self.words_of(text);
        self.group_rules_for(text)?;
        let hit = self.triggers.exact(text).or_else(|| self.triggers.contains(text))?;
        Some(keyword_at(text, hit))
    }

    /// Returns the trigger of the link in a text, folded, where such a text gets the link.
    pub fn link_trigger_of(&self, text: &str) -> Option<String> {
        let text = &*self.words_of(text);
        if self.group_rules_for(text).is_some() {
            return None;
        }
        self.link_for(text)?;
        let hit = self.link_triggers.exact(text).or_else(|| self.link_triggers.contains(text))?;
        Some(keyword_at(text, hit))
    }

    /// Returns the keyword of a rule, folded, that answers a text word for word.
    pub fn keyword_of(&self, text: &str) -> Option<String> {
        let text = &*self.words_of(text);
        self.matcher.literally(text).map(|hit| keyword_at(text, hit))
    }

    /// Returns the thresholds of tolerant matches; `None` in keyword mode.
    pub fn acceptance(&self) -> Option<Acceptance> {
        self.matcher.acceptance()
    }

    /// Returns whether the text is a trigger or, if the setting says so, contains one. The mode of the
    /// rules is no matter: a tolerant one finds what people ask, and a trigger is no question.
    fn triggered(&self, triggers: &KeywordMatcher, text: &str) -> bool {
        let inside = !self.needs_whole_keywords();
        triggers.exact(text).is_some() || (inside && triggers.contains(text).is_some())
    }

    /// Returns whether a keyword has to be the whole message.
    pub fn needs_whole_keywords(&self) -> bool {
        self.config.qa.keyword_match == KeywordMatch::Exact
    }

    /// Returns the no-match reply, if one is set.
    pub fn no_match(&self) -> Option<String> {
        self.config.qa.no_match_reply.clone().filter(|text| !is_blank(text))
    }

    /// Returns whether the no-match reply is sent for every message without a matching rule.
    pub fn answers_everything(&self) -> bool {
        self.config.qa.no_match_scope == NoMatchScope::Always
    }

    /// Returns the time for which one rule stays silent after a reply.
    pub fn cooldown(&self) -> Duration {
        Duration::from_secs(u64::from(self.config.qa.cooldown_seconds))
    }

    /// Returns the welcome text, if the welcome is switched on.
    pub fn welcome(&self) -> Option<&str> {
        let text = self.config.welcome.message.as_str();
        let on = self.config.enabled && self.config.welcome.enabled && !is_blank(text);
        on.then_some(text)
    }
}

fn keyword_at(text: &str, hit: KeywordHit) -> String {
    fold(text).chars().skip(hit.start).take(hit.len).collect()
}

#[cfg(test)]
mod tests {
    use chatkeep_core::assistant::{AssistantConfig, RuleDraft};
    use chatkeep_core::plan::Plan;
    use chatkeep_core::time::Timestamp;
    use chatkeep_index::semantic::SemanticSpace;

    use super::super::compiled::Source;
    use super::*;

    const LINK: &str = "https://chat.example.org/c/C1";

    fn rule(id: &str, keywords: &[&str], answer: &str) -> Rule {
        let keywords = keywords.iter().map(ToString::to_string).collect();
        let draft = RuleDraft { keywords, answer: answer.to_owned(), ..RuleDraft::default() };
        Rule::new(id.into(), draft, Timestamp::default(), "U1".into())
    }

    fn compiled(change: impl FnOnce(&mut AssistantConfig)) -> Compiled {
        on_plan(Some(Plan::Free), change)
    }

    fn on_plan(plan: Option<Plan>, change: impl FnOnce(&mut AssistantConfig)) -> Compiled {
        let mut config = AssistantConfig::default();
        config.rules.enabled = true;
        config.rules.trigger_keywords = vec!["版規".to_owned(), "rules".to_owned()];
        change(&mut config);
        let rules = vec![
            rule("qa_1_a", &["營業時間", "hours"], "9-18"),
            rule("qa_2_b", &["rules"], "never reached"),
        ];
        let group_rules = "Be kind".to_owned();
        let link = Some(LINK.to_owned());
        let source = Source { config, group_rules, rules, plan, link };
        Compiled::new(source, &SemanticSpace::built_in(), None).unwrap()
    }

    fn said(decision: Decision) -> Option<String> {
        match decision {
            Decision::Answer(answer) => Some(answer.text),
            Decision::NoMatch | Decision::Silent => None,
        }
    }

    #[test]
    fn the_rules_trigger_comes_first() {
        let assistant = compiled(|_| ());
        assert_eq!(said(assistant.decide("RULES!")), Some("Be kind".to_owned()));
        assert_eq!(said(assistant.decide("版規")), Some("Be kind".to_owned()));
    }

    #[test]
    fn triggers_are_the_whole_message_in_tolerant_modes_too() {
        let fuzzy = compiled(|config| config.qa.mode = QaMode::Fuzzy);
        assert_eq!(said(fuzzy.decide("rules")), Some("Be kind".to_owned()));
        let broken = "he broke the rules of football once more";
        assert_eq!(fuzzy.trigger_of(broken), None);
        assert_ne!(said(fuzzy.decide(broken)), Some("Be kind".to_owned()));
        let contains = compiled(|config| {
            config.qa.mode = QaMode::Fuzzy;
            config.qa.keyword_match = KeywordMatch::Contains;
        });
        assert_eq!(said(contains.decide(broken)), Some("Be kind".to_owned()));
    }

    #[test]
    fn the_link_comes_after_the_group_rules_and_before_all_rules() {
        let words = |config: &mut AssistantConfig| {
            config.link.trigger_keywords = ["連結", "rules", "hours"].map(str::to_owned).to_vec();
        };
        let off = compiled(words);
        assert_eq!(off.decide("連結"), Decision::NoMatch);
        let on = compiled(|config| {
            words(config);
            config.link.enabled = true;
        });
        assert_eq!(said(on.decide("連結！")), Some(LINK.to_owned()));
        assert_eq!(said(on.decide("hours")), Some(LINK.to_owned()));
        assert_eq!(said(on.decide("rules")), Some("Be kind".to_owned()));
        assert_eq!(on.decide("請給我連結"), Decision::NoMatch);
        let inside = compiled(|config| {
            words(config);
            config.link.enabled = true;
            config.qa.keyword_match = KeywordMatch::Contains;
        });
        assert_eq!(said(inside.decide("請給我連結")), Some(LINK.to_owned()));
    }

    #[test]
    fn keywords_and_triggers_of_a_text_can_be_told() {
        let contains = compiled(|c| c.qa.keyword_match = KeywordMatch::Contains);
        assert_eq!(contains.keyword_of("請問 Ｈｏｕｒｓ?").as_deref(), Some("hours"));
        assert_eq!(contains.trigger_of("the RULES please").as_deref(), Some("rules"));
        assert_eq!(contains.trigger_of("hours"), None);
        let exact = compiled(|_| ());
        assert_eq!(exact.keyword_of("my hours"), None);
        assert_eq!((exact.trigger_of("my rules"), exact.acceptance()), (None, None));
        assert!(compiled(|c| c.qa.mode = QaMode::Fuzzy).acceptance().is_some());
    }

    #[test]
    fn triggers_of_the_link_can_be_told() {
        let words = |config: &mut AssistantConfig| {
            config.link.trigger_keywords = ["Link", "rules"].map(str::to_owned).to_vec();
            config.qa.keyword_match = KeywordMatch::Contains;
        };
        let on = compiled(|config| {
            words(config);
            config.link.enabled = true;
        });
        assert_eq!(on.link_trigger_of("the ＬＩＮＫ please").as_deref(), Some("link"));
        assert_eq!(on.link_trigger_of("hours"), None);
        // Who gets the group rules does not get the link.
        assert_eq!(on.link_trigger_of("link to the rules"), None);
        assert_eq!(on.trigger_of("link to the rules").as_deref(), Some("rules"));
        assert_eq!(compiled(words).link_trigger_of("link"), None);
    }

    #[test]
    fn exact_needs_the_whole_message_and_contains_does_not() {
        let exact = compiled(|_| ());
        assert_eq!(said(exact.decide("Ｈｏｕｒｓ?")), Some("9-18".to_owned()));
        assert_eq!(exact.decide("請問營業時間"), Decision::NoMatch);
        let contains = compiled(|c| c.qa.keyword_match = KeywordMatch::Contains);
        assert_eq!(said(contains.decide("請問營業時間")), Some("9-18".to_owned()));
    }

    #[test]
    fn addresses_and_signs_ask_for_nothing() {
        let contains = compiled(|c| c.qa.keyword_match = KeywordMatch::Contains);
        for text in ["https://a.example/rules", "www.example.com/hours?", "hours@kit.example"] {
            assert_eq!(contains.decide(text), Decision::Silent, "{text}");
            assert_eq!(contains.trigger_of(text), None, "{text}");
            assert_eq!(contains.keyword_of(text), None, "{text}");
        }
        let asked = "hours? not in https://a.example/rules";
        assert_eq!(said(contains.decide(asked)), Some("9-18".to_owned()));
        for text in ["😂😂", ".", "？！", " "] {
            assert_eq!(contains.decide(text), Decision::Silent, "{text}");
        }
        assert_eq!(contains.decide("see https://a.example"), Decision::NoMatch);
        let exact = compiled(|_| ());
        assert_eq!(exact.decide("hours https://a.example"), Decision::NoMatch, "not all of it");
    }

    #[test]
    fn semantic_needs_the_plan_and_is_fuzzy_without_it() {
        let semantic = |config: &mut AssistantConfig| config.qa.mode = QaMode::Semantic;
        assert_eq!(on_plan(Some(Plan::Pro), semantic).mode(), QaMode::Semantic);
        assert_eq!(on_plan(Some(Plan::Free), semantic).mode(), QaMode::Fuzzy);
        assert_eq!(on_plan(None, semantic).mode(), QaMode::Fuzzy);
    }

    #[test]
    fn tolerant_modes_say_how_near_rules_were() {
        let fuzzy = compiled(|c| c.qa.mode = QaMode::Fuzzy);
        let considered = fuzzy.consider("huors");
        assert_eq!(said(considered.decision), Some("9-18".to_owned()));
        let best = considered.rating.candidates[0];
        assert!(best.rule == 0 && best.score < 1.0, "{best:?}");
        assert_eq!(fuzzy.consider("RULES!").rating, Rating::default(), "rules were not asked");
    }

    #[test]
    fn only_what_people_can_write_is_looked_at() {
        let contains = compiled(|c| c.qa.keyword_match = KeywordMatch::Contains);
        let padded = |length: usize| format!("{} hours", "x".repeat(length));
        assert_eq!(said(contains.decide(&padded(MAX_TEXT - 6))), Some("9-18".to_owned()));
        assert_eq!(contains.decide(&padded(MAX_TEXT)), Decision::NoMatch);
        assert!(contains.is_quick("hours") && !contains.is_quick(&padded(QUICK)));
    }

    #[test]
    fn switches_switch_off() {
        assert_eq!(compiled(|c| c.enabled = false).decide("hours"), Decision::Silent);
        assert_eq!(compiled(|c| c.qa.enabled = false).decide("hours"), Decision::Silent);
        let no_rules = compiled(|c| c.rules.enabled = false);
        assert_eq!(said(no_rules.decide("rules")), Some("never reached".to_owned()));
    }
}
