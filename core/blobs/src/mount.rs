//! Folder that is found under the path of a media store. When a disk is unmounted, its mount point takes
//! its place: what is written there is hidden as soon as the disk is back.

use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use super::{BlobBackend, BlobError, Blobs};

/// Number of a folder and that of its file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FolderId {
    device: u64,
    inode: u64,
}

/// Folder in which the identity of the media store was read last. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct IdentifiedFolder(Arc<Mutex<Option<FolderId>>>);

impl IdentifiedFolder {
    fn get(&self) -> Option<FolderId> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, id: FolderId) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }
}

impl Blobs {
    /// Returns the folder that is under the path now; `None` for a bucket, or without one.
    pub(super) async fn folder_now(&self) -> Option<FolderId> {
        let BlobBackend::Folder(root) = &self.place else { return None };
        let found = tokio::fs::metadata(root.as_ref()).await.ok()?;
        Some(FolderId { device: found.dev(), inode: found.ino() })
    }

    /// Records the folder that was there before an identity was read in it.
    pub(super) fn identified(&self, folder: Option<FolderId>) {
        if let Some(id) = folder {
            self.identified.set(id);
        }
    }

    /// Checks that the folder is still the one in which the identity was read.
    ///
    /// # Errors
    /// [`BlobError::Unidentified`] if another one has taken its place.
    pub(super) async fn check_folder(&self) -> Result<(), BlobError> {
        let Some(known) = self.identified.get() else { return Ok(()) };
        if self.folder_now().await == Some(known) { Ok(()) } else { Err(BlobError::Unidentified) }
    }
}
