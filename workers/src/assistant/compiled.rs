//! A channel's settings compiled for deciding.

use std::sync::Arc;

use chatkeep_core::assistant::{AssistantConfig, KeywordMatch, QaConfig, QaMode, Rule, Strictness};
use chatkeep_core::plan::Plan;
use chatkeep_index::answer::{self, Matching, Mode, RuleMatcher, RuleText};
use chatkeep_index::keyword::{KeywordError, KeywordMatcher};
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_store::AssistantState;

/// Compiled settings of a channel.
#[derive(Debug)]
pub struct Compiled {
    pub(super) config: AssistantConfig,
    pub(super) group_rules: String,
    pub(super) rules: Vec<Rule>,
    pub(super) triggers: KeywordMatcher,
    /// Address of the channel's page, if the link is switched on and there is one.
    pub(super) link: Option<String>,
    pub(super) link_triggers: KeywordMatcher,
    pub(super) matcher: RuleMatcher,
    /// Effective matching mode, which the owner's plan may lower.
    pub(super) mode: QaMode,
}

/// Settings that an assistant is compiled from.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Switches.
    pub config: AssistantConfig,
    /// Group rules.
    pub group_rules: String,
    /// Rules, oldest first.
    pub rules: Vec<Rule>,
    /// Plan of the channel's owner.
    pub plan: Option<Plan>,
    /// Address of the channel's page; `None` without a public address of the service.
    pub link: Option<String>,
}

impl Source {
    /// Returns the effective mode: semantic needs the plan, and falls back to fuzzy without it.
    pub fn mode(&self) -> QaMode {
        self.config.qa.mode.under(self.plan)
    }
}

impl Compiled {
    /// Compiles settings. Takes long for many rules: call it where blocking does no harm. Phrases
    /// that are in `before`, the same channel's previous settings, are reused.
    ///
    /// # Errors
    /// Fails when the keywords cannot be compiled.
    pub fn new(
        source: Source,
        space: &Arc<SemanticSpace>,
        before: Option<&Self>,
    ) -> Result<Self, KeywordError> {
        let mode = source.mode();
        let Source { config, group_rules, rules, link, .. } = source;
        let texts: Vec<_> = rules
            .iter()
            .map(|rule| RuleText {
                keywords: &rule.keywords,
                question: &rule.question,
                answer: &rule.answer,
                not_for: &rule.not_for,
            })
            .collect();
        let matching = matching(&config.qa, mode, space);
        let matcher = RuleMatcher::build(&texts, &matching, before.map(|before| &before.matcher))?;
        let triggers = triggers_of(&config.rules.trigger_keywords)?;
        let link_triggers = triggers_of(&config.link.trigger_keywords)?;
        let link = link.filter(|_| config.link.enabled);
        Ok(Self { config, group_rules, rules, triggers, link, link_triggers, matcher, mode })
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn size(&self) -> usize {
        let texts: usize = self.rules.iter().map(size_of_rule).sum();
        let triggers = self.triggers.size() + self.link_triggers.size();
        self.matcher.size() + triggers + texts + self.group_rules.len()
    }

    /// Returns the key of the settings' state; changes of neither part mean the same assistant.
    pub(super) const fn key(state: AssistantState) -> (i64, bool) {
        (state.version, matches!(state.plan, Some(Plan::Pro)))
    }
}

/// Returns the method of matching of these settings in that mode, which the owner's plan may lower.
fn matching(qa: &QaConfig, mode: QaMode, space: &Arc<SemanticSpace>) -> Matching {
    Matching {
        mode: match mode {
            QaMode::Keyword => Mode::Keyword,
            QaMode::Fuzzy => Mode::Fuzzy,
            QaMode::Semantic => Mode::Semantic(Arc::clone(space)),
        },
        contains: qa.keyword_match == KeywordMatch::Contains,
        strictness: strictness(qa.strictness),
    }
}

/// Returns the strictness of the matchers.
pub const fn strictness(of: Strictness) -> answer::Strictness {
    match of {
        Strictness::Careful => answer::Strictness::Careful,
        Strictness::Balanced => answer::Strictness::Balanced,
        Strictness::Eager => answer::Strictness::Eager,
    }
}

fn triggers_of(keywords: &[String]) -> Result<KeywordMatcher, KeywordError> {
    KeywordMatcher::build(keywords.iter().map(|keyword| (0, keyword.as_str())))
}

fn size_of_rule(rule: &Rule) -> usize {
    let words = rule.keywords.iter().chain(&rule.not_for);
    let words: usize = words.map(|word| word.len() + size_of::<String>()).sum();
    size_of::<Rule>() + words + rule.question.len() + rule.answer.len()
}
