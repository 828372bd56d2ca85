//! Indexes that a process left behind: once fewer processes share a data folder, nobody brings the
//! last ones up to date, and they would keep the words of messages that are erased meanwhile.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chatkeep_index::search::MessageIndex;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::ReplicaError;
use super::slots::{folders, is_used, lock};
use crate::periodic::{JobFailure, PeriodicJob};

/// Deletes indexes of the data folder that no process had in two looks: one that only restarts
/// takes its own again.
#[derive(Clone)]
pub struct SpareIndexes {
    /// Folder of the first replica.
    first: PathBuf,
    /// Folders that no process had at the last look.
    free: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl fmt::Debug for SpareIndexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpareIndexes").field("first", &self.first).finish_non_exhaustive()
    }
}

impl PeriodicJob for SpareIndexes {
    const NAME: &'static str = "search_spares";
    /// Two periods are less than the hour in which words of erased messages go.
    const PERIOD: Duration = Duration::from_mins(20);
    const FAILURE: &'static str = "search indexes that no process has cannot be deleted";

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let spares = self.clone();
        Ok(tokio::task::spawn_blocking(move || spares.look()).await??)
    }
}

impl SpareIndexes {
    pub(super) fn new(first: PathBuf) -> Self {
        Self { first, free: Arc::default() }
    }

    fn look(&self) -> Result<(), ReplicaError> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut *free);
        for folder in folders(&self.first)? {
            if before.contains(&folder) {
                delete(&folder)?;
            } else if !is_used(&folder)? {
                free.insert(folder);
            }
        }
        Ok(())
    }
}

/// Deletes every index of the data folder that no process has.
pub(super) async fn delete_now(first: PathBuf) -> Result<(), ReplicaError> {
    let deleted = tokio::task::spawn_blocking(move || {
        for folder in folders(&first)? {
            delete(&folder)?;
        }
        Ok(())
    });
    deleted.await?
}

/// Deletes an index, unless a process has it. Nobody can take it meanwhile.
fn delete(folder: &Path) -> Result<(), ReplicaError> {
    let Some(_lock) = lock(folder)? else { return Ok(()) };
    if MessageIndex::delete(folder)? {
        let folder = folder.display();
        info!(%folder, "a search index that no process uses any more was deleted");
    }
    Ok(())
}
