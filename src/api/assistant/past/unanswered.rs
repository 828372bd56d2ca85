//! `GET …/assistant/unanswered`: frequent questions that no rule answers.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use chatkeep_core::id::{MessageId, RuleId};
use chatkeep_core::time::Timestamp;
use chatkeep_index::answer::similar::{self, group, looks_like_question};
use chatkeep_workers::assistant::{Compiled, Decision};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Days, History, Look, Said, since};
use crate::api::Api;
use crate::api::error::ApiError;
use crate::api::extract::{Limit, Query};
use crate::services::FieldPath;

/// Maximum number of example messages per question.
const EXAMPLES: usize = 5;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct UnansweredQuery {
    /// Number of days of history to examine.
    #[serde(default)]
    #[param(inline)]
    days: Days,
    /// Maximum number of items on the page.
    #[serde(default)]
    #[param(inline)]
    limit: Limit,
}

/// Questions that no rule answers, most frequent first.
#[derive(Serialize, ToSchema)]
#[schema(as = Unanswered)]
pub(in crate::api) struct UnansweredView {
    /// The questions, the most frequent first.
    questions: Vec<QuestionView>,
    /// Number of messages examined.
    scanned: usize,
    /// True when all messages since `from` were examined, false when a limit of count or time was
    /// reached.
    complete: bool,
    /// Beginning of the examined period.
    from: Timestamp,
}

/// Group of messages with the same question.
#[derive(Serialize, ToSchema)]
#[schema(as = UnansweredQuestion)]
#[serde(rename_all = "camelCase")]
struct QuestionView {
    /// Text of one of the messages.
    text: String,
    /// Number of messages in the group.
    count: usize,
    /// Time of the newest message.
    last_asked_at: Timestamp,
    /// IDs of the newest messages.
    message_ids: Vec<MessageId>,
    /// ID of the most similar rule; null when none is similar.
    nearest_rule_id: Option<RuleId>,
}

pub(in crate::api) async fn unanswered(
    State(api): State<Api>,
    access: History,
    Query(query): Query<UnansweredQuery>,
) -> Result<Json<UnansweredView>, ApiError> {
    let from = since(&api, &access, (FieldPath::parameter("days"), query.days.0))?;
    let compiled = api.assistant(&access.channel).await?;
    let mut open = Vec::new();
    let mut look = Look::back(&api, &access.channel, from);
    while let Some(said) = look.next().await? {
        let compiled = Arc::clone(&compiled);
        open.extend(api.thinking(move || unanswered_of(&compiled, said)).await?);
    }
    let limit = query.limit.0 as usize;
    let questions = api.thinking(move || questions(&open, limit)).await?;
    Ok(Json(UnansweredView { questions, scanned: look.scanned, complete: look.complete, from }))
}

/// Question without a matching rule.
struct Open {
    message: MessageId,
    asked_at: Timestamp,
    text: String,
    nearest: Option<RuleId>,
}

fn unanswered_of(compiled: &Compiled, said: Vec<Said>) -> Vec<Open> {
    let questions = said.into_iter().filter(|(_, text)| looks_like_question(text));
    let open = |(message, text): Said| {
        let considered = compiled.consider(&text);
        let nearest = considered.rating.candidates.first();
        let nearest = nearest.and_then(|best| Some(compiled.rule(best.rule)?.id.clone()));
        let is_open = !matches!(considered.decision, Decision::Answer(_));
        is_open.then_some(Open { message: message.id, asked_at: message.sent_at, text, nearest })
    };
    questions.filter_map(open).collect()
}

/// Groups similar messages, largest group first.
fn questions(open: &[Open], limit: usize) -> Vec<QuestionView> {
    let texts: Vec<_> = open.iter().map(|open| open.text.as_str()).collect();
    let view = |group: similar::Group| {
        let newest = group.members.iter().take(EXAMPLES).map(|&at| open[at].message.clone());
        let asked = group.members.iter().map(|&at| open[at].asked_at);
        let one = &open[group.representative];
        QuestionView {
            text: one.text.clone(),
            count: group.members.len(),
            last_asked_at: asked.max().unwrap_or_default(),
            message_ids: newest.collect(),
            nearest_rule_id: one.nearest.clone(),
        }
    };
    group(&texts).into_iter().take(limit).map(view).collect()
}
