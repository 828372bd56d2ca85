//! Orphan sweep of media: blobs without a reference, and uploads whose process died.

use std::time::Duration;

use chatkeep_blobs::{BlobError, Blobs};
use chatkeep_core::blob::BlobId;
use chatkeep_core::outage::Work;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{CLAIM, SWEEP_LEASE, Store, StoreError};
use chatkeep_workers::log_failure;
use chatkeep_workers::periodic::{JobFailure, JobScope, PeriodicJob};
use futures_util::StreamExt as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

/// Age after which an unfinished upload counts as abandoned.
const ABANDONED: Duration = Duration::from_hours(24);
/// Batch size: orphans leased at once. Whoever uploads one of them again waits for the whole batch.
const BATCH: u32 = 64;
/// Number of files that are deleted at the same time.
const CONCURRENCY: usize = 8;
/// Time from the beginning of a batch in which deletions may begin; the others are left to the next
/// round.
const START_WINDOW: Duration = Duration::from_secs(10);
/// Timeout of deleting a file; a slower one is left to the next round after its lease.
const TIMEOUT: Duration = Duration::from_secs(10);

// Others may put these files anew once the lease ends: every deletion has ended long before.
const _: () = assert!(4 * (START_WINDOW.as_secs() + TIMEOUT.as_secs()) <= SWEEP_LEASE.as_secs());

/// Orphan sweep with its stores and clock.
#[derive(Clone, Debug)]
pub struct OrphanSweeper {
    pub store: Store,
    pub blobs: Blobs,
    pub clock: SharedClock,
}

/// Outcome of deleting a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileDeletion {
    Done,
    /// It has not begun.
    Unbegun,
    /// It failed, but the media store may still carry it out: nobody may put the file before the
    /// lease ends.
    Unclear,
}

/// Sweep of uploads whose process died.
#[derive(Debug)]
pub struct UploadSweeper(pub OrphanSweeper);

impl PeriodicJob for OrphanSweeper {
    const NAME: &'static str = "orphan_sweep";
    /// Retracted files are gone after about this.
    const PERIOD: Duration = Duration::from_mins(1);
    const FAILURE: &'static str = "cannot look for media that nobody holds";
    const SCOPE: JobScope = JobScope::Deployment;

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
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let Self(OrphanSweeper { blobs, clock, .. }) = self;
        // Times of files are those of this machine, times of objects those of another.
        let now = clock.now().min(clock.machine());
        let uploads = blobs.sweep(now.minus(ABANDONED)).await?;
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

    /// Deletes a batch of orphans; `None` when nothing is left that can be deleted now. No transaction
    /// is open while files are deleted: a media store that hangs holds up nothing else.
    async fn sweep_batch(&self) -> Result<Option<usize>, StoreError> {
        // Before the lease, so that it lasts longer than what is measured from here.
        let begun = Instant::now();
        let sweep =
            self.store.media().begin_orphan_sweep(self.clock.now().minus(CLAIM), BATCH).await?;
        if sweep.seen() == 0 {
            return Ok(None);
        }
        let wanted = sweep.blobs().len();
        let deletions = futures_util::stream::iter(sweep.blobs().to_vec())
            .map(|blob| async move { (self.delete(&blob, begun).await, blob) });
        let ended: Vec<_> = deletions.buffer_unordered(CONCURRENCY).collect().await;
        let deleted = of(FileDeletion::Done, &ended);
        sweep.finish(&deleted, &of(FileDeletion::Unbegun, &ended)).await?;
        Ok((deleted.len() == wanted).then_some(wanted))
    }

    async fn delete(&self, blob: &BlobId, begun: Instant) -> FileDeletion {
        if begun.elapsed() > START_WINDOW {
            return FileDeletion::Unbegun;
        }
        match tokio::time::timeout(TIMEOUT, self.blobs.delete(blob)).await {
            Ok(Ok(())) => FileDeletion::Done,
            Ok(Err(error)) => {
                failed(&error);
                FileDeletion::Unclear
            }
            Err(_) => {
                self.blobs.availability().fails(Work::Reading, "it does not delete in time");
                debug!(%blob, "the media store did not delete in time");
                FileDeletion::Unclear
            }
        }
    }
}

/// Returns the blobs whose deletion had that outcome.
fn of(outcome: FileDeletion, ended: &[(FileDeletion, BlobId)]) -> Vec<BlobId> {
    let those = ended.iter().filter(|(one, _)| *one == outcome);
    those.map(|(_, blob)| blob.clone()).collect()
}

fn failed(error: &BlobError) {
    log_failure!(warn, error, "the orphan sweep of the media store failed");
}
