//! Making of a snapshot.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chatkeep_blobs::{BlobError, Blobs, BoxError, ObjectDigest};
use chatkeep_bus::embedded::{check_bus_copy, copy_bus};
use chatkeep_core::blob::BlobId;
use chatkeep_core::config::Database;
use chatkeep_store::Store;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncWriteExt as _, BufWriter};
use tracing::warn;

use super::files::{WorkFolder, read_file};
use super::layout::{AGE, LEDGER, MANIFEST, PartName, blob_object, new_id, object};
use super::ledger::write_ledger;
use super::lock::{SnapshotLock, leased};
use super::manifest::{
    FORMAT, ListedBlob, SnapshotManifest, SnapshotPart, SnapshotReason, StoredBlob,
};
use super::stored::BlobListReader;
use super::{SnapshotError, SnapshotService};

/// Folder in the data folder for copies on their way.
const WORK: &str = "snapshot-work";
/// Number of references to files read at once.
const PAGE: u32 = 1_000;
/// Concurrent copies of files.
const COPIES: usize = 4;

/// Parts of a deployment that a snapshot is made of.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotSource {
    pub(crate) store: Store,
    /// Files of messages; `None` to leave them out.
    pub(crate) blobs: Option<Blobs>,
    /// The database is a file in the data folder.
    pub(crate) embedded_database: bool,
    /// The bus is a file in the data folder.
    pub(crate) embedded_bus: bool,
}

impl SnapshotService {
    /// Makes a snapshot while the service may be running.
    ///
    /// # Errors
    /// [`SnapshotError::Busy`] while another one is made, or whatever could not be read or written.
    /// Objects written by then are no snapshot, and the next pruning removes them.
    pub(crate) async fn create(
        &self,
        source: &SnapshotSource,
        reason: SnapshotReason,
    ) -> Result<SnapshotManifest, SnapshotError> {
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
        let now = self.clock.now();
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
        let mut making = Making { service: self, source, work: &work, manifest: &mut manifest };
        making.parts().await?;
        let text = serde_json::to_vec_pretty(&manifest)?;
        self.archive.put(&object(&manifest.id, MANIFEST), text.into()).await?;
        Ok(manifest)
    }

    /// Replaces the present ledger of erasures in the archive.
    ///
    /// # Errors
    /// Returns an error if the database or the archive fails.
    pub(super) async fn refresh_ledger(&self, store: &Store) -> Result<(), SnapshotError> {
        let work = WorkFolder::create(self.data.join("snapshot-ledger"))?;
        let file = work.file(LEDGER);
        write_ledger(store, &file).await?;
        let content = self.recipients.seal(read_file(&file).await?)?;
        self.archive.put_stream(&self.recipients.stored_name(LEDGER), content).await?;
        // That of before the encryption was switched on, or off.
        let other =
            if self.recipients.encrypt() { LEDGER.to_owned() } else { [LEDGER, AGE].concat() };
        Ok(self.archive.delete(&other).await?)
    }
}

/// Snapshot that is being made.
struct Making<'a> {
    service: &'a SnapshotService,
    source: &'a SnapshotSource,
    work: &'a WorkFolder,
    manifest: &'a mut SnapshotManifest,
}

impl Making<'_> {
    /// Copies everything, in the order that keeps it consistent.
    async fn parts(&mut self) -> Result<(), SnapshotError> {
        let data = &self.service.data;
        if self.source.embedded_bus {
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
        let copy = self.work.file(PartName::Database.file());
        Store::copy_embedded(&self.service.data, &copy).await?;
        self.manifest.schema = Store::check_copy(&copy).await?;
        self.add(PartName::Database, &copy).await?;
        Ok(Some(Store::open_as_is(&Database::Sqlite, self.work.path()).await?))
    }

    /// Stores a file as a part.
    async fn add(&mut self, name: PartName, file: &Path) -> Result<(), SnapshotError> {
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

    /// Copies the files that messages refer to, those that the last snapshot has not, and stores
    /// their list.
    async fn blobs(&mut self, store: &Store, blobs: &Blobs) -> Result<(), SnapshotError> {
        let mut earlier = self.earlier().await?;
        let path = self.work.file(PartName::Blobs.file());
        let mut list = BufWriter::new(tokio::fs::File::create_new(&path).await?);
        let mut after = None;
        loop {
            let page = store.media().referenced_blobs(after.as_ref(), PAGE).await?;
            let Some(end) = page.last() else { break };
            after = Some(end.clone());
            let mut known = Vec::with_capacity(page.len());
            for blob in page {
                let stored = match &mut earlier {
                    Some(earlier) => earlier.find(blob.as_str()).await?,
                    None => None,
                };
                known.push((blob, stored.and_then(|entry| entry.stored)));
            }
            let copies = known.into_iter().map(|(blob, known)| self.copy(blobs, blob, known));
            let entries: Vec<ListedBlob> =
                stream::iter(copies).buffered(COPIES).try_collect().await?;
            for entry in entries {
                self.count(&entry);
                let mut line = serde_json::to_vec(&entry)?;
                line.push(b'\n');
                list.write_all(&line).await?;
            }
        }
        list.flush().await?;
        self.add(PartName::Blobs, &path).await
    }

    /// Opens the list of the last snapshot with files that the same identities decrypt.
    async fn earlier(&self) -> Result<Option<BlobListReader>, SnapshotError> {
        let manifests = self.service.manifests().await?;
        let fits = |earlier: &&SnapshotManifest| {
            earlier.part(PartName::Blobs).is_some()
                && earlier.recipients == self.manifest.recipients
        };
        match manifests.iter().rev().find(fits) {
            Some(earlier) => self.service.blob_list(earlier, self.work).await,
            None => Ok(None),
        }
    }

    fn count(&mut self, entry: &ListedBlob) {
        match &entry.stored {
            Some(stored) => {
                self.manifest.files += 1;
                self.manifest.file_bytes += stored.bytes;
            }
            None => self.manifest.files_gone += 1,
        }
    }

    /// Copies a file, unless it is known where it is stored already.
    async fn copy(
        &self,
        blobs: &Blobs,
        blob: BlobId,
        known: Option<StoredBlob>,
    ) -> Result<ListedBlob, SnapshotError> {
        let name = blob.as_str().to_owned();
        if known.is_some() {
            return Ok(ListedBlob { blob: name, stored: known });
        }
        let content = match blobs.get(&blob, None).await {
            // Its message was erased since the database was copied.
            Err(BlobError::NotFound(_)) => return Ok(ListedBlob { blob: name, stored: None }),
            content => content?,
        };
        let encrypt = self.service.recipients.encrypt();
        let object = blob_object(&name, encrypt);
        if !encrypt && self.service.archive.size(&object).await? == Some(content.size) {
            // Of an earlier snapshot, or of one that was never finished: objects are whole.
            let stored = StoredBlob { object, bytes: content.size, sha256: name.clone() };
            return Ok(ListedBlob { blob: name, stored: Some(stored) });
        }
        let hash = Arc::new(Mutex::new(Sha256::new()));
        let hashed = Arc::clone(&hash);
        let pieces = content.stream.inspect_ok(move |piece| locked(&hashed).update(piece));
        let sealed = self.service.recipients.seal(pieces)?;
        let ObjectDigest { sha256, bytes } =
            self.service.archive.put_stream(&object, sealed).await?;
        if hex::encode(locked(&hash).finalize_reset()) != name {
            warn!(blob = name, "a media file is damaged and is not in the snapshot");
            self.service.archive.delete(&object).await?;
            return Ok(ListedBlob { blob: name, stored: None });
        }
        Ok(ListedBlob { blob: name, stored: Some(StoredBlob { object, bytes, sha256 }) })
    }
}

fn locked(hash: &Mutex<Sha256>) -> MutexGuard<'_, Sha256> {
    hash.lock().unwrap_or_else(PoisonError::into_inner)
}
