//! Making of a snapshot.

use std::path::Path;

use chatkeep_blobs::{Blobs, BoxError, ObjectDigest};
use chatkeep_bus::embedded::{bus_copy_size, check_bus_copy, copy_bus};
use chatkeep_core::config::Database;
use chatkeep_store::Store;
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::files::{WorkFolder, read_file};
use super::layout::{AGE, LEDGER, MANIFEST, PartName, new_id, object};
use super::ledger::write_ledger;
use super::lock::{SnapshotLock, leased};
use super::manifest::{FORMAT, SnapshotManifest, SnapshotPart, SnapshotReason};
use super::objects::StoredObjects;
use super::{SnapshotError, SnapshotService};
use crate::media_store;

/// Folder in the data folder for copies on their way.
pub(super) const WORK: &str = "snapshot-work";
/// Folder in the data folder for the present ledger on its way.
pub(super) const LEDGER_WORK: &str = "snapshot-ledger";

/// Parts of a deployment that a snapshot is made of.
#[derive(Clone, Debug)]
pub struct SnapshotSource {
    pub store: Store,
    /// Files of messages; `None` to leave them out.
    pub blobs: Option<Blobs>,
    /// The database is a file in the data folder.
    pub embedded_database: bool,
    /// The bus is a file in the data folder.
    pub embedded_bus: bool,
}

impl SnapshotService {
    /// Makes a snapshot while the service may be running.
    ///
    /// # Errors
    /// [`SnapshotError::Busy`] while another one is made, [`SnapshotError::OtherTarget`],
    /// [`SnapshotError::Foreign`], [`SnapshotError::MediaStore`], [`SnapshotError::NoSpace`],
    /// [`SnapshotError::TargetChanged`], or whatever could not be read or written. Objects written by
    /// then are no snapshot, and the next attempt or pruning removes them.
    pub async fn create(
        &self,
        source: &SnapshotSource,
        reason: SnapshotReason,
    ) -> Result<SnapshotManifest, SnapshotError> {
        self.claim(&source.store).await?;
        if source.embedded_database {
            let _lock = SnapshotLock::wait(&self.data).await?;
            return self.create_locked(source, reason).await;
        }
        leased(&source.store, self.create_locked(source, reason)).await
    }

    /// Does the same for a caller that has the lock.
    pub(super) async fn create_locked(
        &self,
        source: &SnapshotSource,
        reason: SnapshotReason,
    ) -> Result<SnapshotManifest, SnapshotError> {
        if let Some(blobs) = &source.blobs {
            // In another media store no file is there, and the snapshot would be without them.
            media_store::check(&source.store, blobs).await?;
        }
        self.remove_unfinished().await?;
        let (begun, now) = (self.target_id().await?, self.clock.now());
        let work = WorkFolder::create(self.data.join(WORK))?;
        let mut manifest = SnapshotManifest {
            format: FORMAT,
            id: new_id(now),
            created_at: now,
            reason,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            schema: Store::latest_schema(),
            recipients: self.recipients.names().to_vec(),
            parts: Vec::new(),
            files: 0,
            file_bytes: 0,
            files_gone: 0,
        };
        let objects = StoredObjects::default();
        let (work, manifest_mut) = (&work, &mut manifest);
        let mut making = Making { service: self, source, work, manifest: manifest_mut, objects };
        let made = making.parts().await;
        let unchanged = self.check_unchanged(begun.as_deref(), &manifest).await;
        // A failure of the copies may be that of the other place, which says less.
        if let Err(error @ SnapshotError::TargetChanged { .. }) = unchanged {
            return Err(error);
        }
        made?;
        unchanged?;
        let text = serde_json::to_vec_pretty(&manifest)?;
        self.archive.put(&object(&manifest.id, MANIFEST), text.into()).await?;
        Ok(manifest)
    }

    /// Replaces the present ledger of erasures in the archive, if it differs from what was written
    /// last, or is not there as it was written.
    ///
    /// # Errors
    /// [`SnapshotError::OtherTarget`], [`SnapshotError::Foreign`], or when the database or the archive
    /// fails.
    pub(super) async fn refresh_ledger(
        &self,
        store: &Store,
        written: Option<PresentLedger>,
    ) -> Result<PresentLedger, SnapshotError> {
        self.claim(store).await?;
        let work = WorkFolder::create(self.data.join(LEDGER_WORK))?;
        let file = work.file(LEDGER);
        let entries = write_ledger(store, &file).await?;
        let name = self.recipients.stored_name(LEDGER);
        if let Some(written) = written.filter(|written| written.entries == entries)
            && self.archive.size(&name).await? == Some(written.bytes)
        {
            return Ok(written);
        }
        let content = self.recipients.seal(read_file(&file).await?)?;
        let ObjectDigest { bytes, .. } = self.archive.put_stream(&name, content).await?;
        // That of before the encryption was switched on, or off.
        let other =
            if self.recipients.encrypt() { LEDGER.to_owned() } else { [LEDGER, AGE].concat() };
        self.archive.delete(&other).await?;
        Ok(PresentLedger { entries, bytes })
    }
}

/// Present ledger of erasures, as it was last written to the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PresentLedger {
    /// SHA-256 of its entries.
    entries: [u8; 32],
    /// Size as stored, in bytes.
    bytes: u64,
}

/// Snapshot that is being made.
pub(super) struct Making<'a> {
    pub(super) service: &'a SnapshotService,
    source: &'a SnapshotSource,
    pub(super) work: &'a WorkFolder,
    pub(super) manifest: &'a mut SnapshotManifest,
    /// Files that are stored already.
    pub(super) objects: StoredObjects,
}

impl Making<'_> {
    /// Copies everything, in the order that keeps it consistent.
    async fn parts(&mut self) -> Result<(), SnapshotError> {
        let data = &self.service.data;
        if self.source.embedded_bus {
            self.service.check_room_to_copy(bus_copy_size(data).await?).await?;
            let copy = self.work.file(PartName::Bus.file());
            if copy_bus(data, &copy).await? {
                check_bus_copy(&copy).await?;
                self.add(PartName::Bus, &copy).await?;
                tokio::fs::remove_file(&copy).await?;
            }
        }
        let copied = self.database().await?;
        let store = copied.as_ref().unwrap_or(&self.source.store);
        if let Some(blobs) = &self.source.blobs {
            self.blobs(store, blobs).await?;
        }
        if let Some(copied) = copied {
            copied.close().await;
        }
        // An earlier schema has not all of its tables; nothing is erased while a process starts.
        if self.manifest.reason != SnapshotReason::Migration {
            let ledger = self.work.file(PartName::Ledger.file());
            write_ledger(&self.source.store, &ledger).await?;
            self.add(PartName::Ledger, &ledger).await?;
        }
        let settings = self.work.file(PartName::Settings.file());
        tokio::fs::write(&settings, &self.service.settings).await?;
        self.add(PartName::Settings, &settings).await
    }

    /// Copies the embedded database, and opens the copy.
    async fn database(&mut self) -> Result<Option<Store>, SnapshotError> {
        if !self.source.embedded_database {
            return Ok(None);
        }
        let size = Store::copy_size(&self.service.data).await?;
        self.service.check_room_to_copy(size).await?;
        let copy = self.work.file(PartName::Database.file());
        Store::copy_embedded(&self.service.data, &copy).await?;
        self.manifest.schema = Store::check_copy(&copy).await?;
        self.add(PartName::Database, &copy).await?;
        Ok(Some(Store::open_as_is(&Database::Sqlite, self.work.path()).await?))
    }

    /// Stores a file as a part.
    pub(super) async fn add(&mut self, name: PartName, file: &Path) -> Result<(), SnapshotError> {
        let content = read_file(file).await?;
        let (stored, content) = if name == PartName::Blobs {
            (name.file().to_owned(), content.map_err(BoxError::from).boxed())
        } else {
            let recipients = &self.service.recipients;
            (recipients.stored_name(name.file()), recipients.seal(content)?)
        };
        let object = object(&self.manifest.id, &stored);
        let ObjectDigest { sha256, bytes } =
            self.service.archive.put_stream(&object, content).await?;
        let file = name.file().to_owned();
        self.manifest.parts.push(SnapshotPart { file, stored, bytes, sha256 });
        Ok(())
    }
}
