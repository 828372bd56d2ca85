//! `GET …/assistant/unanswered`: frequent questions that no rule answers.

use axum::extract::State;
use chatkeep_core::id::{MessageId, RuleId};
use chatkeep_core::time::Timestamp;
use chatkeep_http::{HttpError, Query, Timed};
use chatkeep_services::Services;
use chatkeep_services::assistant::{HistoryAccess, UnansweredQuestion, UnansweredQuestions};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::Days;
use crate::extract::Limit;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnansweredQuery {
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
#[serde(rename_all = "camelCase")]
pub(crate) struct UnansweredView {
    /// The questions, the most frequent first.
    questions: Vec<QuestionView>,
    /// Number of messages examined.
    scanned: usize,
    /// True when all messages since `from` were examined, false when a limit of count or time was
    /// reached.
    complete: bool,
    /// Beginning of the examined period.
    from: Timestamp,
    /// Always null: there are no further pages.
    next_cursor: Option<String>,
}

/// Content of the entity tag: all but the beginning of the period, which moves.
pub(crate) type UnansweredContent = (Vec<QuestionView>, usize, bool);

/// Group of messages with the same question.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = UnansweredQuestion)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuestionView {
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

pub(crate) async fn unanswered(
    State(services): State<Services>,
    access: HistoryAccess,
    Query(query): Query<UnansweredQuery>,
) -> Result<Timed<UnansweredView, UnansweredContent>, HttpError> {
    let UnansweredQuery { days, limit } = query;
    let body: UnansweredView =
        services.assistant.unanswered(&access, days.0, limit.0).await?.into();
    // The beginning of the days moves with the clock.
    let content = (body.questions.clone(), body.scanned, body.complete);
    Ok(Timed { body, content })
}

impl From<UnansweredQuestions> for UnansweredView {
    fn from(found: UnansweredQuestions) -> Self {
        let UnansweredQuestions { questions, scanned, complete, from, .. } = found;
        let questions = questions.into_iter().map(QuestionView::from).collect();
        Self { questions, scanned, complete, from, next_cursor: None }
    }
}

impl From<UnansweredQuestion> for QuestionView {
    fn from(question: UnansweredQuestion) -> Self {
        Self {
            text: question.text,
            count: question.count,
            last_asked_at: question.last_asked_at,
            message_ids: question.messages,
            nearest_rule_id: question.nearest_rule,
        }
    }
}
