//! Frequent questions that no rule answers.

use std::collections::HashMap;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, RuleId};
use chatkeep_core::time::Timestamp;
use chatkeep_index::answer::similar::{self, group, looks_like_question};
use chatkeep_store::{ReadAction, StoredMessage};
use chatkeep_view::pseudonyms::Masked;
use chatkeep_workers::assistant::{Compiled, Decision};

use super::super::super::{FieldPath, ServiceError};
use super::super::AssistantService;
use super::stepwise::{Progress, QuestionsKey, Step};
use super::{HistoryAccess, HistoryScan, Said};

/// Maximum number of example messages per question.
const EXAMPLES: usize = 5;
/// Maximum number of questions that are kept between two steps.
const QUESTIONS: usize = 200;

/// Questions that no rule answers.
#[derive(Clone, Debug)]
pub struct UnansweredQuestions {
    /// Questions, the most frequent first.
    pub questions: Vec<UnansweredQuestion>,
    /// Number of different questions, of which `questions` may be the first.
    pub total: usize,
    /// Number of messages examined.
    pub scanned: usize,
    /// True when all messages since `from` were examined.
    pub complete: bool,
    /// Beginning of the examined period.
    pub from: Timestamp,
}

/// Group of messages with the same question.
#[derive(Clone, Debug)]
pub struct UnansweredQuestion {
    /// Text of one of the messages.
    pub text: String,
    /// ID of the message with `text`.
    pub representative: MessageId,
    /// Number of messages in the group.
    pub count: usize,
    /// Time of the newest message.
    pub last_asked_at: Timestamp,
    /// The newest messages.
    pub messages: Vec<MessageId>,
    /// The most similar rule, if one is.
    pub nearest_rule: Option<RuleId>,
}

/// Search for questions of a history.
#[derive(Debug)]
pub(super) struct QuestionSearch {
    compiled: Arc<Compiled>,
    scan: HistoryScan,
    from: Timestamp,
    open: Vec<Open>,
}

impl AssistantService {
    /// Returns at most `limit` of the most frequent questions of the last `days` that no rule
    /// answers.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad number of days.
    #[boxed]
    pub async fn unanswered(
        &self,
        access: &HistoryAccess,
        days: u32,
        limit: u32,
    ) -> Result<UnansweredQuestions, ServiceError> {
        let from = self.since(access, (FieldPath::parameter("days"), days))?;
        let channel = access.read(ReadAction::History);
        let compiled = self.compiled(channel).await?;
        let mut search = self.question_search(channel, compiled, from);
        self.search_on(&mut search).await?;
        self.questions_of(search, limit as usize).await
    }

    /// Finds at most `limit` of the most frequent questions of the last `days` that no rule answers;
    /// works for a moment, and goes on with the next call. The first call is recorded as a read: the
    /// others are made by the page itself.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad number of days.
    #[boxed]
    pub async fn unanswered_step(
        &self,
        access: &HistoryAccess,
        days: u32,
    ) -> Result<Progress<UnansweredQuestions>, ServiceError> {
        let from = self.since(access, (FieldPath::parameter("days"), days))?;
        let not_before = access.not_before().map(Timestamp::millis);
        let channel = access.without_reading();
        let state = self.state(channel).await?;
        let key = QuestionsKey { channel: channel.clone(), state, days, not_before };
        let shared = self.examinations.questions(&key);
        let mut step = shared.lock().await;
        let mut search = match step.take() {
            Step::Finished(found) => return Ok(step.finish(found)),
            Step::Running(search) => search,
            Step::Nothing => {
                let channel = access.read(ReadAction::History);
                let compiled = self.compiled_anew(channel).await?;
                Box::new(self.question_search(channel, compiled, from))
            }
        };
        search.scan.go_on(self.examinations.step);
        self.search_on(&mut search).await?;
        if !search.scan.is_finished() {
            let percent = search.scan.percent();
            return Ok(step.pause(search, percent));
        }
        let found = self.questions_of(*search, QUESTIONS).await?;
        Ok(step.finish(Arc::new(found)))
    }

    /// Returns messages of the channel as they are now, by id.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn listed_messages(
        &self,
        access: &HistoryAccess,
        messages: Vec<MessageId>,
    ) -> Result<HashMap<MessageId, Masked<StoredMessage>>, ServiceError> {
        if messages.is_empty() {
            return Ok(HashMap::new());
        }
        let channel = access.read(ReadAction::History);
        let key = |message| (channel.clone(), message);
        let keys: Vec<_> = messages.into_iter().map(key).collect();
        let found = self.store.messages().chosen_messages(&keys).await?;
        let readable = found.into_iter().filter(|message| {
            access.not_before().is_none_or(|earliest| message.sent_at >= earliest)
        });
        let mask = &access.caller.mask;
        Ok(readable.map(|message| (message.id.clone(), mask.show(message))).collect())
    }

    /// Begins a search for the questions since `from`.
    pub(super) fn question_search(
        &self,
        channel: &ChannelId,
        compiled: Arc<Compiled>,
        from: Timestamp,
    ) -> QuestionSearch {
        let scan = HistoryScan::back(&self.store, channel, from, self.clock.now());
        QuestionSearch { compiled, scan, from, open: Vec::new() }
    }

    /// Returns the channel's assistant as it is now: what is kept for minutes must not come from
    /// settings that are cached a moment too long.
    pub(super) async fn compiled_anew(
        &self,
        channel: &ChannelId,
    ) -> Result<Arc<Compiled>, ServiceError> {
        let before = self.compiled(channel).await?;
        let source = self.assistants.source(channel).await?;
        Ok(self.assistants.compile_source(source, Some(before)).await?)
    }

    /// Searches on until nothing is left or the time of the scan is over.
    pub(super) async fn search_on(&self, search: &mut QuestionSearch) -> Result<(), ServiceError> {
        while let Some(said) = search.scan.next().await? {
            let compiled = Arc::clone(&search.compiled);
            search.open.extend(self.score(move || unanswered_of(&compiled, said)).await?);
        }
        Ok(())
    }

    /// Groups what was found.
    pub(super) async fn questions_of(
        &self,
        search: QuestionSearch,
        limit: usize,
    ) -> Result<UnansweredQuestions, ServiceError> {
        let QuestionSearch { scan, from, open, .. } = search;
        let (questions, total) = self.score(move || questions(&open, limit)).await?;
        let (scanned, complete) = (scan.scanned, scan.complete);
        Ok(UnansweredQuestions { questions, total, scanned, complete, from })
    }
}

/// Question without a matching rule.
#[derive(Debug)]
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
        let nearest = considered.rating.best();
        let nearest = nearest.and_then(|best| Some(compiled.rule(best.rule)?.id.clone()));
        let is_open = !matches!(considered.decision, Decision::Answer(_));
        is_open.then_some(Open { message: message.id, asked_at: message.sent_at, text, nearest })
    };
    questions.filter_map(open).collect()
}

/// Groups similar messages, largest group first; returns the first groups, and the number of all.
fn questions(open: &[Open], limit: usize) -> (Vec<UnansweredQuestion>, usize) {
    let texts: Vec<_> = open.iter().map(|open| open.text.as_str()).collect();
    let question = |group: similar::Group| {
        let newest = group.members.iter().take(EXAMPLES).map(|&at| open[at].message.clone());
        let asked = group.members.iter().map(|&at| open[at].asked_at);
        let one = &open[group.representative];
        UnansweredQuestion {
            text: one.text.clone(),
            representative: one.message.clone(),
            count: group.members.len(),
            last_asked_at: asked.max().unwrap_or_default(),
            messages: newest.collect(),
            nearest_rule: one.nearest.clone(),
        }
    };
    let groups = group(&texts);
    let total = groups.len();
    (groups.into_iter().take(limit).map(question).collect(), total)
}
