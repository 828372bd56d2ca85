//! Test of draft rules or of other settings against past messages.

use std::collections::HashMap;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::{KeywordMatch, QaMode, Rule, RuleDraft, Strictness, limits};
use chatkeep_core::heavy::CALLERS;
use chatkeep_core::id::{RuleId, UserId};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ReadAction, ReplyRecord, ReplySource, ReplyStatus, StoredMessage};
use chatkeep_view::pseudonyms::{Mask, Masked};
use chatkeep_workers::assistant::{Compiled, Decision, DecisionTrace, Reply};

use super::super::super::input::text;
use super::super::super::{FieldPath, ServiceError};
use super::super::AssistantService;
use super::super::rules::checked_at;
use super::{DAYS, HistoryAccess, HistoryScan, Said};

/// Maximum length of a draft's ID in characters.
const MAX_ID: usize = 100;
/// Location of the drafts in the request.
const RULES: FieldPath = FieldPath::body("/rules");
/// Maximum number of changes listed.
const CHANGES: usize = 100;

/// Draft to test against past messages: other rules, another mode, matching of keywords or
/// strictness, or all of them.
#[derive(Clone, Debug, Default)]
pub struct BacktestRequest {
    /// Rules to test; the channel's when absent.
    pub rules: Option<Vec<BacktestDraft>>,
    /// Mode to test; the channel's when absent.
    pub mode: Option<QaMode>,
    /// Matching of keywords to test; the channel's when absent.
    pub keyword_match: Option<KeywordMatch>,
    /// Strictness to test; the channel's when absent.
    pub strictness: Option<Strictness>,
    /// Number of days of history to examine; [`DAYS`] when absent.
    pub days: Option<u32>,
}

/// Draft of a rule.
#[derive(Clone, Debug)]
pub struct BacktestDraft {
    /// ID for references in the result; `draft_1`, `draft_2`, … when absent.
    pub id: Option<String>,
    /// Its texts.
    pub texts: RuleDraft,
}

/// Result of a test against past messages.
#[derive(Clone, Debug)]
pub struct BacktestResult {
    /// Number of messages examined.
    pub scanned: usize,
    /// True when all messages since `from` were examined.
    pub complete: bool,
    /// Beginning of the examined period.
    pub from: Timestamp,
    /// Mode that was tested.
    pub mode: QaMode,
    /// Number of messages that the draft rules answer.
    pub answered: usize,
    /// Number of messages that a rule answered at the time.
    pub was_answered: usize,
    /// Number of messages that are answered differently.
    pub changed: usize,
    /// The newest of the differences.
    pub changes: Vec<BacktestChange>,
}

/// Message that the draft answers differently.
#[derive(Clone, Debug)]
pub struct BacktestChange {
    /// The message.
    pub message: Masked<StoredMessage>,
    /// Reply that the draft would have given.
    pub draft: GivenReply,
    /// Reply that was given at the time.
    pub was: GivenReply,
}

/// Reply, or the absence of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenReply {
    /// Source of the reply; `None` for no reply.
    pub source: Option<ReplySource>,
    /// Rule that answers.
    pub rule: Option<RuleId>,
}

impl AssistantService {
    /// Compares what a draft would have replied to past messages with what was replied.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad draft or number of days, [`ServiceError::PlanRequired`]
    /// for another mode that the owner's plan does not include.
    #[boxed]
    pub async fn backtest(
        &self,
        access: &HistoryAccess,
        request: BacktestRequest,
    ) -> Result<BacktestResult, ServiceError> {
        let days = (FieldPath::body("/days"), request.days.unwrap_or(DAYS));
        let from = self.since(access, days)?;
        let compiled = self.compiled_draft(access, request).await?;
        let mut result = BacktestResult::new(from, compiled.mode());
        let channel = access.read(ReadAction::History);
        let mut scan = HistoryScan::back(&self.store, channel, from, self.clock.now());
        while let Some(said) = scan.next().await? {
            let ids: Vec<_> = said.iter().map(|(message, _)| &message.id).collect();
            let replies = self.store.assistant().replies_to(access.without_reading(), &ids).await?;
            let (compiled, mask) = (Arc::clone(&compiled), access.caller.mask.clone());
            let compare = move || {
                result.compare(&compiled, said, &replies, &mask);
                result
            };
            result = self.score(compare).await?;
        }
        (result.scanned, result.complete) = (scan.scanned, scan.complete);
        Ok(result)
    }

    /// Compiles the channel's assistant with the draft in it.
    async fn compiled_draft(
        &self,
        access: &HistoryAccess,
        request: BacktestRequest,
    ) -> Result<Arc<Compiled>, ServiceError> {
        let mut source = self.assistants.source(access.without_reading()).await?;
        let other = request.mode.filter(|mode| *mode != source.config.qa.mode);
        if other.is_some_and(|mode| mode.under(source.plan) != mode) {
            return Err(ServiceError::PlanRequired);
        }
        source.config.enabled = true;
        source.config.qa.enabled = true;
        let qa = &mut source.config.qa;
        qa.mode = request.mode.unwrap_or(qa.mode);
        qa.keyword_match = request.keyword_match.unwrap_or(qa.keyword_match);
        qa.strictness = request.strictness.unwrap_or(qa.strictness);
        if let Some(rules) = request.rules {
            let (now, user) = (self.clock.now(), access.user().clone());
            source.rules = CALLERS.run(move || drafts(rules, now, &user)).await?;
        }
        let before = self.compiled(access.without_reading()).await?;
        Ok(self.assistants.compile_source(source, Some(before)).await?)
    }
}

impl BacktestResult {
    const fn new(from: Timestamp, mode: QaMode) -> Self {
        Self {
            scanned: 0,
            complete: false,
            from,
            mode,
            answered: 0,
            was_answered: 0,
            changed: 0,
            changes: Vec::new(),
        }
    }

    /// Adds a page of messages: compares the draft's replies with those given at the time.
    fn compare(
        &mut self,
        compiled: &Compiled,
        said: Vec<Said>,
        replies: &[ReplyRecord],
        mask: &Mask,
    ) {
        let given: HashMap<_, _> = replies
            .iter()
            .filter(|reply| reply.status != ReplyStatus::Failed)
            .filter_map(|reply| Some((reply.message.as_ref()?, reply)))
            .collect();
        for (message, text) in said {
            let draft = GivenReply::of(compiled.consider(&text));
            let was = given.get(&message.id).map_or(GivenReply::NOTHING, |reply| GivenReply {
                // A welcome replies to no message.
                source: Some(reply.source).filter(|source| *source != ReplySource::Welcome),
                rule: reply.rule.clone(),
            });
            self.answered += usize::from(draft.source == Some(ReplySource::Qa));
            self.was_answered += usize::from(was.source == Some(ReplySource::Qa));
            if draft == was.without_no_match() {
                continue;
            }
            self.changed += 1;
            if self.changes.len() < CHANGES {
                let message = mask.show(message);
                self.changes.push(BacktestChange { message, draft, was });
            }
        }
    }
}

impl GivenReply {
    const NOTHING: Self = Self { source: None, rule: None };

    fn of(considered: DecisionTrace) -> Self {
        match considered.decision {
            Decision::Answer(Reply { source, rule, .. }) => Self { source: Some(source), rule },
            Decision::NoMatch | Decision::Silent => Self::NOTHING,
        }
    }

    /// Returns the reply without the one to unmatched messages, which a draft does not change.
    fn without_no_match(&self) -> Self {
        match self.source {
            Some(ReplySource::NoMatch) => Self::NOTHING,
            _ => self.clone(),
        }
    }
}

/// Checks drafts as rules.
fn drafts(
    rules: Vec<BacktestDraft>,
    now: Timestamp,
    by: &UserId,
) -> Result<Vec<Rule>, ServiceError> {
    if rules.len() > limits::RULES {
        let why = format_args!("contains more than {} rules", limits::RULES);
        return Err(ServiceError::invalid_value(RULES, why));
    }
    let rule = |(draft, number): (BacktestDraft, usize)| {
        let at = RULES.item(number - 1);
        let id = draft.id.map(|id| text(at.clone().member("id"), id, 1, MAX_ID)).transpose()?;
        let id = RuleId::new(id.unwrap_or_else(|| format!("draft_{number}")));
        let texts = checked_at(&at, draft.texts).map_err(|(_, error)| error)?;
        Ok(Rule::new(id, texts, now, by.clone()))
    };
    rules.into_iter().zip(1..).map(rule).collect()
}
