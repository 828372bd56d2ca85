//! Folders of the replicas of one data folder, which processes on one machine may share: `index`,
//! `index-2`, `index-3`, …, each with a lock beside it (`index.lock`, …) that ends with the process
//! that has it. The lock files stay when a folder is deleted, so that nobody holds a deleted one.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chatkeep_index::search::{IndexError, MessageIndex, MessageWriter, WriterOptions};

use super::ReplicaError;

/// Maximum number of replicas in one data folder.
pub(super) const SLOTS: usize = 64;
/// Pause before a slot that is used is tried once more: a command may have looked at its lock.
const SECOND_TRY: Duration = Duration::from_millis(50);

/// Lock of a folder, held until it is dropped.
#[derive(Debug)]
pub(super) struct SlotLock(#[expect(dead_code, reason = "unlocked when it is closed")] File);

/// Folder that was taken, with its index.
pub(super) struct OpenedSlot {
    pub(super) folder: PathBuf,
    pub(super) lock: SlotLock,
    pub(super) index: MessageIndex,
    pub(super) writer: MessageWriter,
}

/// Returns the folders of all replicas of a data folder, by the folder of the first.
///
/// # Errors
/// Fails when the data folder cannot be read.
pub fn folders(first: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for number in 1..=SLOTS {
        let folder = slot(first, number);
        if folder.try_exists()? {
            found.push(folder);
        }
    }
    Ok(found)
}

/// Returns whether a process has the replica in that folder.
///
/// # Errors
/// Fails when its lock cannot be read.
pub fn is_used(folder: &Path) -> io::Result<bool> {
    let lock = match File::open(lock_file(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        lock => lock?,
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Takes the lock of a folder; `None` if a process has it.
pub(super) fn lock(folder: &Path) -> io::Result<Option<SlotLock>> {
    let lock = File::create(lock_file(folder))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(SlotLock(lock))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Takes the first folder that no other process has.
pub(super) async fn open(first: &Path, options: WriterOptions) -> Result<OpenedSlot, ReplicaError> {
    for number in 1..=SLOTS {
        if let Some(opened) = open_one(&slot(first, number), options).await? {
            return Ok(opened);
        }
    }
    Err(ReplicaError::Full(first.to_path_buf()))
}

/// Takes that folder; `None` if another process has it.
pub(super) async fn open_one(
    folder: &Path,
    options: WriterOptions,
) -> Result<Option<OpenedSlot>, ReplicaError> {
    let opened = open_at_once(folder.to_path_buf(), options).await?;
    if opened.is_some() {
        return Ok(opened);
    }
    tokio::time::sleep(SECOND_TRY).await;
    open_at_once(folder.to_path_buf(), options).await
}

async fn open_at_once(
    folder: PathBuf,
    options: WriterOptions,
) -> Result<Option<OpenedSlot>, ReplicaError> {
    let opened = tokio::task::spawn_blocking(move || {
        if let Some(parent) = folder.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let Some(lock) = lock(&folder)? else { return Ok(None) };
        let opened = MessageIndex::open(&folder)
            .and_then(|index| index.writer(options).map(|writer| (index, writer)));
        match opened {
            Ok((index, writer)) => Ok(Some(OpenedSlot { folder, lock, index, writer })),
            // A process of an earlier version has no lock beside the folder.
            Err(IndexError::WriterBusy) => Ok(None),
            Err(error) => Err(error.into()),
        }
    });
    opened.await?
}

fn slot(first: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return first.to_path_buf();
    }
    beside(first, &format!("-{number}"))
}

fn lock_file(folder: &Path) -> PathBuf {
    beside(folder, ".lock")
}

/// Returns the path of what has the name of `folder` and this ending.
fn beside(folder: &Path, ending: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    folder.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_of_one_data_folder_lie_beside_each_other() {
        let first = Path::new("/data/index");
        assert_eq!(slot(first, 1), Path::new("/data/index"));
        assert_eq!(slot(first, 3), Path::new("/data/index-3"));
        assert_eq!(lock_file(&slot(first, 3)), Path::new("/data/index-3.lock"));
    }

    #[tokio::test]
    async fn a_folder_is_used_as_long_as_its_lock_is_held() {
        let data = tempfile::tempdir().unwrap();
        let first = data.path().join("index");
        assert!(!is_used(&first).unwrap());
        let opened = open(&first, WriterOptions::default()).await.unwrap();
        assert_eq!((&opened.folder, is_used(&first).unwrap()), (&first, true));
        // Without its writer, as after a failure of the disk, it is still the process' own.
        let OpenedSlot { lock, writer, .. } = opened;
        drop(writer);
        assert!(open_one(&first, WriterOptions::default()).await.unwrap().is_none());
        let second = open(&first, WriterOptions::default()).await.unwrap();
        assert_eq!(second.folder, data.path().join("index-2"));
        drop((lock, second));
        assert!(!is_used(&first).unwrap());
        assert_eq!(open(&first, WriterOptions::default()).await.unwrap().folder, first);
    }
}
