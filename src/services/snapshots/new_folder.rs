//! New data folder of a restoration, under another name until it is whole.

use std::path::Path;

use tempfile::TempDir;

use super::SnapshotError;
use super::files::{WorkFolder, sync_tree};
use super::lock::PassingLock;

/// New data folder under its temporary name.
pub(super) struct NewFolder {
    // Removed before the lock ends: the next restoration uses the same name.
    pub(super) work: WorkFolder,
    _lock: PassingLock,
}

impl NewFolder {
    /// Creates the folder beside its later place; removes what an interrupted restoration left.
    pub(super) fn begin(path: &Path) -> Result<Self, SnapshotError> {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let restoring = || SnapshotError::Restoring(path.display().to_string());
        let lock = PassingLock::take(path.with_added_extension("restoring.lock"))?;
        let lock = lock.ok_or_else(restoring)?;
        let work = WorkFolder::create(path.with_added_extension("restoring"))?;
        Ok(Self { work, _lock: lock })
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Takes the folder and gives it back, many times.
    fn take_turns(path: &Path, holders: &AtomicUsize) {
        for n in 0..50 {
            let new = begin_when_free(path);
            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "somebody else has it");
            let file = new.work.file("content");
            std::fs::write(&file, n.to_string()).unwrap();
            std::thread::yield_now();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), n.to_string());
            holders.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn begin_when_free(path: &Path) -> NewFolder {
        loop {
            match NewFolder::begin(path) {
                Ok(new) => return new,
                Err(SnapshotError::Restoring(_)) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn one_restoration_at_a_time_has_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (path, holders) = (folder.path().join("new"), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| take_turns(&path, &holders));
            }
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
