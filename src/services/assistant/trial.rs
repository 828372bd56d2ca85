//! Simulated reply: what the assistant would say, without saying or counting it.

use chatkeep_core::assistant::QaMode;
use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::RuleId;
use chatkeep_index::answer;
use chatkeep_store::ReplySource;
use chatkeep_workers::assistant::{Compiled, Decision, DecisionTrace, Reply};

use super::super::input::text;
use super::super::{FieldPath, ServiceError};
use super::{AssistantService, SettingsAccess};
use crate::heavy::CALLERS;

/// Maximum characters of a text, LINE's limit.
const MAX_TEXT: usize = 5_000;

/// Simulated reply.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// The reply; `None` when nothing is said.
    pub(crate) reply: Option<String>,
    /// Source of the reply; `None` when nothing is said.
    pub(crate) source: Option<ReplySource>,
    /// Rule that answers.
    pub(crate) rule: Option<RuleId>,
    /// Mode in effect under the plan of the channel's owner.
    pub(crate) mode: QaMode,
    /// Score of the best rule, from 0 to 1.
    pub(crate) score: f32,
    /// Best matching rules, best first.
    pub(crate) candidates: Vec<ScoredRule>,
}

/// A rule and its score.
#[derive(Clone, Debug)]
pub(crate) struct ScoredRule {
    /// The rule.
    pub(crate) rule: RuleId,
    /// Score, from 0 to 1.
    pub(crate) score: f32,
}

impl AssistantService {
    /// Simulates the reply to a message with that text; nothing is sent, stored or counted.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a text that is empty or too long.
    pub(crate) async fn simulate(
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
        let best = considered.rating.candidates.first();
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
        let score = if source == Some(ReplySource::Rules) { 1.0 } else { score };
        Self { reply, source, rule, mode, score, candidates }
    }
}

fn candidates(compiled: &Compiled, candidates: &[answer::Candidate]) -> Vec<ScoredRule> {
    let named = candidates.iter().filter_map(|candidate| {
        let rule = compiled.rule(candidate.rule)?.id.clone();
        Some(ScoredRule { rule, score: candidate.score })
    });
    named.collect()
}
