//! Snapshot target that changes while a snapshot is made: where a disk is unmounted, the rest of the
//! snapshot is written into its mount point.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::Path;

use chatkeep_core::causes::with_causes;
use tracing::warn;

use super::layout::{BLOBS, DAMAGED, SNAPSHOTS};
use super::manifest::SnapshotManifest;
use super::{SnapshotError, SnapshotService};

impl SnapshotService {
    /// Verifies that the place still has the id that it had when a snapshot was begun, and every part
    /// of the snapshot. Removes what was stored in another place.
    ///
    /// # Errors
    /// [`SnapshotError::TargetChanged`], or when the archive fails.
    pub(super) async fn check_unchanged(
        &self,
        begun: Option<&str>,
        manifest: &SnapshotManifest,
    ) -> Result<(), SnapshotError> {
        let changed = || SnapshotError::TargetChanged {
            id: manifest.id.clone(),
            place: self.place().to_owned(),
        };
        if self.target_id().await?.as_deref() != begun {
            if let Err(error) = self.remove_misplaced(&manifest.id).await {
                let (snapshot, error) = (&manifest.id, with_causes(&error));
                warn!(snapshot, error, "what was stored in another snapshot target is left there");
            }
            return Err(changed());
        }
        // It may have been away meanwhile.
        for part in &manifest.parts {
            if self.archive.size(&manifest.object(part)).await? != Some(part.bytes) {
                return Err(changed());
            }
        }
        Ok(())
    }

    /// Removes the objects of a snapshot and, where nothing else is, files that no snapshot lists.
    async fn remove_misplaced(&self, id: &str) -> Result<(), SnapshotError> {
        if self.has_only_remainders().await? {
            self.remove_unfinished().await?;
            self.drop_unlisted(&[]).await?;
            return Ok(self.archive.sweep(&[BLOBS, DAMAGED]).await?);
        }
        match self.objects().await?.remove(id) {
            Some(objects) => self.remove(id, objects).await,
            None => Ok(()),
        }
    }

    /// Returns true for a folder without an id and without a whole snapshot, in which nothing is that
    /// a snapshot does not store: not for another disk.
    async fn has_only_remainders(&self) -> Result<bool, SnapshotError> {
        let Some(folder) = self.archive.folder() else { return Ok(false) };
        if self.target_id().await?.is_some() || self.newest().await?.is_some() {
            return Ok(false);
        }
        let folder = folder.to_owned();
        // A file system of another machine may not answer.
        let names = tokio::task::spawn_blocking(move || names_in(&folder));
        let names = names.await.map_err(io::Error::other)??;
        Ok(names.iter().all(|name| [SNAPSHOTS, BLOBS, DAMAGED].iter().any(|ours| name == *ours)))
    }
}

/// Returns the names of what is in a folder, which may not be there.
fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| entry.map(|entry| entry.file_name())).collect(),
    }
}
