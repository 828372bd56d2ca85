//! Purge of erased words: they stay in the index' files, unsearchable, until their segment is
//! rewritten. Merging does that in time; this does it after an hour.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use tokio_util::sync::CancellationToken;

use super::ReplicaError;
use super::writer::SharedWriter;
use crate::periodic::{FirstRun, JobFailure, PeriodicJob};

/// Rewrites segments of the index that hold words of erased messages.
#[derive(Clone)]
pub struct Purger {
    pub(super) writer: SharedWriter,
}

impl std::fmt::Debug for Purger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Purger").finish_non_exhaustive()
    }
}

impl PeriodicJob for Purger {
    const NAME: &'static str = "search_purge";
    /// Segments with erased words are rewritten as a whole, so not often.
    const PERIOD: Duration = Duration::from_hours(1);
    const FAILURE: &'static str = "the search index cannot be purged";
    const FIRST_RUN: FirstRun = FirstRun::Later;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        Ok(self.purge().await?)
    }
}

impl Purger {
    /// Rewrites every segment that holds words of erased messages. Indexing waits meanwhile.
    ///
    /// # Errors
    /// Fails when the index' folder fails.
    #[boxed]
    pub async fn purge(&self) -> Result<(), ReplicaError> {
        self.writer.purge().await
    }
}
