//! Orphan sweep of media: blobs without a reference, and uploads whose process died.

use std::time::Duration;

use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::blob::BlobId;
use chatkeep_core::outage::Work;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{CLAIM, Store, StoreError};
use chatkeep_workers::log_failure;
use chatkeep_workers::periodic::{JobFailure, PeriodicJob, Scope};
use futures_util::StreamExt as _;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

/// Age after which an unfinished upload counts as abandoned.
const ABANDONED: Duration = Duration::from_hours(24);
/// Batch size: orphans deleted in one transaction, for which SQLite's one writer waits.
const BATCH: u32 = 16;
/// Timeout of deleting a file; a slower one is left to the next round.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Orphan sweep with its stores and clock.
#[derive(Clone, Debug)]
pub struct OrphanSweeper {
    pub store: Store,
    pub blobs: Blobs,
    pub clock: SharedClock,
}

/// Sweep of uploads whose process died.
#[derive(Debug)]
pub struct UploadSweeper(pub OrphanSweeper);

impl PeriodicJob for OrphanSweeper {
    const NAME: &'static str = "orphan_sweep";
    /// Retracted files are gone after about this.
    const PERIOD: Duration = Duration::from_mins(1);
    const FAILURE: &'static str = "cannot look for media that nobody holds";
    const SCOPE: Scope = Scope::Deployment;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let mut deleted = 0;
        let swept = self.sweep_orphans(stop, &mut deleted).await;
        if deleted > 0 {
            info!(deleted, "orphaned media is deleted");
        }
        Ok(swept?)
    }
}

impl PeriodicJob for UploadSweeper {
    const NAME: &'static str = "upload_sweep";
    const PERIOD: Duration = Duration::from_hours(1);
    const FAILURE: &'static str = "the media store cannot be swept";
    const SCOPE: Scope = Scope::Deployment;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let Self(OrphanSweeper { blobs, .. }) = self;
        let uploads = blobs.sweep(self.0.ago(ABANDONED)).await?;
        if uploads > 0 {
            warn!(uploads, "removed uploads that a crash had interrupted");
        }
        Ok(())
    }
}

impl OrphanSweeper {
    async fn sweep_orphans(
        &self,
        stop: &CancellationToken,
        deleted: &mut usize,
    ) -> Result<(), StoreError> {
        while !stop.is_cancelled() {
            match self.sweep_batch().await? {
                Some(more) => *deleted += more,
                None => break,
            }
        }
        Ok(())
    }

    /// Deletes a batch of orphans; `None` when nothing is left that can be deleted now.
    async fn sweep_batch(&self) -> Result<Option<usize>, StoreError> {
        let sweep = self.store.media().begin_orphan_sweep(self.ago(CLAIM), BATCH).await?;
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

    fn ago(&self, age: Duration) -> Timestamp {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.clock.now().millis().saturating_sub(age))
    }
}

fn failed(error: &BlobError) {
    log_failure!(warn, error, "the orphan sweep of the media store failed");
}
