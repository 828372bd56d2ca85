//! Snapshots: consistent copies of a deployment in a folder or a bucket, and their restoration.
//!
//! The order of the copies is the point. The bus comes first and the database after it: an event
//! that was stored in between is in both, and storing it again changes nothing. Files are copied
//! after the database that refers to them; one that is gone by then belongs to a message that was
//! erased. The ledger of erasures comes last, and is replayed by a restoration together with the
//! ledgers of all later snapshots, so that what was erased stays erased. The manifest is written
//! when everything else is there: without one there is no snapshot.

mod changed_target;
mod copy_blobs;
mod create;
mod error;
mod files;
mod job;
mod layout;
mod ledger;
mod leftovers;
mod lock;
mod manifest;
mod migration;
mod new_folder;
mod objects;
mod overlap;
mod owner;
mod place;
mod prune;
mod replay;
mod restore;
mod restored_files;
mod seal;
mod space;
mod stored;
mod target_id;
#[cfg(test)]
mod tests;
mod verify;

use std::path::PathBuf;

pub use create::SnapshotSource;
pub use error::SnapshotError;
pub use job::SnapshotJob;
pub use leftovers::remove_leftovers;
pub use manifest::{SnapshotManifest, SnapshotReason};
pub use migration::{BeforeMigration, MigrationCopyPurge, copy_before_migration};
pub use place::SnapshotPlace;
pub use prune::SnapshotRetention;
pub use replay::{ErasedIn, ReadLedgers};
pub use restore::{RestoreDestination, RestoreReport, RestoreRequest};
pub use restored_files::DamagedFiles;
pub use seal::AgeIdentities;
pub use stored::SnapshotRecord;
pub use target_id::OtherSnapshotTarget;

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::{Archive, Blobs};
use chatkeep_core::config::{BlobsKind, BusKind, Config, Database};
use chatkeep_core::time::SharedClock;
use chatkeep_store::Store;
use seal::AgeRecipients;

use crate::disk::DiskReserves;

/// Snapshots of a deployment in one place. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SnapshotService {
    archive: Archive,
    /// Address by which databases record the place.
    address: String,
    recipients: AgeRecipients,
    clock: SharedClock,
    /// Data folder of the deployment.
    data: PathBuf,
    /// Settings without secrets.
    settings: String,
    /// Bytes of the data folder's disk that a snapshot leaves free.
    reserve: u64,
}

impl SnapshotService {
    /// Opens the place `target`, or else that of the settings.
    ///
    /// # Errors
    /// [`SnapshotError::NoTarget`] without either, [`SnapshotError::Recipient`] for keys that are
    /// none, [`SnapshotError::Overlaps`] for a place that the media store lies in, else when the
    /// place cannot be opened.
    pub fn open(
        config: &Config,
        target: Option<&BlobsKind>,
        clock: SharedClock,
    ) -> Result<Self, SnapshotError> {
        let target = place_for_writing(config, target)?;
        Self::over(Archive::open(target, &config.s3)?, target, config, clock)
    }

    /// Checks the settings alone: the keys, the access to a bucket, and that the media store does not
    /// lie in a folder of the snapshots.
    ///
    /// # Errors
    /// [`SnapshotError::Recipient`], [`SnapshotError::Recipients`], [`SnapshotError::Overlaps`], or
    /// [`SnapshotError::Archive`] for a bucket whose settings do not fit together.
    pub fn check_settings(config: &Config) -> Result<(), SnapshotError> {
        AgeRecipients::parse(&config.snapshot.recipients)?;
        let Some(target) = &config.snapshot.target else { return Ok(()) };
        overlap::check(target, &config.blobs)?;
        if matches!(target, BlobsKind::S3 { .. }) {
            // Calls nobody yet.
            Archive::open(target, &config.s3)?;
        }
        Ok(())
    }

    /// Opens the same place, which has to be there, for pruning.
    ///
    /// # Errors
    /// Those of [`Self::open_existing`], and [`SnapshotError::Overlaps`].
    pub fn open_for_pruning(
        config: &Config,
        target: Option<&BlobsKind>,
        clock: SharedClock,
    ) -> Result<Self, SnapshotError> {
        Self::open_existing(config, Some(place_for_writing(config, target)?), clock)
    }

    /// Opens the same place for reading; creates nothing.
    ///
    /// # Errors
    /// Those of [`Self::open`], or when there is no such folder.
    pub fn open_existing(
        config: &Config,
        target: Option<&BlobsKind>,
        clock: SharedClock,
    ) -> Result<Self, SnapshotError> {
        let target = place(config, target)?;
        Self::over(Archive::open_existing(target, &config.s3)?, target, config, clock)
    }

    fn over(
        archive: Archive,
        target: &BlobsKind,
        config: &Config,
        clock: SharedClock,
    ) -> Result<Self, SnapshotError> {
        Ok(Self {
            archive,
            address: target_id::address(target, &config.s3),
            recipients: AgeRecipients::parse(&config.snapshot.recipients)?,
            clock,
            data: config.data.clone(),
            settings: config.shown.clone(),
            reserve: DiskReserves::new(config).ingress.minimum(),
        })
    }

    /// Place of the snapshots.
    pub const fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Location of the snapshots, as in the settings.
    pub fn place(&self) -> &str {
        self.archive.place()
    }
}

/// Returns `target`, or else the place of the settings.
fn place<'a>(
    config: &'a Config,
    target: Option<&'a BlobsKind>,
) -> Result<&'a BlobsKind, SnapshotError> {
    target.or(config.snapshot.target.as_ref()).ok_or(SnapshotError::NoTarget)
}

/// Returns the same place, in which no media store may lie: files are removed there.
fn place_for_writing<'a>(
    config: &'a Config,
    target: Option<&'a BlobsKind>,
) -> Result<&'a BlobsKind, SnapshotError> {
    let place = place(config, target)?;
    overlap::check(place, &config.blobs)?;
    Ok(place)
}

impl SnapshotSource {
    /// Returns what a deployment with these settings has.
    pub fn of(config: &Config, store: Store, blobs: Blobs) -> Self {
        Self {
            store,
            blobs: Some(blobs),
            embedded_database: matches!(config.database, Database::Sqlite),
            embedded_bus: matches!(config.bus, BusKind::Embedded),
        }
    }

    /// Closes the database.
    #[boxed]
    pub async fn close(&self) {
        self.store.close().await;
    }
}
