//! New data folder of a restoration, under another name until it is whole.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::SnapshotError;
use super::files::{WorkFolder, remove_folder, sync_tree};
use super::lock::SnapshotLock;

/// New data folder under its temporary name.
pub(super) struct NewFolder {
    pub(super) work: WorkFolder,
    lock: PathBuf,
    _locked: SnapshotLock,
}

impl NewFolder {
    /// Creates the folder beside its later place; removes what an interrupted restoration left.
    pub(super) fn begin(path: &Path) -> Result<Self, SnapshotError> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let lock = path.with_added_extension("restoring.lock");
        let restoring = || SnapshotError::Restoring(path.display().to_string());
        let locked = SnapshotLock::take(&lock)?.ok_or_else(restoring)?;
        let work = WorkFolder::create(path.with_added_extension("restoring"))?;
        Ok(Self { work, lock, _locked: locked })
    }

    /// Creates a folder for what is not a part of the data.
    pub(super) fn scratch(&self) -> std::io::Result<TempDir> {
        tempfile::Builder::new().prefix("restoration-").tempdir_in(self.work.path())
    }

    /// Puts the folder in its place.
    pub(super) fn finish(self, path: &Path) -> Result<(), SnapshotError> {
        sync_tree(self.work.path())?;
        if path.try_exists()? {
            return Err(SnapshotError::Exists(path.display().to_string()));
        }
        std::fs::rename(self.work.path(), path)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        std::fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(())
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.lock);
        let _ = remove_folder(self.work.path());
    }
}
