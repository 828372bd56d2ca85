//! Words of erased messages stay in the index' files, unfindable, until their part of the index is
//! written anew. Merging does that in time; this does it when an hour has passed.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::ReplicaError;
use super::writer::SharedWriter;
use chatkeep_core::log_failure;

/// How long erased words may stay. Parts that hold some are written anew as a whole, so not often.
const PERIOD: Duration = Duration::from_hours(1);

/// Writes parts of the index anew that hold words of erased messages.
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
                log_failure!(warn, &error, "the search index cannot be purged");
            }
        }
    }

    /// Writes every part anew that holds words of erased messages. Indexing waits meanwhile.
    ///
    /// # Errors
    /// When the index' folder fails.
    pub async fn purge(&self) -> Result<(), ReplicaError> {
        self.writer.purge().await
    }
}
