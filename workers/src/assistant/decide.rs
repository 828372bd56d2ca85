//! What the assistant says to a text, as a pure function of the text and the settings.

use std::time::Duration;

use chatkeep_core::assistant::{KeywordMatch, NoMatchScope, QaMode};
use chatkeep_core::id::RuleId;
use chatkeep_core::store::ReplySource;
use chatkeep_index::keyword::KeywordMatcher;

use super::compiled::Compiled;

/// What is to be said to a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// This.
    Answer(Answer),
    /// No rule matched; the no-match reply may apply.
    NoMatch,
    /// Nothing: the assistant, or everything that could answer, is switched off.
    Silent,
}

/// A decided answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What it comes from.
    pub source: ReplySource,
    /// The rule, for [`ReplySource::Qa`].
    pub rule: Option<RuleId>,
    /// The text.
    pub text: String,
}

impl Compiled {
    /// Decides on a text: rules trigger, then questions and answers (contract section 6).
    pub fn decide(&self, text: &str) -> Decision {
        if !self.config.enabled {
            return Decision::Silent;
        }
        if let Some(rules) = self.group_rules_for(text) {
            return Decision::Answer(rules);
        }
        if !self.config.qa.enabled {
            return Decision::Silent;
        }
        match self.find(&self.keywords, text).and_then(|ordinal| self.rules.get(ordinal as usize)) {
            Some(rule) => Decision::Answer(Answer {
                source: ReplySource::Qa,
                rule: Some(rule.id.clone()),
                text: rule.answer.clone(),
            }),
            None => Decision::NoMatch,
        }
    }

    fn group_rules_for(&self, text: &str) -> Option<Answer> {
        if !self.config.rules.enabled || self.group_rules.trim().is_empty() {
            return None;
        }
        self.find(&self.triggers, text)?;
        Some(Answer { source: ReplySource::Rules, rule: None, text: self.group_rules.clone() })
    }

    /// The rule whose keyword the text is or, where the setting says so, contains.
    fn find(&self, matcher: &KeywordMatcher, text: &str) -> Option<u32> {
        let exact = matcher.exact(text);
        let hit =
            if self.looks_inside() { exact.or_else(|| matcher.contains(text)) } else { exact };
        hit.map(|hit| hit.rule)
    }

    /// Whether a keyword may stand anywhere in a text. The tolerant modes look at least that far:
    /// whoever chose them does not expect messages to be keywords.
    fn looks_inside(&self) -> bool {
        let qa = &self.config.qa;
        qa.keyword_match == KeywordMatch::Contains || qa.mode != QaMode::Keyword
    }

    /// The no-match reply, if one is set.
    pub fn no_match(&self) -> Option<String> {
        self.config.qa.no_match_reply.clone().filter(|text| !text.trim().is_empty())
    }

    /// Whether the no-match reply goes to every message without an answer.
    pub fn answers_everything(&self) -> bool {
        self.config.qa.no_match_scope == NoMatchScope::Always
    }

    /// How long one rule stays silent after it answered.
    pub fn cooldown(&self) -> Duration {
        Duration::from_secs(u64::from(self.config.qa.cooldown_seconds))
    }

    /// The welcome text, if people are welcomed.
    pub fn welcome(&self) -> Option<&str> {
        let text = self.config.welcome.message.as_str();
        let on = self.config.enabled && self.config.welcome.enabled && !text.trim().is_empty();
        on.then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::assistant::{AssistantConfig, Rule};
    use chatkeep_core::time::Timestamp;

    use super::*;

    fn rule(id: &str, keywords: &[&str], answer: &str) -> Rule {
        Rule {
            id: id.into(),
            keywords: keywords.iter().map(ToString::to_string).collect(),
            question: String::new(),
            answer: answer.to_owned(),
            created_at: Timestamp::default(),
            created_by: "U1".into(),
            hit_count: 0,
            suppressed_count: 0,
        }
    }

    fn compiled(change: impl FnOnce(&mut AssistantConfig)) -> Compiled {
        let mut config = AssistantConfig::default();
        config.rules.enabled = true;
        config.rules.trigger_keywords = vec!["版規".to_owned(), "rules".to_owned()];
        change(&mut config);
        let rules = vec![
            rule("qa_1_a", &["營業時間", "hours"], "9-18"),
            rule("qa_2_b", &["rules"], "never reached"),
        ];
        Compiled::new(1, config, "Be kind".to_owned(), rules).unwrap()
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
    fn exact_needs_the_whole_message_and_contains_does_not() {
        let exact = compiled(|_| ());
        assert_eq!(said(exact.decide("Ｈｏｕｒｓ?")), Some("9-18".to_owned()));
        assert_eq!(exact.decide("請問營業時間"), Decision::NoMatch);
        let contains = compiled(|c| c.qa.keyword_match = KeywordMatch::Contains);
        assert_eq!(said(contains.decide("請問營業時間")), Some("9-18".to_owned()));
    }

    #[test]
    fn switches_switch_off() {
        assert_eq!(compiled(|c| c.enabled = false).decide("hours"), Decision::Silent);
        assert_eq!(compiled(|c| c.qa.enabled = false).decide("hours"), Decision::Silent);
        let no_rules = compiled(|c| c.rules.enabled = false);
        assert_eq!(said(no_rules.decide("rules")), Some("never reached".to_owned()));
    }
}
