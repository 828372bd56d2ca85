//! Orphan sweep of media: blobs without a reference, and uploads whose process died.

use std::time::Duration;

use chatkeep_core::blobs::{BlobError, BlobId, Blobs};
use chatkeep_core::log_failure;
use chatkeep_core::outage::Work;
use chatkeep_core::store::{CLAIM, Store, StoreError};
use chatkeep_core::time::{SharedClock, Timestamp};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

/// Interval between orphan sweeps; retracted files are gone after about this.
const ORPHANS: Duration = Duration::from_mins(1);
/// Interval between sweeps of temporary files.
const TEMPORARIES: Duration = Duration::from_hours(1);
/// Age after which an unfinished upload counts as abandoned.
const ABANDONED: Duration = Duration::from_hours(24);
/// Batch size: orphans deleted in one transaction, for which SQLite's one writer waits.
const BATCH: u32 = 16;
/// Timeout of deleting a file; a slower one is left to the next round.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Orphan sweep with its stores and clock.
#[derive(Debug)]
pub(crate) struct OrphanSweeper {
    pub(crate) store: Store,
    pub(crate) blobs: Blobs,
    pub(crate) clock: SharedClock,
}

impl OrphanSweeper {
    /// Sweeps until `stop` is cancelled.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut orphans = tokio::time::interval(ORPHANS);
        let mut temporaries = tokio::time::interval(TEMPORARIES);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = orphans.tick() => self.sweep_orphans(&stop).await,
                _ = temporaries.tick() => self.sweep_temporaries().await,
            }
        }
    }

    async fn sweep_orphans(&self, stop: &CancellationToken) {
        let mut deleted = 0;
        while !stop.is_cancelled() {
            match self.sweep_batch().await {
                Ok(Some(more)) => deleted += more,
                Ok(None) => break,
                Err(error) => {
                    log_failure!(warn, &error, "cannot look up orphaned media");
                    break;
                }
            }
        }
        if deleted > 0 {
            info!(deleted, "deleted orphaned media");
        }
    }

    /// Deletes a batch of orphans; `None` when nothing is left that can be deleted now.
    async fn sweep_batch(&self) -> Result<Option<usize>, StoreError> {
        let sweep = self.store.begin_orphan_sweep(self.ago(CLAIM), BATCH).await?;
        if sweep.seen() == 0 {
            return Ok(None);
        }
        let blobs = sweep.blobs().to_vec();
        let wanted = blobs.len();
        let deletions = futures_util::stream::iter(blobs).map(|blob| self.delete(blob));
        let deleted: Vec<_> =
            deletions.buffer_unordered(8).filter_map(std::future::ready).collect().await;
        sweep.deleted(&deleted).await?;
        Ok((deleted.len() == wanted).then_some(wanted))
    }

    async fn delete(&self, blob: BlobId) -> Option<BlobId> {
        match tokio::time::timeout(TIMEOUT, self.blobs.delete(&blob)).await {
            Ok(Ok(())) => return Some(blob),
            Ok(Err(error)) => failed(&error),
            Err(_) => {
                self.blobs.availability().fails(Work::Reading, "it does not delete in time");
                debug!(%blob, "the media store did not delete in time");
            }
        }
        None
    }

    async fn sweep_temporaries(&self) {
        match self.blobs.sweep(self.ago(ABANDONED)).await {
            Ok(0) => {}
            Ok(uploads) => warn!(uploads, "removed uploads that a crash had interrupted"),
            Err(error) => failed(&error),
        }
    }

    fn ago(&self, age: Duration) -> Timestamp {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.clock.now().millis().saturating_sub(age))
    }
}

fn failed(error: &BlobError) {
    log_failure!(warn, error, "the orphan sweep of the media store failed");
}
