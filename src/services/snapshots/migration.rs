//! Copy of an embedded database of before a migration that changes its data.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::{Archive, ArchiveError};
use chatkeep_core::config::{BlobsKind, BusKind, Config, Database};
use chatkeep_core::time::SharedClock;
use chatkeep_store::Store;
use chatkeep_workers::periodic::{JobFailure, PeriodicJob};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::lock::SnapshotLock;
use super::prune::SnapshotRetention;
use super::{SnapshotError, SnapshotReason, SnapshotService, SnapshotSource};

/// Folder in the data folder for these copies.
const FOLDER: &str = "before-migration";
/// Interval at which a process looks whether another one is done with its copy.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Outcome of the look at a database before it is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeforeMigration {
    /// No migration changes its data, or no copy is wanted.
    Nothing,
    /// A copy was made: the id of the snapshot, and the folder that it lies in.
    Copied { id: String, folder: PathBuf },
    /// Migrations change the data of a server, which only its own tools can copy.
    Unprotected,
}

/// Copies an embedded database if a migration of this version is about to change its data, and
/// removes old copies, and those that the new one replaces. Must be called before the database is
/// opened.
///
/// # Errors
/// Returns an error if the copy cannot be made: the database must not be migrated then.
/// [`StoreError::Newer`](chatkeep_store::StoreError::Newer) for a schema of a later version.
#[boxed]
pub async fn copy_before_migration(
    config: &Config,
    clock: SharedClock,
) -> Result<BeforeMigration, SnapshotError> {
    let Some(kept) = config.snapshot.before_migration else { return Ok(BeforeMigration::Nothing) };
    if !Store::schema_state(&config.database, &config.data).await?.changes_data() {
        return Ok(BeforeMigration::Nothing);
    }
    if !matches!(config.database, Database::Sqlite) {
        return Ok(BeforeMigration::Unprotected);
    }
    let _lock = locked(config).await?;
    // Another process may have been faster.
    let state = Store::schema_state(&config.database, &config.data).await?;
    if !state.changes_data() {
        return Ok(BeforeMigration::Nothing);
    }
    let folder = config.data.join(FOLDER);
    let target = BlobsKind::Folder(folder.clone());
    let archive = Archive::open(&target, &config.s3)?;
    let service = SnapshotService::over(archive, &target, config, clock)?;
    if let Some(schema) = state.found {
        // First, so that two copies need not fit on the disk.
        service.drop_migration_copies(schema).await?;
    }
    let store = Store::open_as_is(&config.database, &config.data).await?;
    let source = SnapshotSource {
        store,
        blobs: None,
        embedded_database: true,
        embedded_bus: matches!(config.bus, BusKind::Embedded),
    };
    let made = service.create_locked(&source, SnapshotReason::Migration).await;
    source.store.close().await;
    let made = made?;
    // At the start the time is not known yet: the periodic job removes them later.
    if service.clock.is_confirmed() {
        service.prune_locked(SnapshotRetention::For(kept)).await?;
    }
    Ok(BeforeMigration::Copied { id: made.id, folder })
}

/// Periodic job that removes the copies whose time is over, also when no more are to be made.
#[derive(Debug)]
pub struct MigrationCopyPurge {
    config: Config,
    clock: SharedClock,
}

impl MigrationCopyPurge {
    /// Creates the job of a deployment with an embedded database.
    pub const fn new(config: Config, clock: SharedClock) -> Self {
        Self { config, clock }
    }

    async fn purge(&self) -> Result<(), SnapshotError> {
        let folder = BlobsKind::Folder(self.config.data.join(FOLDER));
        let archive = match Archive::open_existing(&folder, &self.config.s3) {
            Err(ArchiveError::Missing(_)) => return Ok(()),
            archive => archive?,
        };
        let clock = Arc::clone(&self.clock);
        let service = SnapshotService::over(archive, &folder, &self.config, clock)?;
        let _lock = SnapshotLock::of(&self.config.data)?;
        let kept = self.config.snapshot.before_migration.unwrap_or_default();
        let gone = service.prune_locked(SnapshotRetention::For(kept)).await?;
        if gone.snapshots > 0 {
            info!(copies = gone.snapshots, "old copies of before a migration were removed");
        }
        Ok(())
    }
}

impl PeriodicJob for MigrationCopyPurge {
    const NAME: &'static str = "migration_copies";
    const PERIOD: Duration = Duration::from_hours(1);
    const FAILURE: &'static str = "cannot remove old copies of before a migration";
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        match stop.run_until_cancelled(self.purge()).await {
            // A snapshot is made; the next run comes.
            None | Some(Err(SnapshotError::Busy)) => Ok(()),
            Some(done) => Ok(done?),
        }
    }
}

/// Waits for the lock: who else starts now has to wait for the migration anyway.
async fn locked(config: &Config) -> Result<SnapshotLock, SnapshotError> {
    loop {
        match SnapshotLock::of(&config.data) {
            Err(SnapshotError::Busy) => sleep(POLL_INTERVAL).await,
            lock => return lock,
        }
    }
}
