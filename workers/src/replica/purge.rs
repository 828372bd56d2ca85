//! Purge of erased words: they stay in the index' files, unsearchable, until their segment is
//! rewritten. Merging does that in time; this does it after an hour.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::ReplicaError;
use super::writer::SharedWriter;
use chatkeep_core::log_failure;

/// Purge interval. Segments with erased words are rewritten as a whole, so not often.
const PERIOD: Duration = Duration::from_hours(1);

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

impl Purger {
    /// Purges until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        let mut due = tokio::time::interval(PERIOD);
        // The first tick is at once.
        due.tick().await;
        while stop.run_until_cancelled(due.tick()).await.is_some() {
            if let Err(error) = self.purge().await {
                log_failure!(warn, &error, "cannot purge the search index");
            }
        }
    }

    /// Rewrites every segment that holds words of erased messages. Indexing waits meanwhile.
    ///
    /// # Errors
    /// Fails when the index' folder fails.
    pub async fn purge(&self) -> Result<(), ReplicaError> {
        self.writer.purge().await
    }
}
