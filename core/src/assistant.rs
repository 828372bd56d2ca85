//! The assistant's settings of a channel: switches, rules, welcome and group-rules texts, with
//! their limits.

use serde::{Deserialize, Serialize};

use crate::id::{RuleId, UserId};
use crate::named;
use crate::plan::Plan;
use crate::time::Timestamp;

/// Matching mode of rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QaMode {
    /// Exact keywords.
    #[default]
    Keyword,
    /// Tolerates typos, word order and small changes.
    Fuzzy,
    /// Matches by meaning; for owners on plan `pro`.
    Semantic,
}

named! {
    pub QaMode {
        Keyword = "keyword",
        Fuzzy = "fuzzy",
        Semantic = "semantic",
    }
}

impl QaMode {
    /// Returns the mode that applies under the plan of the channel's owner: semantic needs `pro`,
    /// and falls back to fuzzy without it.
    #[must_use]
    pub fn under(self, plan: Option<Plan>) -> Self {
        match self {
            Self::Semantic if plan != Some(Plan::Pro) => Self::Fuzzy,
            mode => mode,
        }
    }
}

/// Matching of a keyword against a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeywordMatch {
    /// The message is the keyword.
    #[default]
    Exact,
    /// The keyword occurs in the message as whole words.
    Contains,
}

named! {
    pub KeywordMatch {
        Exact = "exact",
        Contains = "contains",
    }
}

/// Certainty that a reply of the modes `fuzzy` and `semantic` requires. The stricter, the fewer
/// messages get a reply of a rule that is not for them, and the more questions get none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// About 2 % of the messages that no rule is for get a reply.
    Careful,
    /// About 5 %.
    #[default]
    Balanced,
    /// About 10 %.
    Eager,
}

named! {
    pub Strictness {
        Careful = "careful",
        Balanced = "balanced",
        Eager = "eager",
    }
}

/// Scope of `noMatchReply`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoMatchScope {
    /// Sent for every message that no rule answers.
    #[default]
    Always,
    /// Sent only when the bot is mentioned or quoted, or in a 1:1 chat.
    Addressed,
}

named! {
    pub NoMatchScope {
        Always = "always",
        Addressed = "addressed",
    }
}

/// Question-and-answer settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QaConfig {
    /// `true` when questions and answers are switched on.
    pub enabled: bool,
    /// Matching mode.
    pub mode: QaMode,
    /// Reply that is sent when no rule matches.
    pub no_match_reply: Option<String>,
    /// Messages that get this reply.
    pub no_match_scope: NoMatchScope,
    /// Matching of keywords; also of the triggers of the group rules and of the link.
    pub keyword_match: KeywordMatch,
    /// Certainty that a reply of the tolerant modes requires.
    pub strictness: Strictness,
    /// Seconds after a reply in which the same rule, or the link, stays silent.
    pub cooldown_seconds: u32,
}

impl Default for QaConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            mode: QaMode::default(),
            no_match_reply: None,
            no_match_scope: NoMatchScope::default(),
            keyword_match: KeywordMatch::default(),
            strictness: Strictness::default(),
            cooldown_seconds: 0,
        }
    }
}

/// Welcome settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WelcomeConfig {
    /// `true` when the welcome message is switched on.
    pub enabled: bool,
    /// Welcome text; the same as the first text of the welcome object.
    pub message: String,
}

/// Settings of a reply that certain words trigger: the group rules, or the link to the channel's
/// page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TriggerConfig {
    /// `true` when the reply is switched on.
    pub enabled: bool,
    /// Words that make the bot send it.
    pub trigger_keywords: Vec<String>,
}

/// The assistant's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AssistantConfig {
    /// Master switch.
    pub enabled: bool,
    /// Questions and answers.
    pub qa: QaConfig,
    /// Welcome.
    pub welcome: WelcomeConfig,
    /// Group rules.
    pub rules: TriggerConfig,
    /// Link to the channel's page.
    pub link: TriggerConfig,
}

impl Default for AssistantConfig {
    /// Returns settings with the master switch on, so that switching one feature on is enough; with
    /// no rules, no welcome, no group rules and no link set, the bot never replies.
    fn default() -> Self {
        Self {
            enabled: true,
            qa: QaConfig::default(),
            welcome: WelcomeConfig::default(),
            rules: TriggerConfig::default(),
            link: TriggerConfig::default(),
        }
    }
}

/// A rule as its editor submits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleDraft {
    /// Keywords that trigger it.
    pub keywords: Vec<String>,
    /// Question that it is for, shown to administrators.
    pub question: String,
    /// The reply.
    pub answer: String,
    /// Texts that it must not answer.
    pub not_for: Vec<String>,
}

/// Question-and-answer rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// ID of the rule: `qa_<millis>_<suffix>`.
    pub id: RuleId,
    /// Keywords that trigger it.
    pub keywords: Vec<String>,
    /// Question that it is for, shown to administrators.
    pub question: String,
    /// The reply.
    pub answer: String,
    /// Texts that it must not answer.
    pub not_for: Vec<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// User who created it.
    pub created_by: UserId,
    /// Time of the last change of its texts; the time of creation before the first.
    #[serde(skip)]
    pub changed_at: Timestamp,
    /// Number of messages that it matched.
    pub hit_count: i64,
    /// Number of its replies that the cooldown suppressed.
    pub suppressed_count: i64,
}

impl Rule {
    /// Creates a rule of these texts, which has matched nothing yet.
    pub fn new(id: RuleId, draft: RuleDraft, created_at: Timestamp, created_by: UserId) -> Self {
        let RuleDraft { keywords, question, answer, not_for } = draft;
        Self {
            id,
            keywords,
            question,
            answer,
            not_for,
            created_at,
            created_by,
            changed_at: created_at,
            hit_count: 0,
            suppressed_count: 0,
        }
    }
}

/// The texts of a rule.
impl From<Rule> for RuleDraft {
    fn from(rule: Rule) -> Self {
        let Rule { keywords, question, answer, not_for, .. } = rule;
        Self { keywords, question, answer, not_for }
    }
}

/// Author and time of the last change of a settings object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// Time of the last change; null if it was never changed.
    pub updated_at: Option<Timestamp>,
    /// Author of the last change; null if it was never changed.
    pub updated_by: Option<UserId>,
}

/// A channel's rules, oldest first.
#[derive(Clone, Debug, Default)]
pub struct RuleList {
    /// The last change.
    pub revision: Revision,
    /// The rules.
    pub items: Vec<Rule>,
}

/// A text setting: the group rules, or the welcome message.
#[derive(Clone, Debug, Default)]
pub struct SettingText {
    /// The last change.
    pub revision: Revision,
    /// The text.
    pub text: String,
}

/// Limits of what an editor may submit; lengths in Unicode scalar values.
pub mod limits {
    /// Maximum number of keywords of a rule.
    pub const KEYWORDS: usize = 50;
    /// Maximum length of a keyword.
    pub const KEYWORD: usize = 100;
    /// Maximum length of a question.
    pub const QUESTION: usize = 500;
    /// Maximum length of an answer.
    pub const ANSWER: usize = 5_000;
    /// Maximum length of the welcome and group-rules texts.
    pub const TEXT: usize = 5_000;
    /// Maximum number of texts that a rule must not answer.
    pub const NOT_FOR: usize = 50;
    /// Maximum length of such a text.
    pub const NOT_FOR_TEXT: usize = 500;
    /// Maximum number of rules of a channel.
    pub const RULES: usize = 10_000;
    /// Maximum bytes of all rules of a channel together: keywords and texts that rules
    /// must not answer (as JSON), questions, answers.
    pub const RULE_BYTES: i64 = 8 * 1_024 * 1_024;
    /// Maximum number of trigger keywords of the group rules, and of the link.
    pub const TRIGGERS: usize = 50;
}
