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
/// Number of failed deletions after which the rest is left to the next round: a media store that is
/// away refuses everything.
const MAX_FAILURES: usize = 256;
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
#[derive(Debug)]
enum FileDeletion {
    Done,
    /// It has not begun.
    Unbegun,
    /// It failed, or there was no answer in time, but the media store may still carry it out: nobody
    /// may put the file before the lease ends.
    Unclear(Option<BlobError>),
}

/// Tally of a round, for the log.
#[derive(Debug, Default)]
struct SweepRound {
    deleted: usize,
    failed: usize,
    /// First error.
    error: Option<BlobError>,
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
        let mut round = SweepRound::default();
        let swept = self.sweep_orphans(stop, &mut round).await;
        round.report();
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
        round: &mut SweepRound,
    ) -> Result<(), StoreError> {
        while !stop.is_cancelled() && round.failed < MAX_FAILURES && self.sweep_batch(round).await?
        {
        }
        Ok(())
    }

    /// Deletes a batch of orphans; `false` when nothing is left that can be deleted now. What failed
    /// stays leased and does not come again meanwhile. No transaction is open while files are deleted:
    /// a media store that hangs holds up nothing else.
    async fn sweep_batch(&self, round: &mut SweepRound) -> Result<bool, StoreError> {
        // Before the lease, so that it lasts longer than what is measured from here.
        let begun = Instant::now();
        let sweep =
            self.store.media().begin_orphan_sweep(self.clock.now().minus(CLAIM), BATCH).await?;
        if sweep.seen() == 0 {
            return Ok(false);
        }
        let deletions = futures_util::stream::iter(sweep.blobs().to_vec())
            .map(|blob| async move { (self.delete(&blob, begun).await, blob) });
        let ended: Vec<_> = deletions.buffer_unordered(CONCURRENCY).collect().await;
        let (deleted, unbegun) = round.count(ended);
        sweep.finish(&deleted, &unbegun).await?;
        round.deleted += deleted.len();
        Ok(unbegun.is_empty())
    }

    async fn delete(&self, blob: &BlobId, begun: Instant) -> FileDeletion {
        if begun.elapsed() > START_WINDOW {
            return FileDeletion::Unbegun;
        }
        match tokio::time::timeout(TIMEOUT, self.blobs.delete(blob)).await {
            Ok(Ok(())) => FileDeletion::Done,
            Ok(Err(error)) => FileDeletion::Unclear(Some(error)),
            Err(_) => {
                self.blobs.availability().fails(Work::Reading, "it does not delete in time");
                FileDeletion::Unclear(None)
            }
        }
    }
}

impl SweepRound {
    /// Counts the failures of a batch. Returns the blobs that were deleted, and those whose
    /// deletion has not begun.
    fn count(&mut self, ended: Vec<(FileDeletion, BlobId)>) -> (Vec<BlobId>, Vec<BlobId>) {
        let (mut deleted, mut unbegun) = (Vec::new(), Vec::new());
        for (outcome, blob) in ended {
            match outcome {
                FileDeletion::Done => deleted.push(blob),
                FileDeletion::Unbegun => unbegun.push(blob),
                FileDeletion::Unclear(error) => {
                    self.failed += 1;
                    self.error = self.error.take().or(error);
                }
            }
        }
        (deleted, unbegun)
    }

    /// Logs the round: what it deleted, and how many deletions failed.
    fn report(&self) {
        let (deleted, failed) = (self.deleted, self.failed);
        if deleted > 0 {
            info!(deleted, "orphaned media is deleted");
        }
        if let Some(error) = &self.error {
            log_failure!(warn, error, failed, "orphaned media cannot be deleted now");
        } else if failed > 0 {
            debug!(failed, "the media store did not delete in time");
        }
    }
}
