//! The assistant's settings of a channel: switches, rules, welcome and group-rules texts, with
//! their limits.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::id::{RuleId, UserId};
use crate::plan::Plan;
use crate::time::Timestamp;

/// How rules are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum QaMode {
    /// Exact keywords.
    #[default]
    Keyword,
    /// Tolerates typos, word order and small changes.
    Fuzzy,
    /// Finds what means the same; for owners on plan `pro`.
    Semantic,
}

impl QaMode {
    /// The mode that holds under the plan of the channel's owner: semantic needs `pro`, and is fuzzy
    /// without it.
    #[must_use]
    pub fn under(self, plan: Option<Plan>) -> Self {
        match self {
            Self::Semantic if plan != Some(Plan::Pro) => Self::Fuzzy,
            mode => mode,
        }
    }
}

/// How a keyword is looked for in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeywordMatch {
    /// The message is the keyword.
    #[default]
    Exact,
    /// The keyword occurs in the message as whole words.
    Contains,
}

/// When `noMatchReply` is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoMatchScope {
    /// To every message without an answer.
    #[default]
    Always,
    /// Only when the bot is mentioned or quoted, or in a 1:1 chat.
    Addressed,
}

/// Question-and-answer settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QaConfig {
    /// The switch.
    pub enabled: bool,
    /// The mode.
    pub mode: QaMode,
    /// Sent when nothing matches.
    pub no_match_reply: Option<String>,
    /// When that is sent.
    pub no_match_scope: NoMatchScope,
    /// How keywords are looked for; also for the group-rules triggers.
    pub keyword_match: KeywordMatch,
    /// Seconds in which one rule answers once.
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
            cooldown_seconds: 0,
        }
    }
}

/// Welcome settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WelcomeConfig {
    /// The switch.
    pub enabled: bool,
    /// The welcome text; the same value as the first text of the welcome object.
    pub message: String,
}

/// Group-rules settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RulesConfig {
    /// The switch.
    pub enabled: bool,
    /// Words that make the bot answer with the group rules.
    pub trigger_keywords: Vec<String>,
}

/// The assistant's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AssistantConfig {
    /// The master switch.
    pub enabled: bool,
    /// Questions and answers.
    pub qa: QaConfig,
    /// Welcome.
    pub welcome: WelcomeConfig,
    /// Group rules.
    pub rules: RulesConfig,
}

impl Default for AssistantConfig {
    /// The master switch is on so that switching one feature on is enough; with no rules, no
    /// welcome and no group rules set, nothing is ever said.
    fn default() -> Self {
        Self {
            enabled: true,
            qa: QaConfig::default(),
            welcome: WelcomeConfig::default(),
            rules: RulesConfig::default(),
        }
    }
}

/// What an editor writes of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleDraft {
    /// What triggers it.
    pub keywords: Vec<String>,
    /// What it is about, for administrators.
    pub question: String,
    /// The reply.
    pub answer: String,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// Its id: `qa_<millis>_<suffix>`.
    pub id: RuleId,
    /// What triggers it.
    pub keywords: Vec<String>,
    /// What it is about, for administrators.
    pub question: String,
    /// The reply.
    pub answer: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: UserId,
    /// How many messages it matched.
    pub hit_count: i64,
    /// How many of its answers the cooldown held back.
    pub suppressed_count: i64,
}

/// Who changed a settings object last, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// When; null while it was never changed.
    pub updated_at: Option<Timestamp>,
    /// By whom; null while it was never changed.
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

/// A settings text: the group rules, or the welcome message.
#[derive(Clone, Debug, Default)]
pub struct SettingText {
    /// The last change.
    pub revision: Revision,
    /// The text.
    pub text: String,
}

/// Limits on what an editor may write; lengths in Unicode scalar values.
pub mod limits {
    /// Keywords of a rule, at most.
    pub const KEYWORDS: usize = 50;
    /// Characters of a keyword, at most.
    pub const KEYWORD: usize = 100;
    /// Characters of a question, at most.
    pub const QUESTION: usize = 500;
    /// Characters of an answer, at most.
    pub const ANSWER: usize = 5_000;
    /// Characters of the welcome and group-rules texts, at most.
    pub const TEXT: usize = 5_000;
    /// Rules of a channel, at most.
    pub const RULES: usize = 10_000;
    /// Bytes of all rules of a channel together, at most: keywords (as JSON), questions, answers.
    pub const RULE_BYTES: i64 = 8 * 1_024 * 1_024;
    /// Group-rules trigger keywords, at most.
    pub const TRIGGERS: usize = 50;
}
