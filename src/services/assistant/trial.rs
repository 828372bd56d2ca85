//! Simulated reply: what the assistant would say, without saying or counting it.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::{QaMode, Rule};
use chatkeep_core::event::ChannelKind;
use chatkeep_core::heavy::CALLERS;
use chatkeep_core::id::RuleId;
use chatkeep_core::plan::Plan;
use chatkeep_index::{KeywordMatcher, answer};
use chatkeep_store::ReplySource;
use chatkeep_workers::assistant::{Compiled, Decision, DecisionTrace, Reply, Source};
use tokio::sync::Semaphore;

use super::super::input::text;
use super::super::{FieldPath, ServiceError};
use super::{AssistantService, SettingsAccess};

/// Maximum characters of a text, LINE's limit.
const MAX_TEXT: usize = 5_000;

/// Simulated reply.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The reply; `None` when nothing is said.
    pub reply: Option<String>,
    /// Source of the reply; `None` when nothing is said.
    pub source: Option<ReplySource>,
    /// Rule that answers.
    pub rule: Option<RuleId>,
    /// Mode in effect under the plan of the channel's owner.
    pub mode: QaMode,
    /// Score of the best rule, from 0 to 1.
    pub score: f32,
    /// Best matching rules, best first.
    pub candidates: Vec<ScoredRule>,
}

/// A rule and its score.
#[derive(Clone, Debug)]
pub struct ScoredRule {
    /// The rule.
    pub rule: RuleId,
    /// Score, from 0 to 1.
    pub score: f32,
    /// True if the text is at least as near to one that the rule must not answer.
    pub excluded: bool,
}

/// Simulated replies in all modes.
#[derive(Clone, Debug)]
pub struct TrialReport {
    /// Reply under the present settings, cooldowns aside.
    pub now: Trial,
    /// True while the assistant and its questions and answers are switched on.
    pub is_on: bool,
    /// Replies of each mode, as if the assistant were switched on.
    pub modes: Vec<ModeTrial>,
}

/// Simulated reply in one mode.
#[derive(Clone, Debug)]
pub struct ModeTrial {
    /// The mode.
    pub mode: QaMode,
    /// True if the plan of the channel's owner includes it.
    pub is_included: bool,
    /// True if a keyword has to be the whole message.
    pub is_whole: bool,
    /// Reason for the reply or for none.
    pub reason: TrialReason,
    /// Score of the rule that answers, or else of the best that may.
    pub score: f32,
    /// Minimum score for a reply; `None` where words have to be the same.
    pub least_score: Option<f32>,
    /// Best matching rules, best first.
    pub candidates: Vec<TrialCandidate>,
}

/// Rule that a simulated message may be about.
#[derive(Clone, Debug)]
pub struct TrialCandidate {
    /// The rule.
    pub rule: Rule,
    /// Score, from 0 to 1.
    pub score: f32,
    /// True if it answers.
    pub answers: bool,
    /// True if the message is at least as near to a text that the rule must not answer.
    pub excluded: bool,
    /// Its keywords that occur in the message.
    pub found: Vec<String>,
}

/// Reason for a reply or for none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialReason {
    /// The text has this trigger of the group rules, which take precedence.
    Trigger(String),
    /// The text has this trigger of the link, which takes precedence over rules.
    LinkTrigger(String),
    /// The text is or has this keyword of the first candidate.
    Keyword(String),
    /// The first candidate is near enough.
    Near,
    /// The best rule must not answer such a text.
    Excluded,
    /// No rule is near enough.
    TooFar,
    /// The best two rules are about equally near.
    TooClose,
    /// No rule has anything in common with the text.
    Nothing,
}

/// Maximum bytes of the rules that are compiled for modes that are not in effect.
const MOST_RULES: usize = 1024 * 1024;

/// Permit of a trial in all modes, one at a time: each compiles all rules anew.
static MODE_TRIALS: Semaphore = Semaphore::const_new(1);

impl AssistantService {
    /// Simulates the reply to a message in all modes; nothing is sent, stored or counted. Where a
    /// channel has very many rules, only the mode in effect is tried.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a text that is empty or too long.
    #[boxed]
    pub async fn simulate_modes(
        &self,
        access: &SettingsAccess,
        message: String,
    ) -> Result<TrialReport, ServiceError> {
        let now = self.simulate(access, message.clone()).await?;
        let present = self.compiled(access.channel()).await?;
        let source = self.assistants.source(access.channel()).await?;
        let is_on = source.config.enabled && source.config.qa.enabled;
        let is_small = self.rules_size(access).await? <= MOST_RULES;
        let permit = MODE_TRIALS.acquire().await.map_err(|_| ServiceError::Unavailable)?;
        let mut modes = Vec::new();
        for mode in [QaMode::Keyword, QaMode::Fuzzy, QaMode::Semantic] {
            let is_included = mode.under(source.plan) == mode;
            let compiled = if is_on && mode == present.mode() {
                Arc::clone(&present)
            } else if is_small || mode == present.mode() {
                let source = in_mode(source.clone(), mode);
                self.assistants.compile_source(source, Some(Arc::clone(&present))).await?
            } else {
                continue;
            };
            let text = message.clone();
            let work = move || ModeTrial::new(&compiled, &text, (mode, is_included));
            modes.push(CALLERS.run(work).await);
        }
        drop(permit);
        Ok(TrialReport { now, is_on, modes })
    }

    /// Simulates the reply to a message with that text; nothing is sent, stored or counted.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a text that is empty or too long.
    #[boxed]
    pub async fn simulate(
        &self,
        access: &SettingsAccess,
        message: String,
    ) -> Result<Trial, ServiceError> {
        let message = text(FieldPath::body("/text"), message, 1, MAX_TEXT)?;
        let compiled = self.compiled(access.channel()).await?;
        let channel = self.store.channels().channel(access.channel()).await?;
        let alone = channel.is_some_and(|channel| channel.kind == ChannelKind::User);
        let work = move || Trial::new(&compiled, compiled.consider(&message), alone);
        Ok(CALLERS.run(work).await)
    }
}

impl Trial {
    /// `alone`: in a chat with the bot alone, where everything is meant for it.
    fn new(compiled: &Compiled, considered: DecisionTrace, alone: bool) -> Self {
        let best = considered.rating.best();
        let (score, mode) = (best.map_or(0.0, |best| best.score), compiled.mode());
        let candidates = candidates(compiled, &considered.rating.candidates);
        let (source, rule, reply) = match considered.decision {
            Decision::Answer(Reply { source, rule, text }) => (Some(source), rule, Some(text)),
            Decision::NoMatch if alone || compiled.answers_everything() => {
                let reply = compiled.no_match();
                (reply.as_ref().map(|_| ReplySource::NoMatch), None, reply)
            }
            Decision::NoMatch | Decision::Silent => (None, None, None),
        };
        // A trigger is always hit as a whole.
        let triggered = matches!(source, Some(ReplySource::Rules | ReplySource::Link));
        let score = if triggered { 1.0 } else { score };
        Self { reply, source, rule, mode, score, candidates }
    }
}

/// Returns settings as if the assistant were switched on in a mode that the plan includes.
fn in_mode(mut source: Source, mode: QaMode) -> Source {
    source.config.enabled = true;
    source.config.qa.enabled = true;
    source.config.qa.mode = mode;
    source.plan = Some(Plan::Pro);
    source
}

impl ModeTrial {
    fn new(compiled: &Compiled, text: &str, (mode, is_included): (QaMode, bool)) -> Self {
        let DecisionTrace { decision, rating } = compiled.consider(text);
        let least_score = compiled.acceptance().map(|acceptance| acceptance.least_score);
        let reason = match decision {
            Decision::Answer(Reply { source: ReplySource::Rules, .. }) => {
                TrialReason::Trigger(compiled.trigger_of(text).unwrap_or_default())
            }
            Decision::Answer(Reply { source: ReplySource::Link, .. }) => {
                TrialReason::LinkTrigger(compiled.link_trigger_of(text).unwrap_or_default())
            }
            Decision::Answer(_) => {
                compiled.keyword_of(text).map_or(TrialReason::Near, TrialReason::Keyword)
            }
            Decision::NoMatch | Decision::Silent => {
                let (first, least) = (rating.candidates.first(), least_score.unwrap_or(1.0));
                match rating.best() {
                    Some(best) if best.score >= least => TrialReason::TooClose,
                    _ if first.is_some_and(|first| first.score >= least) => TrialReason::Excluded,
                    _ if first.is_some() => TrialReason::TooFar,
                    _ => TrialReason::Nothing,
                }
            }
        };
        let candidate = |near: &answer::Candidate| {
            let answer::Candidate { score, excluded, .. } = *near;
            let rule = compiled.rule(near.rule)?.clone();
            // As it would have to occur to answer, where it need not be the whole message.
            let occurs = |keyword: &&String| {
                KeywordMatcher::build([(0, keyword.as_str())])
                    .is_ok_and(|alone| alone.contains(text).is_some())
            };
            let found = rule.keywords.iter().filter(occurs).cloned().collect();
            let answers = rating.answer == Some(near.rule);
            Some(TrialCandidate { rule, score, answers, excluded, found })
        };
        let candidates = rating.candidates.iter().filter_map(candidate).collect();
        let score = rating.best().map_or(0.0, |best| best.score);
        let is_whole = compiled.needs_whole_keywords();
        Self { mode, is_included, is_whole, reason, score, least_score, candidates }
    }
}

fn candidates(compiled: &Compiled, candidates: &[answer::Candidate]) -> Vec<ScoredRule> {
    let named = candidates.iter().filter_map(|candidate| {
        let rule = compiled.rule(candidate.rule)?.id.clone();
        let answer::Candidate { score, excluded, .. } = *candidate;
        Some(ScoredRule { rule, score, excluded })
    });
    named.collect()
}
