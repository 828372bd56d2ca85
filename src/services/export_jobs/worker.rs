//! Worker that writes exports, part by part.
//!
//! It runs in every process with the worker role. Each export is worked on for a time slice and then
//! released, so that a large one delays no small one, and several processes share the queue. A
//! process that dies half-way loses its claim, and another one goes on with the next part. It also
//! has the parts written again whose messages were changed or removed.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::{BlobError, Blobs, BoxError};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::metric;
use chatkeep_core::outage::Availability;
use chatkeep_core::random;
use chatkeep_core::time::SharedClock;
use chatkeep_i18n::Language;
use chatkeep_store::{
    BlobClaim, ExportJob, ExportPart, ExportStep, PartOutcome, Store, StoreError, WrittenPart,
};
use chatkeep_transfer::{
    Export, Format, MediaLinks, PartRange, PartSummary, TransferError, export_part,
};
use chatkeep_view::Links;
use chatkeep_view::pseudonyms::Mask;
use chatkeep_workers::log_failure;
use chatkeep_workers::periodic::{JobFailure, JobScope, PeriodicJob};
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::claim_renewal::renewing;

/// Poll interval of exports.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Time slice of an export before others have their turn.
const SLICE: Duration = Duration::from_secs(5);
/// Pause before a part is written that was out of date before it was stored.
const PAUSE: Duration = Duration::from_millis(250);
/// Timeout of a part: a media store that hangs must not hold up other exports.
const TIMEOUT: Duration = Duration::from_mins(2);
/// Retry delay of an export that failed, or whose stores are down.
const RETRY_DELAY: Duration = Duration::from_secs(5);
/// Maximum time by which the clocks of processes differ.
const CLOCKS: Duration = Duration::from_mins(1);
/// Error text of a failed export for its caller.
const FAILED: &str = "The export could not be written; the service's log says why";
/// Error text of an export that was given up because it ended its process, for its caller.
const INTERRUPTED: &str = "Writing the export has ended the service's process several times, so it \
                           was given up; the service's log says why";
/// Results of attempts at parts, in the metrics.
const RESULTS: [&str; 3] = [WRITTEN, OUTDATED, FAILED_PART];
const WRITTEN: &str = "written";
const OUTDATED: &str = "outdated";
const FAILED_PART: &str = "failed";

/// Failure of an attempt.
#[derive(Debug, thiserror::Error)]
enum AttemptError {
    #[error("the store failed")]
    Store(#[from] StoreError),
    #[error("the file of a part cannot be stored")]
    Blob(#[from] BlobError),
    #[error("a part was not read and stored in time")]
    Timeout,
    #[error("free disk space is below disk.media_reserve_bytes")]
    DiskLow,
    #[error("the export has an unknown {0}")]
    Unknown(&'static str),
}

/// Worker with its resources. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ExportWorker {
    store: Store,
    blobs: Blobs,
    clock: SharedClock,
    /// Reserve of free disk space of the media store.
    disk: DiskReserve,
    /// Addresses of the messages' pages.
    links: Links,
    /// Name of this worker's claims.
    worker: String,
    /// Timeout of a part.
    timeout: Duration,
}

impl ExportWorker {
    /// Creates a worker with a unique name, so that no other has its claims.
    pub fn new(
        store: Store,
        blobs: Blobs,
        clock: SharedClock,
        disk: DiskReserve,
        links: Links,
    ) -> Self {
        let worker = random::text(16);
        Self { store, blobs, clock, disk, links, worker, timeout: TIMEOUT }
    }

    #[cfg(test)]
    pub(crate) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Writes waiting exports, and has parts written again whose messages were changed or removed, until
    /// `stop` is cancelled.
    #[boxed]
    pub async fn run(self, stop: CancellationToken) {
        for result in RESULTS {
            metric::EXPORT_PARTS.add([result.into()], 0);
        }
        // After a panic this runs again: a claim of before it is that of another worker.
        let worker = Self { worker: random::text(16), ..self };
        // Files of changed messages go, however long a part takes.
        tokio::join!(worker.write_exports(&stop), worker.follow_changes(&stop));
    }

    async fn write_exports(&self, stop: &CancellationToken) {
        let mut ticks = ticks();
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            while !stop.is_cancelled() && self.turn(stop).await {}
        }
    }

    async fn follow_changes(&self, stop: &CancellationToken) {
        let mut ticks = ticks();
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            self.apply_changes(stop).await;
        }
    }

    /// Works on the next export for a time slice. Returns true if there was one.
    async fn turn(&self, stop: &CancellationToken) -> bool {
        let (exports, now) = (self.store.exports(), self.clock.now());
        let export = match exports.claim_export(&self.worker, INTERRUPTED, now).await {
            Ok(Some(export)) => export,
            Ok(None) => return false,
            Err(error) => {
                log_failure!(warn, &error, "cannot claim an export");
                return false;
            }
        };
        // A part that is half written when the process stops is given up.
        let attempt = stop.run_until_cancelled(self.attempt(&export, stop)).await;
        match attempt.unwrap_or(Ok(false)) {
            Ok(true) => {}
            Ok(false) => {
                let (exports, now) = (self.store.exports(), self.clock.now());
                log_outcome(exports.release_export(&export, &self.worker, now).await);
            }
            Err(error) => self.put_back(&export, &error).await,
        }
        true
    }

    /// Takes parts out of date whose messages were changed or removed.
    async fn apply_changes(&self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            match self.store.exports().apply_export_changes(self.clock.now()).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    return log_failure!(warn, &error, "cannot look for exports that changed");
                }
            }
        }
    }

    /// Writes parts for a time slice. Returns true once the export is completed, or somebody else's.
    async fn attempt(
        &self,
        export: &ExportJob,
        stop: &CancellationToken,
    ) -> Result<bool, AttemptError> {
        let wanted = self.wanted(export)?;
        let until = Instant::now() + SLICE;
        let mut present = export.clone();
        while !stop.is_cancelled() && Instant::now() < until {
            let exports = self.store.exports();
            let next = exports.next_export_part(&present, &self.worker, self.clock.now());
            match self.renewing(&present, next).await? {
                ExportStep::Part(part) => match self.write_claimed(&present, &wanted, &part).await?
                {
                    PartOutcome::Stored(next) => {
                        metric::EXPORT_PARTS.add([WRITTEN.into()], 1);
                        present = *next;
                    }
                    PartOutcome::Outdated => {
                        metric::EXPORT_PARTS.add([OUTDATED.into()], 1);
                        tokio::time::sleep(PAUSE).await;
                    }
                    PartOutcome::Lost => return Ok(true),
                },
                ExportStep::Completed(export) => {
                    let (id, messages) = (&export.id, export.done);
                    info!(export = id, channel = %export.channel, messages, "export completed");
                    return Ok(true);
                }
                ExportStep::Lost => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Writes a part within its timeout, while the claim is renewed.
    async fn write_claimed(
        &self,
        export: &ExportJob,
        wanted: &Export,
        part: &ExportPart,
    ) -> Result<PartOutcome, AttemptError> {
        tokio::select! {
            written = self.renewing(export, self.write(export, wanted, part)) => written,
            () = tokio::time::sleep(self.timeout) => Err(AttemptError::Timeout),
        }
    }

    /// Waits for work on an export, and renews the claim meanwhile.
    async fn renewing<T>(&self, export: &ExportJob, work: impl Future<Output = T>) -> T {
        let renew = || async {
            let (exports, now) = (self.store.exports(), self.clock.now());
            log_outcome(exports.renew_export(export, &self.worker, now).await);
        };
        renewing(renew, work).await
    }

    /// Writes a part into the media store.
    #[boxed]
    async fn write(
        &self,
        export: &ExportJob,
        wanted: &Export,
        part: &ExportPart,
    ) -> Result<PartOutcome, AttemptError> {
        if self.disk.is_low() {
            return Err(AttemptError::DiskLow);
        }
        let channel = export.channel.clone();
        // What was stored after the request, but for what the clocks of processes differ by.
        let late = export.created_at.plus(CLOCKS)..self.clock.now();
        let (store, part_range) = (self.store.clone(), PartRange { part: part.clone(), late });
        let (stream, summary) = export_part(store, channel, wanted.clone(), part_range);
        let claim = async |blob| -> Result<BlobClaim, BoxError> {
            Ok(self.store.media().claim_blob(blob, self.clock.now()).await?)
        };
        let (stored, claim) = self.blobs.put(stream, u64::MAX, claim).await?;
        let PartSummary { messages, last, is_last } = {
            let summary = summary.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            summary.clone()
        };
        let written = WrittenPart {
            claim: &claim,
            bytes: stored.bytes,
            messages,
            last: last.as_ref(),
            is_last,
        };
        let exports = self.store.exports();
        let now = self.clock.now();
        Ok(exports.store_export_part(export, &self.worker, part, &written, now).await?)
    }

    /// Returns the export that a row describes. Its reader sees people as they are.
    fn wanted(&self, export: &ExportJob) -> Result<Export, AttemptError> {
        Ok(Export {
            format: Format::parse(&export.format).ok_or(AttemptError::Unknown("format"))?,
            from: export.from,
            to: Some(export.before),
            not_before: export.not_before,
            zone: export.time_zone.parse().map_err(|_| AttemptError::Unknown("time zone"))?,
            language: Language::from_tag(&export.language)
                .ok_or(AttemptError::Unknown("language"))?,
            media: MediaLinks::None,
            links: self.links.clone(),
            mask: Mask::none(),
        })
    }

    /// Releases an export for a later attempt. An outage is waited for; a permanent error fails the
    /// export in the end.
    async fn put_back(&self, export: &ExportJob, cause: &AttemptError) {
        metric::EXPORT_PARTS.add([FAILED_PART.into()], 1);
        log_failure!(warn, cause, "an export cannot be written now");
        let now = self.clock.now();
        let next = now.plus(RETRY_DELAY);
        let exports = self.store.exports();
        log_outcome(if self.is_waited_for(cause) {
            exports.release_export(export, &self.worker, next).await
        } else {
            exports.fail_export(export, &self.worker, FAILED, (now, next)).await
        });
    }

    /// Returns whether the cause of a failure passes by itself. A part that takes too long although
    /// nothing is known to be away may take as long again.
    fn is_waited_for(&self, cause: &AttemptError) -> bool {
        match cause {
            AttemptError::Timeout => [self.store.availability(), self.blobs.availability()]
                .into_iter()
                .any(Availability::is_troubled),
            _ => cause.is_transient(),
        }
    }
}

impl AttemptError {
    /// Returns whether trying again later may help.
    fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            // The stream of a part fails when the database does.
            Self::Blob(BlobError::Source(cause)) => match cause.downcast_ref::<TransferError>() {
                Some(TransferError::Store(error)) => error.is_transient(),
                _ => false,
            },
            Self::Blob(error) => error.is_transient(),
            Self::DiskLow => true,
            Self::Timeout | Self::Unknown(_) => false,
        }
    }
}

/// Purges expired exports.
#[derive(Debug)]
pub struct ExportPurge(pub ExportWorker);

impl PeriodicJob for ExportPurge {
    const NAME: &'static str = "export_purge";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot purge expired exports";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let Self(ExportWorker { store, clock, .. }) = self;
        while !stop.is_cancelled() && store.exports().purge_exports(clock.now()).await? > 0 {}
        Ok(())
    }
}

fn ticks() -> Interval {
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

fn log_outcome(released: Result<(), StoreError>) {
    if let Err(error) = released {
        log_failure!(warn, &error, "the claim of an export cannot be changed");
    }
}
