//! `POST …/assistant/try`: what the assistant would say, without saying or counting it.

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::QaMode;
use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::RuleId;
use chatkeep_index::answer;
use chatkeep_workers::assistant::{Compiled, Decision, DecisionTrace, Reply};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Settings;
use crate::api::Api;
use crate::api::error::ApiError;
use crate::api::extract::Body;
use crate::api::input::text;
use crate::heavy::CALLERS;
use crate::services::FieldPath;

/// Maximum characters of a text, LINE's limit.
const MAX_TEXT: usize = 5_000;

/// Message to simulate.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct TryBody {
    /// Text of the message; it is neither sent nor stored.
    #[schema(min_length = 1, max_length = 5000, pattern = r"[^\s\u0000\u0085]")]
    text: String,
}

/// Simulated reply of the assistant.
#[derive(Serialize, ToSchema)]
#[schema(as = Trial)]
#[serde(rename_all = "camelCase")]
pub(in crate::api) struct TrialView {
    /// The reply; null when there is none.
    reply: Option<String>,
    /// Source of the reply.
    source: SourceView,
    /// ID of the rule that answers; null when none does.
    rule_id: Option<RuleId>,
    /// Mode in effect: `fuzzy` instead of `semantic` while the owner's plan does not include
    /// semantic mode.
    mode: QaMode,
    /// Score of the best rule, from 0 to 1.
    score: f32,
    /// Best matching rules, best first.
    candidates: Vec<CandidateView>,
}

/// Source of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ReplySource)]
#[serde(rename_all = "camelCase")]
pub(super) enum SourceView {
    /// A trigger of the group rules.
    Rules,
    /// Question-and-answer rule.
    Qa,
    /// No rule matched.
    NoMatch,
    /// Nothing is said.
    None,
}

/// A rule and its score.
#[derive(Serialize, ToSchema)]
#[schema(as = Candidate)]
#[serde(rename_all = "camelCase")]
pub(super) struct CandidateView {
    /// The rule.
    rule_id: RuleId,
    /// Score, from 0 to 1.
    score: f32,
}

pub(in crate::api) async fn attempt(
    State(api): State<Api>,
    access: Settings,
    Body(body): Body<TryBody>,
) -> Result<Json<TrialView>, ApiError> {
    let text = text(FieldPath::body("/text"), body.text, 1, MAX_TEXT)?;
    let compiled = api.assistant(&access.channel).await?;
    let channel = api.store.channels().channel(&access.channel).await?;
    let alone = channel.is_some_and(|channel| channel.kind == ChannelKind::User);
    let view = CALLERS.run(move || {
        let considered = compiled.consider(&text);
        TrialView::new(&compiled, considered, alone)
    });
    Ok(Json(view.await))
}

impl TrialView {
    /// `alone`: in a chat with the bot alone, where everything is meant for it.
    fn new(compiled: &Compiled, considered: DecisionTrace, alone: bool) -> Self {
        let best = considered.rating.candidates.first();
        let (score, mode) = (best.map_or(0.0, |best| best.score), compiled.mode());
        let candidates = candidates(compiled, &considered.rating.candidates);
        let (source, rule_id, reply) = match considered.decision {
            Decision::Answer(Reply { source, rule, text }) => {
                (SourceView::of(source), rule, Some(text))
            }
            Decision::NoMatch if alone || compiled.answers_everything() => {
                let reply = compiled.no_match();
                let source = reply.as_ref().map_or(SourceView::None, |_| SourceView::NoMatch);
                (source, None, reply)
            }
            Decision::NoMatch | Decision::Silent => (SourceView::None, None, None),
        };
        // A trigger is always hit as a whole.
        let score = if source == SourceView::Rules { 1.0 } else { score };
        Self { reply, source, rule_id, mode, score, candidates }
    }
}

fn candidates(compiled: &Compiled, candidates: &[answer::Candidate]) -> Vec<CandidateView> {
    let named = candidates.iter().filter_map(|candidate| {
        let rule_id = compiled.rule(candidate.rule)?.id.clone();
        Some(CandidateView { rule_id, score: candidate.score })
    });
    named.collect()
}

impl SourceView {
    pub(super) const fn of(source: chatkeep_store::ReplySource) -> Self {
        use chatkeep_store::ReplySource;
        match source {
            ReplySource::Rules => Self::Rules,
            ReplySource::Qa => Self::Qa,
            ReplySource::NoMatch => Self::NoMatch,
            ReplySource::Welcome => Self::None,
        }
    }
}
