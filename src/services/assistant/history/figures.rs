//! Numbers of unanswered questions, for lists of channels.
//!
//! Finding the questions means to read a month of messages, which no list can wait for. A list takes
//! the numbers that are known, and asks for the others: a job of this process finds them within
//! moments, and they are kept for an hour. Channels that nobody looks at cost nothing.

use std::collections::HashMap;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::cache::Cache;
use chatkeep_core::id::ChannelId;
use chatkeep_core::reply::ReplyFailureReason;
use chatkeep_core::time::DAY;
use chatkeep_workers::periodic::{JobFailure, PeriodicJob};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::super::super::{FieldPath, ServiceError};
use super::super::AssistantService;
use super::{DAYS, HistoryAccess};

/// Time for which a number is cached.
const CACHE_TTL: Duration = Duration::from_hours(1);
/// Maximum number of channels with a number.
const CHANNELS: usize = 10_000;
/// Maximum number of channels whose number is requested.
const REQUESTED_CHANNELS: usize = 200;

/// Numbers of unanswered questions of the last [`DAYS`] days by channel. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    known: Cache<ChannelId, usize>,
    asked: Cache<ChannelId, ()>,
}

/// Counts unanswered questions where somebody asked for their number.
pub struct UnansweredFigures(pub AssistantService);

impl Default for Figures {
    fn default() -> Self {
        Self {
            known: Cache::new(CHANNELS, CACHE_TTL),
            asked: Cache::new(REQUESTED_CHANNELS, CACHE_TTL),
        }
    }
}

impl Figures {
    /// Returns the known numbers of these channels, and asks for the others.
    pub(crate) fn of(
        &self,
        channels: impl IntoIterator<Item = ChannelId>,
    ) -> HashMap<ChannelId, usize> {
        let known = |channel: ChannelId| {
            let number = self.known.get(&channel);
            if number.is_none() {
                self.asked.insert(channel.clone(), ());
            }
            Some((channel, number?))
        };
        channels.into_iter().filter_map(known).collect()
    }

    /// Forgets the number of a channel, whose settings have changed. Other processes keep
    /// theirs until it expires.
    pub(in crate::assistant) fn forget(&self, channel: &ChannelId) {
        self.known.remove(channel);
    }

    /// Keeps a number that was found.
    pub(super) fn keep(&self, channel: ChannelId, number: usize) {
        self.asked.remove(&channel);
        self.known.insert(channel, number);
    }
}

/// Figures of an assistant.
#[derive(Clone, Debug)]
pub struct AssistantFigures {
    /// Number of rules.
    pub rules: i64,
    /// Number of replies of the last [`DAYS`] days.
    pub answers: i64,
    /// Numbers of replies of these days that were not given, by the recorded reason.
    pub not_given: Vec<(ReplyFailureReason, i64)>,
    /// Number of unanswered questions of these days; `None` while it is not known.
    pub unanswered: Option<usize>,
}

impl AssistantService {
    /// Returns the figures of an assistant.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn assistant_figures(
        &self,
        access: &HistoryAccess,
    ) -> Result<AssistantFigures, ServiceError> {
        let (channel, store) = (access.without_reading(), self.store.assistant());
        let since = self.since(access, (FieldPath::parameter("days"), DAYS))?;
        let (rules, _) = store.rule_sizes(channel).await?;
        let answers = store.answers_since(channel, since).await?;
        let not_given = store.replies_not_given(channel, since).await?;
        let unanswered = self.figures.of([channel.clone()]).remove(channel);
        Ok(AssistantFigures { rules, answers, not_given, unanswered })
    }

    /// Counts the unanswered questions of a channel; none where no rule could answer.
    async fn count_unanswered(&self, channel: &ChannelId) -> Result<usize, ServiceError> {
        let source = self.assistants.source(channel).await?;
        if !source.config.enabled || !source.config.qa.enabled || source.rules.is_empty() {
            return Ok(0);
        }
        let from = self.clock.now().minus(DAY * DAYS);
        let compiled = self.compiled_anew(channel).await?;
        let mut search = self.question_search(channel, compiled, from);
        self.search_on(&mut search).await?;
        Ok(self.questions_of(search, 0).await?.total)
    }
}

impl PeriodicJob for UnansweredFigures {
    const NAME: &'static str = "unanswered_figures";
    const PERIOD: Duration = Duration::from_secs(3);
    const FAILURE: &'static str = "cannot count unanswered questions";

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let figures = &self.0.figures;
        for channel in figures.asked.keys() {
            if stop.is_cancelled() {
                return Ok(());
            }
            // Asked for again when somebody looks again.
            figures.asked.remove(&channel);
            let state = self.0.state(&channel).await?;
            let number = self.0.count_unanswered(&channel).await?;
            debug!(%channel, number, "counted unanswered questions");
            // A number of settings that have changed meanwhile is none.
            if self.0.state(&channel).await? == state {
                figures.keep(channel, number);
            }
        }
        Ok(())
    }
}
