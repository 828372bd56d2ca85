//! Mark in the demo's folder while histories are being written: one that was interrupted would stay
//! as it is for ever, as a group with messages gets none.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// File of the mark.
const FILE: &str = "history-unfinished";
/// File of the bus, which a running demo has locked.
const LOCK: &str = "bus.lock";
/// Content of the mark in a folder that has nothing but what this start writes.
const NEW: &str = "new";
/// Content of the mark in a folder that had been in use.
const USED: &str = "used";

/// Folder in which histories are written.
#[derive(Debug)]
pub(in crate::demo) struct HistoryMark {
    file: PathBuf,
    /// True if the folder has nothing but what this start writes.
    is_new: bool,
    /// True if an earlier start was interrupted, in a folder that had been in use.
    is_broken: bool,
}

impl HistoryMark {
    /// Looks at a folder before anything is opened there. What an interrupted first start left is
    /// removed, so that this one is the first.
    ///
    /// # Errors
    /// Returns an error when the folder cannot be read or emptied.
    pub(in crate::demo) fn of(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(FILE);
        let mark = match fs::read_to_string(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            mark => Some(mark.with_context(|| format!("cannot read {}", file.display()))?),
        };
        let is_left = mark.as_deref() == Some(NEW) && !is_running(folder)?;
        if is_left {
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        let is_new = is_left || is_empty(folder)?;
        Ok(Self { file, is_new, is_broken: mark.is_some() && !is_left })
    }

    /// Marks that histories are being written from now on.
    ///
    /// # Errors
    /// Returns an error when the file cannot be written.
    pub(super) fn set(&self) -> anyhow::Result<()> {
        let content = if self.is_new { NEW } else { USED };
        fs::write(&self.file, content)
            .with_context(|| format!("cannot write {}", self.file.display()))
    }

    /// Refuses to go on beside a history that is not complete.
    ///
    /// # Errors
    /// Returns an error that says what to do.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.is_broken {
            let folder = self.file.parent().unwrap_or(&self.file).display();
            bail!(
                "an earlier start was interrupted while it wrote the history of the sample groups; \
                 remove {folder}, or start with --sample small"
            );
        }
        Ok(())
    }

    /// Removes the mark: all histories are complete.
    ///
    /// # Errors
    /// Returns an error when the file cannot be removed.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.file)
            .with_context(|| format!("cannot remove {}", self.file.display()))
    }
}

/// Returns true while another demo runs in the folder.
fn is_running(folder: &Path) -> io::Result<bool> {
    match File::open(folder.join(LOCK)) {
        Ok(lock) => Ok(lock.try_lock().is_err()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_empty(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_first_start_is_begun_anew() {
        let folder = tempfile::TempDir::new().unwrap();
        let first = HistoryMark::of(folder.path()).unwrap();
        first.set().unwrap();
        let left = folder.path().join("chatkeep.db");
        fs::write(&left, "half").unwrap();
        // Not while it goes on.
        let lock = File::create(folder.path().join(LOCK)).unwrap();
        lock.lock().unwrap();
        HistoryMark::of(folder.path()).unwrap();
        assert!(left.exists());
        drop(lock);
        let again = HistoryMark::of(folder.path()).unwrap();
        assert!(again.is_new && !left.exists());
        again.check().unwrap();
    }

    #[test]
    fn what_was_there_before_a_start_stays() {
        let folder = tempfile::TempDir::new().unwrap();
        let used = folder.path().join("chatkeep.db");
        fs::write(&used, "chats").unwrap();
        let mark = HistoryMark::of(folder.path()).unwrap();
        mark.check().unwrap();
        mark.set().unwrap();
        let again = HistoryMark::of(folder.path()).unwrap();
        assert!(used.exists());
        let refused = again.check().unwrap_err().to_string();
        assert!(refused.contains("--sample small"), "{refused}");
        again.remove().unwrap();
        HistoryMark::of(folder.path()).unwrap().check().unwrap();
    }
}
