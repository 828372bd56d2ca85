//! `GET …/assistant/unanswered`: what people ask and no rule answers.

use axum::Json;
use axum::extract::State;
use chatkeep_core::id::{MessageId, RuleId};
use chatkeep_core::store::StoredMessage;
use chatkeep_core::time::Timestamp;
use chatkeep_index::answer::similar::{self, group, looks_like_question};
use chatkeep_workers::assistant::{Compiled, Decision};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Days, History, said, since};
use crate::api::Api;
use crate::api::error::ApiError;
use crate::api::extract::{Limit, Query};

/// Messages named as examples of a question, at most.
const EXAMPLES: usize = 5;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct UnansweredQuery {
    /// How far to look back.
    #[serde(default)]
    #[param(inline)]
    days: Days,
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
}

/// Questions that no rule answers, the most frequent first.
#[derive(Serialize, ToSchema)]
#[schema(as = Unanswered)]
pub(in crate::api) struct UnansweredView {
    questions: Vec<QuestionView>,
    /// Messages that were looked at.
    scanned: usize,
    /// The oldest time that was looked at.
    from: Timestamp,
}

/// Messages that ask about the same.
#[derive(Serialize, ToSchema)]
#[schema(as = UnansweredQuestion)]
#[serde(rename_all = "camelCase")]
struct QuestionView {
    /// One of them, word for word.
    text: String,
    count: usize,
    last_asked_at: Timestamp,
    /// The newest of them.
    message_ids: Vec<MessageId>,
    /// The rule that came nearest.
    nearest_rule_id: Option<RuleId>,
}

pub(in crate::api) async fn unanswered(
    State(api): State<Api>,
    access: History,
    Query(query): Query<UnansweredQuery>,
) -> Result<Json<UnansweredView>, ApiError> {
    let from = since(&api, &access, query.days.0)?;
    let said = said(&api, &access.channel, from).await?;
    let compiled = api.assistant(&access.channel).await?;
    let limit = query.limit.0 as usize;
    let scanned = said.len();
    let questions = api.thinking(move || questions(&compiled, &said, limit)).await?;
    Ok(Json(UnansweredView { questions, scanned, from }))
}

/// Questions that no rule answers, in groups of about the same, the largest first.
fn questions(
    compiled: &Compiled,
    said: &[(StoredMessage, String)],
    limit: usize,
) -> Vec<QuestionView> {
    let mut open = Vec::new();
    for (message, text) in said.iter().filter(|(_, text)| looks_like_question(text)) {
        let considered = compiled.consider(text);
        if !matches!(considered.decision, Decision::Answer(_)) {
            open.push((message, text.as_str(), considered.rating.candidates.first().copied()));
        }
    }
    let texts: Vec<_> = open.iter().map(|(_, text, _)| *text).collect();
    let view = |group: similar::Group| {
        let newest = group.members.iter().take(EXAMPLES).map(|&at| open[at].0.id.clone());
        let asked = group.members.iter().map(|&at| open[at].0.sent_at);
        let nearest = open[group.representative].2;
        QuestionView {
            text: texts[group.representative].to_owned(),
            count: group.members.len(),
            last_asked_at: asked.max().unwrap_or_default(),
            message_ids: newest.collect(),
            nearest_rule_id: nearest.and_then(|best| Some(compiled.rule(best.rule)?.id.clone())),
        }
    };
    group(&texts).into_iter().take(limit).map(view).collect()
}
