//! Comparison of today's answers with those of other settings, on what was said.

use std::sync::Arc;

use chatkeep_core::assistant::{KeywordMatch, QaMode, Rule, RuleDraft};
use chatkeep_core::id::{ChannelId, MessageId, RuleId};
use chatkeep_core::plan::Plan;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ReadAction, ReplySource, StoredMessage};
use chatkeep_workers::assistant::{Compiled, Decision, Reply, Source};

use super::super::super::{FieldPath, ServiceError};
use super::super::AssistantService;
use super::super::rules::checked;
use super::stepwise::{Progress, Step};
use super::{DAYS, HistoryAccess, HistoryScan, Said};

/// Maximum number of different answers that are listed.
const DIFFERENCES: usize = 1_000;
/// Maximum number of same answers that are listed.
const SAME: usize = 200;
/// Maximum length of a listed answer in characters.
const ANSWER: usize = 200;
/// Id of a rule that is not saved yet.
const NEW_RULE: &str = "draft_1";

/// Other settings to compare with today's; absent values are today's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ComparisonRequest {
    /// Matching mode.
    pub(crate) mode: Option<QaMode>,
    /// Matching of keywords.
    pub(crate) keyword_match: Option<KeywordMatch>,
    /// One rule that is edited or added.
    pub(crate) rule: Option<RuleEdit>,
}

/// Rule as it is being edited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RuleEdit {
    /// Rule that it replaces; `None` for a new one.
    pub(crate) rule: Option<RuleId>,
    /// Keywords that trigger it.
    pub(crate) keywords: Vec<String>,
    /// Question that it is for.
    pub(crate) question: String,
    /// The reply; empty for that of the rule that it replaces.
    pub(crate) answer: String,
}

/// Difference of two answers to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Only the other settings answer.
    New,
    /// Only today's settings answer.
    Lost,
    /// Both answer, differently.
    Other,
    /// Both answer the same.
    Same,
}

/// Result of a comparison. What was said is not in it: messages may be unsent later.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Number of messages examined.
    pub(crate) scanned: usize,
    /// True when all messages since `from` were examined.
    pub(crate) complete: bool,
    /// Beginning of the examined period.
    pub(crate) from: Timestamp,
    /// Modes in effect, today's and the other one.
    pub(crate) modes: (QaMode, QaMode),
    /// Number of messages with a new answer, a lost one, another one, and the same one.
    counts: [usize; 4],
    /// Newest messages with different answers.
    different: Vec<ComparedId>,
    /// Newest messages with the same answer.
    same: Vec<ComparedId>,
}

/// Two answers to one message.
#[derive(Clone, Debug)]
struct ComparedId {
    message: MessageId,
    difference: Difference,
    today: Option<ComparedAnswer>,
    other: Option<ComparedAnswer>,
}

/// Answer to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedAnswer {
    /// Source of the answer.
    pub(crate) source: ReplySource,
    /// Rule that gives it, if it is saved.
    pub(crate) rule: Option<RuleId>,
    /// Beginning of its text.
    pub(crate) text: String,
}

/// Message with both answers.
#[derive(Debug)]
pub(crate) struct ComparedMessage {
    /// The message, as it is now.
    pub(crate) message: StoredMessage,
    /// Difference of the answers.
    pub(crate) difference: Difference,
    /// Answer of today's settings.
    pub(crate) today: Option<ComparedAnswer>,
    /// Answer of the other settings.
    pub(crate) other: Option<ComparedAnswer>,
}

/// Page of compared messages.
#[derive(Debug)]
pub(crate) struct ComparedPage {
    /// Messages, those with different answers first.
    pub(crate) messages: Vec<ComparedMessage>,
    /// True if there is a further page.
    pub(crate) more: bool,
}

/// Inputs of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ComparisonKey {
    channel: ChannelId,
    /// Version of the assistant's settings, and whether the owner's plan is `pro`.
    state: (i64, bool),
    not_before: Option<i64>,
    request: ComparisonRequest,
}

/// Comparison in progress.
#[derive(Debug)]
pub(super) struct ComparisonRun {
    today: Arc<Compiled>,
    other: Arc<Compiled>,
    scan: HistoryScan,
    found: Comparison,
}

impl AssistantService {
    /// Compares today's answers to what was said in the last [`DAYS`] days with those of other
    /// settings; works for a moment, and goes on with the next call. Both count as switched on;
    /// replies when nothing matches, and cooldowns, are left out.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad rule, [`ServiceError::PlanRequired`] for another mode
    /// that the owner's plan does not include.
    pub(crate) async fn comparison(
        &self,
        access: &HistoryAccess,
        request: ComparisonRequest,
    ) -> Result<Progress<Comparison>, ServiceError> {
        let channel = access.read(ReadAction::History);
        let key = ComparisonKey {
            channel: channel.clone(),
            state: self.state(channel).await?,
            not_before: access.not_before().map(Timestamp::millis),
            request: request.clone(),
        };
        let shared = self.examinations.comparison(key);
        let mut step = shared.lock().await;
        let mut run = match step.take() {
            Step::Finished(result) => return Ok(step.finish(result)),
            Step::Running(run) => run,
            Step::Nothing => Box::new(self.comparison_run(access, request).await?),
        };
        run.scan.go_on(self.examinations.step);
        while let Some(said) = run.scan.next().await? {
            let (today, other) = (Arc::clone(&run.today), Arc::clone(&run.other));
            let compared = self.score(move || compared(&today, &other, said)).await?;
            for one in compared {
                run.found.add(one);
            }
        }
        if !run.scan.is_finished() {
            let percent = run.scan.percent();
            return Ok(step.pause(run, percent));
        }
        let ComparisonRun { scan, mut found, .. } = *run;
        (found.scanned, found.complete) = (scan.scanned, scan.complete);
        Ok(step.finish(Arc::new(found)))
    }

    /// Returns a page of the messages of a comparison, `size` of them; `only` those with that
    /// difference.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    pub(crate) async fn compared_messages(
        &self,
        access: &HistoryAccess,
        comparison: &Comparison,
        only: Option<Difference>,
        (page, size): (usize, usize),
    ) -> Result<ComparedPage, ServiceError> {
        let listed = comparison.different.iter().chain(&comparison.same);
        let listed = listed.filter(|one| only.is_none_or(|only| only == one.difference));
        let mut rows: Vec<_> =
            listed.skip(page.saturating_mul(size)).take(size + 1).cloned().collect();
        let more = rows.len() > size;
        rows.truncate(size);
        let ids = rows.iter().map(|row| row.message.clone()).collect();
        let mut messages = self.asked_messages(access, ids).await?;
        let row = |row: ComparedId| {
            let ComparedId { message, difference, today, other } = row;
            let message = messages.remove(&message)?;
            Some(ComparedMessage { message, difference, today, other })
        };
        Ok(ComparedPage { messages: rows.into_iter().filter_map(row).collect(), more })
    }

    /// Returns the version of a channel's assistant, and whether its owner's plan is `pro`.
    pub(super) async fn state(&self, channel: &ChannelId) -> Result<(i64, bool), ServiceError> {
        let state = self.store.assistant().assistant_state(channel).await?;
        Ok(state.map_or((0, false), |state| (state.version, state.plan == Some(Plan::Pro))))
    }

    async fn comparison_run(
        &self,
        access: &HistoryAccess,
        request: ComparisonRequest,
    ) -> Result<ComparisonRun, ServiceError> {
        let now = self.clock.now();
        let from = self.since(access, (FieldPath::parameter("days"), DAYS))?;
        let mut today = self.assistants.source(access.without_reading()).await?;
        (today.config.enabled, today.config.qa.enabled) = (true, true);
        let other = self.changed_source(today.clone(), access, request)?;
        let before = self.compiled(access.without_reading()).await?;
        let today = self.assistants.compile_source(today, Some(before)).await?;
        let other = self.assistants.compile_source(other, Some(Arc::clone(&today))).await?;
        let found = Comparison::new(from, (today.mode(), other.mode()));
        let scan = HistoryScan::back(&self.store, access.read(ReadAction::History), from, now);
        Ok(ComparisonRun { today, other, scan, found })
    }

    fn changed_source(
        &self,
        mut source: Source,
        access: &HistoryAccess,
        request: ComparisonRequest,
    ) -> Result<Source, ServiceError> {
        let other = request.mode.filter(|mode| *mode != source.config.qa.mode);
        if other.is_some_and(|mode| mode.under(source.plan) != mode) {
            return Err(ServiceError::PlanRequired);
        }
        let qa = &mut source.config.qa;
        qa.mode = request.mode.unwrap_or(qa.mode);
        qa.keyword_match = request.keyword_match.unwrap_or(qa.keyword_match);
        if let Some(RuleEdit { rule: id, keywords, question, answer }) = request.rule {
            let place = id.and_then(|id| source.rules.iter_mut().find(|rule| rule.id == id));
            let saved = place.as_ref().filter(|_| answer.is_empty());
            let answer = saved.map_or(answer, |rule| rule.answer.clone());
            let draft = checked(RuleDraft { keywords, question, answer })?;
            if let Some(rule) = place {
                let RuleDraft { keywords, question, answer } = draft;
                (rule.keywords, rule.question, rule.answer) = (keywords, question, answer);
            } else {
                source.rules.push(new_rule(draft, self.clock.now(), access));
            }
        }
        Ok(source)
    }
}

fn new_rule(draft: RuleDraft, now: Timestamp, access: &HistoryAccess) -> Rule {
    let RuleDraft { keywords, question, answer } = draft;
    Rule {
        id: RuleId::from(NEW_RULE),
        keywords,
        question,
        answer,
        created_at: now,
        changed_at: now,
        created_by: access.user().clone(),
        hit_count: 0,
        suppressed_count: 0,
    }
}

impl Comparison {
    fn new(from: Timestamp, modes: (QaMode, QaMode)) -> Self {
        let (different, same) = (Vec::new(), Vec::new());
        Self { scanned: 0, complete: false, from, modes, counts: [0; 4], different, same }
    }

    /// Returns the number of messages with that difference.
    pub(crate) const fn count(&self, difference: Difference) -> usize {
        self.counts[difference as usize]
    }

    /// Returns the number of messages with different answers.
    pub(crate) fn changed(&self) -> usize {
        self.counts.iter().sum::<usize>() - self.count(Difference::Same)
    }

    fn add(&mut self, one: ComparedId) {
        self.counts[one.difference as usize] += 1;
        let (list, most) = match one.difference {
            Difference::Same => (&mut self.same, SAME),
            Difference::New | Difference::Lost | Difference::Other => {
                (&mut self.different, DIFFERENCES)
            }
        };
        if list.len() < most {
            list.push(one);
        }
    }
}

/// Returns the messages that either answers.
fn compared(today: &Compiled, other: &Compiled, said: Vec<Said>) -> Vec<ComparedId> {
    let both = |(message, text): Said| {
        let answers = (reply(today, &text), reply(other, &text));
        let difference = match &answers {
            (None, None) => return None,
            (None, Some(_)) => Difference::New,
            (Some(_), None) => Difference::Lost,
            (Some(today), Some(other)) if today == other => Difference::Same,
            (Some(_), Some(_)) => Difference::Other,
        };
        let (today, other) =
            (answers.0.map(ComparedAnswer::from), answers.1.map(ComparedAnswer::from));
        Some(ComparedId { message: message.id, difference, today, other })
    };
    said.into_iter().filter_map(both).collect()
}

fn reply(compiled: &Compiled, text: &str) -> Option<Reply> {
    match compiled.decide(text) {
        Decision::Answer(reply) => Some(reply),
        Decision::NoMatch | Decision::Silent => None,
    }
}

impl From<Reply> for ComparedAnswer {
    fn from(Reply { source, rule, text }: Reply) -> Self {
        let rule = rule.filter(|rule| rule.as_str() != NEW_RULE);
        let cut = text.char_indices().nth(ANSWER).map(|(at, _)| at);
        let text = cut.map_or_else(|| text.clone(), |at| format!("{}…", &text[..at]));
        Self { source, rule, text }
    }
}
