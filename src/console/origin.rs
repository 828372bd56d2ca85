//! Origin of a reply of the bot, as a page tells it beside the reply.

use chatkeep_core::assistant::Rule;
use chatkeep_i18n::Language;
use chatkeep_services::assistant::VisibleRules;
use chatkeep_store::{ReplyOrigin, ReplySource, StoredMessage};
use chatkeep_view::{channel_path, segment};

use super::form::query_of;
use super::labels::shortened;

/// Maximum length of a rule's name in characters.
const NAME: usize = 80;

/// Origin of a reply as a page shows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OriginNote {
    pub(super) text: String,
    /// Question or keywords of the rule, and the path to it; for those who may edit rules.
    pub(super) rule: Option<(String, String)>,
    /// Link to the rule that keeps it from answering such messages.
    pub(super) wrong: Option<String>,
}

impl OriginNote {
    /// Returns the note of a message; `None` for one that is no reply, or is gone.
    pub(super) fn of(
        message: &StoredMessage,
        rules: &VisibleRules,
        language: Language,
    ) -> Option<Self> {
        let origin = message.reply.as_ref().filter(|_| message.content.is_some())?;
        let plain = |text| Some(Self::plain(text));
        match origin.source {
            ReplySource::Welcome => plain(language.text("origin-welcome")),
            ReplySource::Rules => plain(language.text("origin-group-rules")),
            ReplySource::Link => plain(language.text("origin-link")),
            ReplySource::NoMatch => plain(language.text("origin-no-match")),
            ReplySource::Qa => Some(Self::of_rule(message, origin, rules, language)),
        }
    }

    const fn plain(text: String) -> Self {
        Self { text, rule: None, wrong: None }
    }

    fn of_rule(
        message: &StoredMessage,
        origin: &ReplyOrigin,
        rules: &VisibleRules,
        language: Language,
    ) -> Self {
        let rule = match (rules, &origin.rule) {
            (VisibleRules::Of(rules), Some(id)) => rules.get(id),
            _ => return Self::plain(language.text("origin-some-rule")),
        };
        let Some(rule) = rule else {
            return Self::plain(language.text("origin-rule-removed"));
        };
        let id = segment(rule.id.as_str());
        let path = format!("{}/assistant/rules/{id}", channel_path(&message.channel));
        let wrong = format!("{path}?{}", query_of(&[("reply", message.id.as_str())]));
        let rule = Some((rule_name(rule, language), path));
        Self { text: language.text("origin-rule"), rule, wrong: Some(wrong) }
    }
}

/// Returns the words by which people know a rule: its question, else its keywords.
pub(super) fn rule_name(rule: &Rule, language: Language) -> String {
    let question = rule.question.trim();
    if !question.is_empty() {
        return shortened(question, NAME);
    }
    shortened(&rule.keywords.join(&language.text("list-comma")), NAME)
}
