//! Free disk space for a snapshot: what the service needs to accept webhooks is left.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{SnapshotError, SnapshotService};
use crate::disk::DiskSpace;

impl SnapshotService {
    /// Checks that the disk of the data folder has room for a copy of that size in bytes, and for the
    /// one that is stored where the place is on the same disk.
    ///
    /// # Errors
    /// [`SnapshotError::NoSpace`], or when the file system cannot be asked.
    pub(super) async fn check_room_to_copy(&self, size: u64) -> Result<(), SnapshotError> {
        let copies = if self.is_on_disk_of_data().await? { 2 } else { 1 };
        self.check_room(size.saturating_mul(copies)).await
    }

    /// Checks that an object may be stored: where the place is on the disk of the data folder, there
    /// is room for it.
    ///
    /// # Errors
    /// Those of [`Self::check_room_to_copy`].
    pub(super) async fn check_room_to_store(&self, bytes: u64) -> Result<(), SnapshotError> {
        if self.is_on_disk_of_data().await? { self.check_room(bytes).await } else { Ok(()) }
    }

    async fn check_room(&self, bytes: u64) -> Result<(), SnapshotError> {
        let (data, reserve) = (self.data.clone(), self.reserve);
        let needed = bytes.saturating_add(reserve);
        let DiskSpace { free, total } = blocking(move || DiskSpace::of(&data)).await?;
        // Some file systems of other machines tell nothing.
        if free >= needed || total == 0 {
            return Ok(());
        }
        let folder = self.data.display().to_string();
        Err(SnapshotError::NoSpace { folder, needed, free, reserve })
    }

    async fn is_on_disk_of_data(&self) -> Result<bool, SnapshotError> {
        let Some(place) = self.archive.folder().map(Path::to_owned) else { return Ok(false) };
        let data = self.data.clone();
        blocking(move || Ok(device(place)? == device(data)?)).await
    }
}

fn device(folder: PathBuf) -> std::io::Result<u64> {
    Ok(std::fs::metadata(folder)?.dev())
}

/// Asks a file system, which may be one of another machine that does not answer.
async fn blocking<T: Send + 'static>(
    ask: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, SnapshotError> {
    Ok(tokio::task::spawn_blocking(ask).await.map_err(std::io::Error::other)??)
}
