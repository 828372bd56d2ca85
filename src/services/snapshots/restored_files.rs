//! Files of messages on their way back from the archive.

use std::path::Path;

use chatkeep_blobs::{Blobs, BoxError};
use chatkeep_core::blob::BlobId;
use chatkeep_store::Store;

use super::SnapshotError;
use super::files::{NotedObject, WorkFolder, read_file, remove_file};
use super::manifest::StoredBlob;
use super::restore::Restoration;
use super::stored::BlobListReader;

/// Number of references to files read at once.
const PAGE: u32 = 1_000;
/// Maximum number of damaged files that are named.
const NAMED: usize = 10;

/// Files of the archive that cannot be restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DamagedFiles {
    /// Their number.
    pub count: u64,
    /// Objects of the first of them.
    pub first: Vec<String>,
}

/// Outcome for all files that messages refer to.
#[derive(Debug, Default)]
pub(super) struct RestoredFiles {
    /// Number of files that are there.
    pub(super) whole: u64,
    /// Number of files that the snapshot does not have.
    pub(super) missing: u64,
    /// Files that were left out.
    pub(super) damaged: DamagedFiles,
}

/// Outcome for one file.
enum FileRestoration {
    /// It is there.
    Whole,
    /// The snapshot does not have it.
    Missing,
    /// It was left out: this object of it is damaged, or is not there.
    Damaged(String),
}

impl DamagedFiles {
    fn add(&mut self, object: String) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(object);
        }
    }
}

impl Restoration<'_> {
    /// Restores the files that messages still refer to.
    pub(super) async fn files(
        &self,
        store: &Store,
        blobs: &Blobs,
    ) -> Result<RestoredFiles, SnapshotError> {
        let mut restored = RestoredFiles::default();
        let lists = WorkFolder::create(self.scratch.path().join("lists"))?;
        let Some(mut list) = self.service.blob_list(&self.manifest, &lists).await? else {
            return Ok(restored);
        };
        let mut after = None;
        loop {
            let page = store.media().referenced_blobs(after.as_ref(), PAGE).await?;
            let Some(end) = page.last() else { return Ok(restored) };
            after = Some(end.clone());
            for blob in page {
                match self.file(&mut list, store, &blob, blobs).await? {
                    FileRestoration::Whole => restored.whole += 1,
                    FileRestoration::Missing => restored.missing += 1,
                    FileRestoration::Damaged(object) => restored.damaged.add(object),
                }
            }
        }
    }

    async fn file(
        &self,
        list: &mut BlobListReader,
        store: &Store,
        blob: &BlobId,
        blobs: &Blobs,
    ) -> Result<FileRestoration, SnapshotError> {
        let stored = list.find(blob.as_str()).await?.and_then(|entry| entry.stored);
        let there = blobs.size(blob).await?;
        let Some(stored) = stored else {
            let is_there = there.is_some();
            return Ok(if is_there { FileRestoration::Whole } else { FileRestoration::Missing });
        };
        if let Some(size) = there {
            let recorded = store.media().recorded_bytes(blob).await?;
            // Another size than recorded: the one of the snapshot replaces it.
            if recorded.is_none_or(|recorded| u64::try_from(recorded) == Ok(size)) {
                return Ok(FileRestoration::Whole);
            }
        }
        match self.fetch(&stored, blob, blobs).await {
            Ok(()) => Ok(FileRestoration::Whole),
            Err(SnapshotError::Damaged { object, .. }) if self.request.skip_damaged_files => {
                Ok(FileRestoration::Damaged(object))
            }
            Err(SnapshotError::Damaged { id, object, why }) => {
                Err(SnapshotError::DamagedFile { id, object, why })
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a file from the archive into the media store.
    async fn fetch(
        &self,
        stored: &StoredBlob,
        blob: &BlobId,
        blobs: &Blobs,
    ) -> Result<(), SnapshotError> {
        let path = self.scratch.path().join(blob.as_str());
        let (archive, keys) = (&self.service.archive, &self.request.identities);
        let read = self.manifest.fetch_open(archive, NotedObject::from(stored), keys, &path).await;
        let done = match read {
            Ok(()) => self.put(stored, blob, blobs, &path).await,
            Err(error) => Err(error),
        };
        // Of one that is damaged as well, where others follow.
        remove_file(&path)?;
        remove_file(&path.with_added_extension("sealed"))?;
        done
    }

    async fn put(
        &self,
        stored: &StoredBlob,
        blob: &BlobId,
        blobs: &Blobs,
        path: &Path,
    ) -> Result<(), SnapshotError> {
        let content = read_file(path).await?;
        // Nobody removes files meanwhile: no process uses this media store with this database.
        let claim = |_| std::future::ready(Ok::<_, BoxError>(()));
        let (put, ()) = blobs.put::<_, std::io::Error, _, _, _>(content, u64::MAX, claim).await?;
        if put.id != *blob {
            blobs.delete(&put.id).await?;
            return Err(self.manifest.damaged(&stored.object, "has another content than its name"));
        }
        Ok(())
    }
}
