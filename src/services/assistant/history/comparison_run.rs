//! Run of a comparison: it works for a moment at a time.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::assistant::{Rule, RuleDraft};
use chatkeep_core::id::ChannelId;
use chatkeep_core::plan::Plan;
use chatkeep_core::time::Timestamp;
use chatkeep_store::ReadAction;
use chatkeep_workers::assistant::{Compiled, Source};

use super::super::super::{FieldPath, ServiceError};
use super::super::AssistantService;
use super::comparison::{
    ComparedId, ComparedMessage, ComparedPage, Comparison, ComparisonRequest, Difference, NEW_RULE,
    RuleEdit, compared,
};
use super::stepwise::{Progress, Step};
use super::{DAYS, HistoryAccess, HistoryScan};

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
    /// settings; works for a moment, and goes on with the next call. The first call is recorded as a
    /// read: the others are made by the page itself. Both count as switched on;
    /// replies when nothing matches, and cooldowns, are left out.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for a bad rule, [`ServiceError::PlanRequired`] for another mode
    /// that the owner's plan does not include.
    #[boxed]
    pub async fn comparison(
        &self,
        access: &HistoryAccess,
        request: ComparisonRequest,
    ) -> Result<Progress<Comparison>, ServiceError> {
        // Also where another reader began it, who may see more.
        let from = self.since(access, (FieldPath::parameter("days"), DAYS))?;
        let channel = access.without_reading();
        let key = ComparisonKey {
            channel: channel.clone(),
            state: self.state(channel).await?,
            not_before: access.not_before().map(Timestamp::millis),
            request: request.clone(),
        };
        let shared = self.examinations.comparison(&key);
        let mut step = shared.lock().await;
        let mut run = match step.take() {
            Step::Finished(result) => return Ok(step.finish(result)),
            Step::Running(run) => run,
            Step::Nothing => Box::new(self.comparison_run(access, request, from).await?),
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
    #[boxed]
    pub async fn compared_messages(
        &self,
        access: &HistoryAccess,
        comparison: &Comparison,
        only: Option<Difference>,
        page: usize,
        size: usize,
    ) -> Result<ComparedPage, ServiceError> {
        let listed = comparison.different.iter().chain(&comparison.same);
        let listed = listed.filter(|one| only.is_none_or(|only| only == one.difference));
        let mut rows: Vec<_> =
            listed.skip(page.saturating_mul(size)).take(size + 1).cloned().collect();
        let more = rows.len() > size;
        rows.truncate(size);
        let ids = rows.iter().map(|row| row.message.clone()).collect();
        let mut messages = self.listed_messages(access, ids).await?;
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
        from: Timestamp,
    ) -> Result<ComparisonRun, ServiceError> {
        let now = self.clock.now();
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
        qa.strictness = request.strictness.unwrap_or(qa.strictness);
        if let Some(RuleEdit { rule: id, mut texts }) = request.rule {
            let place = id.and_then(|id| source.rules.iter_mut().find(|rule| rule.id == id));
            let saved = place.as_deref().cloned().map(RuleDraft::from).unwrap_or_default();
            // An empty answer stands for the saved one.
            texts.answer = texts.answer.filter(|answer| !answer.is_empty());
            let draft = texts.over_saved(saved).map_err(|(_, error)| error)?;
            let (now, by) = (self.clock.now(), access.user().clone());
            match place {
                Some(rule) => *rule = Rule::new(rule.id.clone(), draft, rule.created_at, by),
                None => source.rules.push(Rule::new(NEW_RULE.into(), draft, now, by)),
            }
        }
        Ok(source)
    }
}
