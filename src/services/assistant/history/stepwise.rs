//! Examinations of a history that go on step by step: each request works on for a moment, and the
//! next one takes over where it stopped.
//!
//! So nothing runs that nobody waits for any more, and a page can tell how far it is. Unfinished
//! examinations and results stay in this process for a few minutes; another process begins anew.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::cache::Cache;
use chatkeep_core::id::ChannelId;
use tokio::sync::Mutex;

use super::comparison::Comparison;
use super::comparison_run::{ComparisonKey, ComparisonRun};
use super::unanswered::{QuestionSearch, UnansweredQuestions};

/// Usual duration of a step.
const STEP: Duration = Duration::from_millis(600);
/// Maximum number of examinations of each kind; each may hold the texts of a month.
const EXAMINATIONS: usize = 8;
/// Time for which an examination is cached: what was said since is not in it.
const CACHE_TTL: Duration = Duration::from_mins(5);

/// State of an examination.
#[derive(Clone, Debug)]
pub enum Progress<T> {
    /// Percent of the period that were examined; the same request goes on.
    Running(u8),
    /// The result.
    Finished(Arc<T>),
}

/// An examination: work in progress, or its result. A request that ends in the middle of a step
/// leaves nothing, and the next one begins anew.
#[derive(Debug)]
pub(super) enum Step<R, T> {
    Nothing,
    Running(Box<R>),
    Finished(Arc<T>),
}

/// An examination that requests share.
type Shared<R, T> = Arc<Mutex<Step<R, T>>>;

/// Search for questions: the channel, the version and plan of its assistant, the beginning of the
/// period as days and as the caller's own bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct QuestionsKey {
    pub(super) channel: ChannelId,
    pub(super) state: (i64, bool),
    pub(super) days: u32,
    pub(super) not_before: Option<i64>,
}

/// Examinations of this process. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Examinations {
    comparisons: Cache<ComparisonKey, Shared<ComparisonRun, Comparison>>,
    questions: Cache<QuestionsKey, Shared<QuestionSearch, UnansweredQuestions>>,
    /// Duration of a step, give or take one page of messages.
    pub(crate) step: Duration,
}

impl Default for Examinations {
    fn default() -> Self {
        Self { comparisons: cache(), questions: cache(), step: STEP }
    }
}

impl Examinations {
    pub(super) fn comparison(&self, key: &ComparisonKey) -> Shared<ComparisonRun, Comparison> {
        self.comparisons.get_with(key, nothing)
    }

    pub(super) fn questions(
        &self,
        key: &QuestionsKey,
    ) -> Shared<QuestionSearch, UnansweredQuestions> {
        self.questions.get_with(key, nothing)
    }
}

impl<R, T> Step<R, T> {
    /// Takes what there is, and leaves nothing.
    pub(super) const fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Nothing)
    }

    /// Keeps a result.
    pub(super) fn finish(&mut self, result: Arc<T>) -> Progress<T> {
        *self = Self::Finished(Arc::clone(&result));
        Progress::Finished(result)
    }

    /// Keeps work in progress.
    pub(super) fn pause(&mut self, run: Box<R>, percent: u8) -> Progress<T> {
        *self = Self::Running(run);
        Progress::Running(percent)
    }
}

fn cache<K: Clone + Hash + Eq, R, T>() -> Cache<K, Shared<R, T>> {
    Cache::new(EXAMINATIONS, CACHE_TTL)
}

fn nothing<R, T>() -> Shared<R, T> {
    Arc::new(Mutex::new(Step::Nothing))
}
