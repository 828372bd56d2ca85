//! Removal of what snapshots that were killed left in the data folder, plain copies of the database
//! among it.

use std::io;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use chatkeep_core::random::random_name;
use chatkeep_store::Store;
use chatkeep_workers::lease::LEASE;

use super::SnapshotError;
use super::create::{LEDGER_WORK, WORK};
use super::files::remove_folder;
use super::lock::{LEASE_NAME, SnapshotLock};
use super::prune::WORK as LISTS;

/// Folders in the data folder that exist only while a snapshot is made or old ones are removed.
const FOLDERS: [&str; 3] = [WORK, LEDGER_WORK, LISTS];

/// Removes what snapshots that were killed left in a data folder, unless another process makes one
/// at the moment.
///
/// # Errors
/// Returns an error if something cannot be removed, or the lock fails.
#[boxed]
pub async fn remove_leftovers(data: &Path, store: &Store) -> Result<(), SnapshotError> {
    if !FOLDERS.iter().any(|folder| data.join(folder).exists()) {
        return Ok(());
    }
    if store.is_embedded() {
        return match SnapshotLock::of(data) {
            Err(SnapshotError::Busy) => Ok(()),
            lock => lock.and_then(|_lock| Ok(remove(data)?)),
        };
    }
    let process = random_name();
    if store.jobs().take_job_lease(LEASE_NAME, &process, LEASE).await? {
        let removed = remove(data);
        store.jobs().release_job_lease(LEASE_NAME, &process).await?;
        removed?;
    }
    Ok(())
}

fn remove(data: &Path) -> io::Result<()> {
    FOLDERS.iter().try_for_each(|folder| remove_folder(&data.join(folder)))
}

#[cfg(test)]
mod tests {
    use chatkeep_core::config::Database;

    use super::*;

    #[tokio::test]
    async fn copies_of_a_killed_process_go_and_those_of_a_running_one_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
        let left = || FOLDERS.iter().filter(|name| folder.path().join(name).exists()).count();
        for name in FOLDERS {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("chatkeep.db"), "copy").unwrap();
        }
        let lock = SnapshotLock::of(folder.path()).unwrap();
        remove_leftovers(folder.path(), &store).await.unwrap();
        assert_eq!(left(), 3);
        drop(lock);
        remove_leftovers(folder.path(), &store).await.unwrap();
        assert_eq!(left(), 0);
        assert!(folder.path().join("chatkeep.db").exists());
    }
}
