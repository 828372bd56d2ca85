//! The assistant of a channel: settings, rules and texts, simulated replies, and tests of rules
//! against past messages.
//!
//! Settings have versions: a change that names the versions it may replace is refused as
//! [`ServiceError::Stale`] when the present one is another.

mod config;
mod history;
mod idle;
mod import;
mod listing;
mod origins;
mod rules;
mod texts;
mod trial;

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_bus::Bus;
use chatkeep_core::assistant::Revision;
use chatkeep_core::heavy::BlockingPool;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::Store;
use chatkeep_workers::assistant::{Assistants, Compiled};
use tracing::error;

pub use config::{AssistantChange, AssistantSettings, QaChange, TriggerChange, WelcomeChange};
pub(crate) use history::Figures;
pub use history::{
    AssistantFigures, BacktestChange, BacktestDraft, BacktestRequest, BacktestResult,
    ComparedAnswer, ComparedMessage, Comparison, ComparisonRequest, DAYS, Difference, GivenReply,
    HistoryAccess, MAX_DAYS, Progress, RuleEdit, UnansweredFigures, UnansweredQuestion,
    UnansweredQuestions,
};
pub use idle::IdlePart;
pub use import::{ImportRow, PlannedRow, RowFate, RuleImportPlan, RuleLimit};
pub use listing::{FoundRules, RuleOrder, RuleQuery};
pub use origins::VisibleRules;
pub use rules::{
    KeywordWarning, KeywordWarningKind, ReviewedRules, RuleBook, RuleField, RuleUpdate,
};
pub use texts::{FieldText, TextVersions, VersionedText};
pub use trial::{ModeTrial, ScoredRule, Trial, TrialCandidate, TrialReason, TrialReport};

use history::Examinations;

use super::ServiceError;
use super::access::{Admin, ChannelAccess, WriteAssistant};

/// Editor of a settings object before its first change.
const SYSTEM: &str = "system";

/// Access to the assistant's settings: for admins and owners, reading included.
pub type SettingsAccess = ChannelAccess<Admin, WriteAssistant>;

/// Last change of a settings object.
#[derive(Clone, Debug)]
pub struct SettingRevision {
    /// Time of the last change; before the first one, the time at which the channel was first seen.
    pub updated_at: Timestamp,
    /// User who made the last change; `system` before the first.
    pub updated_by: UserId,
}

/// Scans of histories, which take long: one at a time.
static SCANS: BlockingPool = BlockingPool::new(|_| 1);

/// Assistants of channels. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AssistantService {
    store: Store,
    clock: SharedClock,
    /// Announces changes to the other processes.
    bus: Bus,
    /// Compiled assistants, the same ones as the stage's in this process.
    assistants: Assistants,
    /// Examinations of histories that go on request by request.
    pub(super) examinations: Examinations,
    /// Numbers of unanswered questions.
    figures: Figures,
}

impl AssistantService {
    pub(super) fn new(store: Store, clock: SharedClock, bus: Bus, assistants: Assistants) -> Self {
        let (examinations, figures) = (Examinations::default(), Figures::default());
        Self { store, clock, bus, assistants, examinations, figures }
    }

    /// Returns the numbers of unanswered questions of channels.
    pub(super) fn figures(&self) -> Figures {
        self.figures.clone()
    }

    /// Makes every process use the present settings of a channel from its next message on.
    #[boxed]
    pub async fn reload(&self, channel: &ChannelId) {
        self.figures.forget(channel);
        self.assistants.changed(channel, &self.bus).await;
    }

    /// Returns the channel's assistant, with defaults for what was never set.
    async fn compiled(&self, channel: &ChannelId) -> Result<Arc<Compiled>, ServiceError> {
        if let Some(compiled) = self.assistants.of(channel).await? {
            return Ok(compiled);
        }
        let source = self.assistants.source(channel).await?;
        Ok(self.assistants.compile_source(source, None).await?)
    }

    /// Returns the last change of a settings object of the channel.
    async fn revision(
        &self,
        channel: &ChannelId,
        known: Revision,
    ) -> Result<SettingRevision, ServiceError> {
        let updated_at = if let Some(at) = known.updated_at {
            at
        } else {
            let channel = self.store.channels().channel(channel).await?;
            channel.ok_or(ServiceError::PermissionDenied)?.created_at
        };
        let updated_by = known.updated_by.unwrap_or_else(|| SYSTEM.into());
        Ok(SettingRevision { updated_at, updated_by })
    }

    /// Runs CPU-bound scoring of many messages on a blocking thread, one at a time.
    async fn score<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        SCANS.try_run(work).await.map_err(|error| {
            error!(%error, "scoring messages failed");
            ServiceError::Internal
        })
    }
}
