//! Frequent questions that no rule answers.

use std::sync::Arc;

use chatkeep_core::id::{MessageId, RuleId};
use chatkeep_core::time::Timestamp;
use chatkeep_index::answer::similar::{self, group, looks_like_question};
use chatkeep_store::ReadAction;
use chatkeep_workers::assistant::{Compiled, Decision};

use super::super::super::{FieldPath, ServiceError};
use super::super::AssistantService;
use super::{HistoryAccess, HistoryScan, Said};

/// Maximum number of example messages per question.
const EXAMPLES: usize = 5;

/// Questions that no rule answers.
#[derive(Clone, Debug)]
pub(crate) struct UnansweredQuestions {
    /// Questions, the most frequent first.
    pub(crate) questions: Vec<UnansweredQuestion>,
    /// Number of messages examined.
    pub(crate) scanned: usize,
    /// True when all messages since `from` were examined.
    pub(crate) complete: bool,
    /// Beginning of the examined period.
    pub(crate) from: Timestamp,
}

/// Group of messages with the same question.
#[derive(Clone, Debug)]
pub(crate) struct UnansweredQuestion {
    /// Text of one of the messages.
    pub(crate) text: String,
    /// Number of messages in the group.
    pub(crate) count: usize,
    /// Time of the newest message.
    pub(crate) last_asked_at: Timestamp,
    /// The newest messages.
    pub(crate) messages: Vec<MessageId>,
    /// The most similar rule, if one is.
    pub(crate) nearest_rule: Option<RuleId>,
}

impl AssistantService {
    /// Returns at most `limit` of the most frequent questions of the last `days` that no rule
    /// answers.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad number of days.
    pub(crate) async fn unanswered(
        &self,
        access: &HistoryAccess,
        days: u32,
        limit: u32,
    ) -> Result<UnansweredQuestions, ServiceError> {
        let from = self.since(access, (FieldPath::parameter("days"), days))?;
        let compiled = self.compiled(access.without_reading()).await?;
        let mut open = Vec::new();
        let mut scan = HistoryScan::back(&self.store, access.read(ReadAction::History), from);
        while let Some(said) = scan.next().await? {
            let compiled = Arc::clone(&compiled);
            open.extend(self.score(move || unanswered_of(&compiled, said)).await?);
        }
        let questions = self.score(move || questions(&open, limit as usize)).await?;
        let (scanned, complete) = (scan.scanned, scan.complete);
        Ok(UnansweredQuestions { questions, scanned, complete, from })
    }
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
fn questions(open: &[Open], limit: usize) -> Vec<UnansweredQuestion> {
    let texts: Vec<_> = open.iter().map(|open| open.text.as_str()).collect();
    let question = |group: similar::Group| {
        let newest = group.members.iter().take(EXAMPLES).map(|&at| open[at].message.clone());
        let asked = group.members.iter().map(|&at| open[at].asked_at);
        let one = &open[group.representative];
        UnansweredQuestion {
            text: one.text.clone(),
            count: group.members.len(),
            last_asked_at: asked.max().unwrap_or_default(),
            messages: newest.collect(),
            nearest_rule: one.nearest.clone(),
        }
    };
    group(&texts).into_iter().take(limit).map(question).collect()
}
