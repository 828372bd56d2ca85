//! Path at which an export is written until it is complete: `NAME.partial` beside its target, locked
//! while it is written.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::{TransferError, failed};

/// Incomplete file or folder; removed on drop.
#[derive(Debug)]
pub(super) struct Partial {
    pub(super) path: PathBuf,
    place: PathBuf,
    is_folder: bool,
    is_kept: bool,
    /// File or folder whose lock ends with it.
    _locked: File,
}

impl Partial {
    /// Creates an empty file or folder for an export that `place` becomes; what an interrupted one has
    /// left there goes away.
    ///
    /// # Errors
    /// Returns an error if `place` is there, another export is writing it, or it cannot be written.
    pub(super) fn new(place: &Path, is_folder: bool) -> Result<Self, TransferError> {
        let taken =
            place.exists() && !fs::read_dir(place).is_ok_and(|mut dir| dir.next().is_none());
        if taken {
            return Err(failed("will not overwrite", place)(ErrorKind::AlreadyExists.into()));
        }
        // Such as `.`, which has no name of its own.
        let place = match place.file_name() {
            Some(_) => place.to_owned(),
            None => place.canonicalize().map_err(failed("cannot write", place))?,
        };
        let path = place.with_added_extension("partial");
        let locked = locked(&path, is_folder).map_err(failed("cannot write", &path))?;
        let Some(locked) = locked else {
            return Err(failed("another export writes", &path)(ErrorKind::ResourceBusy.into()));
        };
        let emptied = if is_folder { empty(&path) } else { locked.set_len(0) };
        emptied.map_err(failed("cannot write", &path))?;
        Ok(Self { path, place, is_folder, is_kept: false, _locked: locked })
    }

    /// Gives the complete export its name, which survives a power cut. A file that was made there
    /// meanwhile stays.
    ///
    /// # Errors
    /// Returns an error if something is there, or it cannot be renamed.
    pub(super) async fn keep(mut self) -> Result<(), TransferError> {
        if self.is_folder {
            let path = self.path.clone();
            let synced = tokio::task::spawn_blocking(move || sync_tree(&path)).await;
            let synced = synced.map_err(|_| TransferError::Died)?;
            synced.map_err(failed("cannot write", &self.path))?;
        }
        match self.rename() {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(failed("will not overwrite", &self.place)(error));
            }
            renamed => renamed.map_err(failed("cannot finish", &self.place))?,
        }
        self.is_kept = true;
        let parent = self.place.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        sync_folder(parent).map_err(failed("cannot finish", &self.place))
    }

    fn rename(&self) -> io::Result<()> {
        if self.is_folder {
            // Replaces no folder but an empty one, and no file.
            return fs::rename(&self.path, &self.place);
        }
        match renameat_with(CWD, &self.path, CWD, &self.place, RenameFlags::NOREPLACE) {
            // Some file systems cannot do both at once.
            Err(Errno::INVAL | Errno::NOSYS) if self.place.symlink_metadata().is_err() => {
                fs::rename(&self.path, &self.place)
            }
            Err(Errno::INVAL | Errno::NOSYS) => Err(ErrorKind::AlreadyExists.into()),
            renamed => Ok(renamed?),
        }
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Still locked: no other export has begun there.
        if !self.is_kept {
            let _ = if self.is_folder {
                fs::remove_dir_all(&self.path)
            } else {
                fs::remove_file(&self.path)
            };
        }
    }
}

/// Opens a file or folder, which is created, and locks it; `None` while another export has it.
fn locked(path: &Path, is_folder: bool) -> io::Result<Option<File>> {
    if path.is_symlink() {
        fs::remove_file(path)?;
    }
    loop {
        let file = if is_folder {
            fs::create_dir_all(path)?;
            File::open(path)?
        } else {
            File::options().create(true).append(true).open(path)?
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            // Not every file system has locks; an export works without.
            Ok(()) | Err(TryLockError::Error(_)) if is_at(&file, path)? => return Ok(Some(file)),
            // Its last holder has removed or renamed it since it was opened here.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
    }
}

/// Returns whether a path leads to that open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let file = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (file.dev(), file.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes what is in a folder.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Flushes every file and folder below a folder.
fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            File::open(&path)?.sync_all()?;
        }
    }
    sync_folder(folder)
}

/// Flushes the names in a folder, where the file system can.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_not_whole_goes_away() {
        let folder = tempfile::TempDir::new().unwrap();
        let place = folder.path().join("out");
        let partial = Partial::new(&place, true).unwrap();
        fs::create_dir_all(partial.path.join("media")).unwrap();
        drop(partial);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let partial = Partial::new(&place, false).unwrap();
        fs::write(&partial.path, "whole").unwrap();
        partial.keep().await.unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "whole");
        assert!(Partial::new(&place, false).is_err(), "it is not overwritten");
    }

    #[tokio::test]
    async fn two_exports_do_not_write_at_one_place() {
        for is_folder in [false, true] {
            let folder = tempfile::TempDir::new().unwrap();
            let place = folder.path().join("out");
            let first = Partial::new(&place, is_folder).unwrap();
            let inside = if is_folder { first.path.join("one") } else { first.path.clone() };
            fs::write(&inside, "first").unwrap();
            let refused = Partial::new(&place, is_folder).unwrap_err().to_string();
            assert!(refused.starts_with("another export writes "), "{refused}");
            assert_eq!(fs::read_to_string(&inside).unwrap(), "first");
            first.keep().await.unwrap();
            assert!(place.exists() && folder.path().read_dir().unwrap().count() == 1);
        }
    }

    #[tokio::test]
    async fn what_an_interrupted_export_left_is_not_in_the_next_one() {
        let folder = tempfile::TempDir::new().unwrap();
        let place = folder.path().join("out");
        let left = folder.path().join("out.partial");
        fs::create_dir_all(left.join("media")).unwrap();
        fs::write(left.join("media/old"), "old").unwrap();
        let partial = Partial::new(&place, true).unwrap();
        assert_eq!(left.read_dir().unwrap().count(), 0);
        drop(partial);
        fs::write(&left, "old and long").unwrap();
        let partial = Partial::new(&place, false).unwrap();
        assert_eq!(fs::read_to_string(&left).unwrap(), "");
        partial.keep().await.unwrap();
    }

    #[tokio::test]
    async fn a_file_that_was_made_meanwhile_stays() {
        let folder = tempfile::TempDir::new().unwrap();
        for is_folder in [false, true] {
            let place = folder.path().join(format!("out-{is_folder}"));
            let partial = Partial::new(&place, is_folder).unwrap();
            fs::write(&place, "somebody's").unwrap();
            partial.keep().await.unwrap_err();
            assert_eq!(fs::read_to_string(&place).unwrap(), "somebody's");
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 2, "nothing half is left");
    }
}
