//! `POST …/assistant/try`: what the assistant would say, without saying or counting it.

use axum::Json;
use axum::extract::State;
use chatkeep_core::assistant::QaMode;
use chatkeep_core::id::RuleId;
use chatkeep_http::{Body, HttpError};
use chatkeep_services::Services;
use chatkeep_services::assistant::{ScoredRule, SettingsAccess, Trial};
use chatkeep_store::ReplySource;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Message to simulate.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TryBody {
    /// Text of the message; it is neither sent nor stored.
    #[schema(min_length = 1, max_length = 5000, pattern = r"[^\s\u0000\u0085]")]
    text: String,
}

/// Simulated reply of the assistant.
#[derive(Serialize, ToSchema)]
#[schema(as = Trial)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TrialView {
    /// The reply; null when there is none.
    reply: Option<String>,
    /// Source of the reply.
    source: SourceView,
    /// ID of the rule that answers; null when none does.
    rule_id: Option<RuleId>,
    /// Mode in effect: `fuzzy` instead of `semantic` while the owner's plan does not include
    /// semantic mode.
    mode: QaMode,
    /// Score of the rule that answers, from 0 to 1; if none does, of the best that may.
    score: f32,
    /// Best matching rules, best first.
    candidates: Vec<CandidateView>,
}

/// Source of a reply: `rules` the group rules, `link` the link to the channel's page, `qa` a
/// question-and-answer rule, `noMatch` the reply for when nothing matches, `none` no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = ReplySource)]
#[serde(rename_all = "camelCase")]
pub(super) enum SourceView {
    /// A trigger of the group rules.
    Rules,
    /// A trigger of the link to the channel's page.
    Link,
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
    /// Score, from 0 to 1, without the texts that the rule must not answer.
    score: f32,
    /// True if the text is at least as similar to one that the rule must not answer: the rule then
    /// does not answer.
    excluded: bool,
}

pub(crate) async fn attempt(
    State(services): State<Services>,
    access: SettingsAccess,
    Body(body): Body<TryBody>,
) -> Result<Json<TrialView>, HttpError> {
    Ok(Json(services.assistant.simulate(&access, body.text).await?.into()))
}

impl From<Trial> for TrialView {
    fn from(trial: Trial) -> Self {
        Self {
            reply: trial.reply,
            source: trial.source.into(),
            rule_id: trial.rule,
            mode: trial.mode,
            score: trial.score,
            candidates: trial.candidates.into_iter().map(CandidateView::from).collect(),
        }
    }
}

impl From<ScoredRule> for CandidateView {
    fn from(candidate: ScoredRule) -> Self {
        let ScoredRule { rule: rule_id, score, excluded } = candidate;
        Self { rule_id, score, excluded }
    }
}

impl From<Option<ReplySource>> for SourceView {
    fn from(source: Option<ReplySource>) -> Self {
        match source {
            Some(ReplySource::Rules) => Self::Rules,
            Some(ReplySource::Link) => Self::Link,
            Some(ReplySource::Qa) => Self::Qa,
            Some(ReplySource::NoMatch) => Self::NoMatch,
            Some(ReplySource::Welcome) | None => Self::None,
        }
    }
}
