//! Periodic job that keeps the ledger in the archive up to date, and makes and removes snapshots by
//! their schedule.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chatkeep_core::config::SnapshotConfig;
use chatkeep_store::OutboxPosition;
use chatkeep_workers::periodic::{FirstRun, JobFailure, PeriodicJob, Scope};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::lock::{LEASE, SnapshotLock};
use super::prune::SnapshotRetention;
use super::{SnapshotError, SnapshotReason, SnapshotService, SnapshotSource};

/// Job of a process with the worker role.
#[derive(Debug)]
pub(crate) struct SnapshotJob {
    service: SnapshotService,
    source: SnapshotSource,
    every: Option<Duration>,
    retention: SnapshotRetention,
    /// End of the log of changes when the ledger was last written.
    written: Mutex<Option<OutboxPosition>>,
}

impl SnapshotJob {
    /// Creates the job of a deployment.
    pub(crate) fn new(
        service: SnapshotService,
        source: SnapshotSource,
        config: &SnapshotConfig,
    ) -> Self {
        let retention = SnapshotRetention::of(config);
        Self { service, source, every: config.every, retention, written: Mutex::new(None) }
    }

    async fn round(&self) -> Result<(), SnapshotError> {
        self.ledger().await?;
        if !self.is_due().await? {
            return Ok(());
        }
        // With PostgreSQL the job itself is leased.
        let _lock = if self.source.embedded_database {
            Some(SnapshotLock::of(&self.service.data)?)
        } else {
            None
        };
        let made = self.service.create_locked(&self.source, SnapshotReason::Schedule).await?;
        let gone = self.service.prune_locked(self.retention).await?;
        info!(
            snapshot = made.id,
            place = self.service.place(),
            files = made.files,
            removed_snapshots = gone.snapshots,
            removed_files = gone.files,
            "snapshot made"
        );
        Ok(())
    }

    /// Replaces the ledger in the archive, if anything has happened since.
    async fn ledger(&self) -> Result<(), SnapshotError> {
        let end = self.source.store.outbox().log_state().await?.end;
        let written = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written() == Some(end) {
            return Ok(());
        }
        self.service.refresh_ledger(&self.source.store).await?;
        *written() = Some(end);
        Ok(())
    }

    async fn is_due(&self) -> Result<bool, SnapshotError> {
        let Some(every) = self.every else { return Ok(false) };
        let Some(newest) = self.service.newest().await? else { return Ok(true) };
        match self.service.manifest(&newest).await {
            Ok(newest) => Ok(self.service.clock.now().since(newest.created_at) >= every),
            // Another one is better than none.
            Err(error) if error.is_about_one() => Ok(true),
            Err(error) => Err(error),
        }
    }
}

impl SnapshotRetention {
    /// Returns what the settings say.
    pub(crate) const fn of(config: &SnapshotConfig) -> Self {
        Self::Newest { keep: config.keep, days: config.keep_days }
    }
}

impl PeriodicJob for SnapshotJob {
    const NAME: &'static str = LEASE;
    const PERIOD: Duration = Duration::from_mins(5);
    const FAILURE: &'static str = "cannot make a snapshot";
    const SCOPE: Scope = Scope::Deployment;
    const FIRST_RUN: FirstRun = FirstRun::Soon;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        match stop.run_until_cancelled(self.round()).await {
            // Somebody makes one at the command line.
            None | Some(Err(SnapshotError::Busy)) => Ok(()),
            Some(done) => Ok(done?),
        }
    }
}
