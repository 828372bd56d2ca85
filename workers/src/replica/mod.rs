//! A search replica: a full index of the kept messages that follows the store's event log by a
//! position of its own.
//!
//! The log only names messages; what goes into the index is what the store holds of them when they
//! are read. So late and repeated reads end the same, and no other process is needed: every process
//! with the role `search` has a replica, on any database. A replica that is new, or that fell behind
//! what the log keeps, fills itself from the store, and is asked again once it has caught up.

mod audit;
mod changes;
mod follow;
mod pages;
mod position;
mod purge;
mod rebuild;
mod state;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::outage::Availability;
use chatkeep_core::store::{Store, StoreError};
use chatkeep_core::time::SharedClock;
use chatkeep_index::search::{IndexError, MessageIndex, MessageWriter, WriterOptions};
use tokio::sync::{Notify, watch};

pub use audit::{Drift, IndexAudit};
pub use position::LogPosition;
pub use purge::Purger;
pub use state::{ReplicaPhase, ReplicaState, ReplicaWork};

use writer::SharedWriter;

/// Messages read from the store at once.
const PAGE: u32 = 2_000;
/// Messages after which what was read is put on disk while an index is filled.
const SAVE: u64 = 100_000;
/// Replicas in one data folder, at most: processes on one machine may share it.
const SLOTS: usize = 64;

/// The reasons why a replica cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// The index' folder failed.
    #[error("the search index failed")]
    Index(#[from] IndexError),
    /// The store failed.
    #[error("the store failed while the search index was updated")]
    Store(#[from] StoreError),
    /// The thread that indexes died.
    #[error("indexing stopped unexpectedly")]
    Died(#[from] tokio::task::JoinError),
    /// Every slot of the data folder is taken.
    #[error("{} processes have a search index in {} already", SLOTS, .0.display())]
    Full(PathBuf),
}

/// A search replica. Clones share it.
#[derive(Clone)]
pub struct Replica {
    store: Store,
    clock: SharedClock,
    index: MessageIndex,
    folder: PathBuf,
    writer: SharedWriter,
    state: Arc<watch::Sender<ReplicaState>>,
    wake: Arc<Notify>,
    available: Availability,
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica")
            .field("folder", &self.folder)
            .field("state", &*self.state.borrow())
            .finish_non_exhaustive()
    }
}

impl Replica {
    /// Opens the replica in `folder`, or beside it (`folder-2`, `folder-3`, …) where other
    /// processes use those before. [`Replica::run`] keeps it up to date.
    ///
    /// # Errors
    /// When the index cannot be read or written.
    pub async fn open(
        store: Store,
        folder: PathBuf,
        clock: SharedClock,
    ) -> Result<Self, ReplicaError> {
        let opened = tokio::task::spawn_blocking(move || open_slot(&folder));
        let (folder, index, writer) = opened.await??;
        let state = ReplicaState { messages: index.doc_count(), ..ReplicaState::default() };
        let address = folder.display().to_string();
        let replica = Self {
            available: Availability::new("search index", address, "CHATKEEP_DATA"),
            store,
            clock,
            index: index.clone(),
            folder,
            writer: SharedWriter::new(index, writer),
            state: Arc::new(watch::Sender::new(state)),
            wake: Arc::default(),
        };
        replica.note_position();
        Ok(replica)
    }

    /// The index, for searching.
    pub fn index(&self) -> MessageIndex {
        self.index.clone()
    }

    /// The availability of the index.
    pub const fn availability(&self) -> &Availability {
        &self.available
    }

    /// Returns whether there is an outage of the index, or of the store that it follows.
    pub fn is_troubled(&self) -> bool {
        self.available.is_troubled() || self.store.availability().is_troubled()
    }

    /// The folder of the index.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its present state.
    pub fn state(&self) -> ReplicaState {
        self.state.borrow().clone()
    }

    /// Follows its state.
    pub fn watch(&self) -> watch::Receiver<ReplicaState> {
        self.state.subscribe()
    }

    /// Whether it has caught up and may be asked.
    pub fn is_ready(&self) -> bool {
        self.state.borrow().phase == ReplicaPhase::Ready
    }

    /// Tells it that there may be something new in the event log.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// The task that rids the index' files of words of erased messages.
    pub fn purger(&self) -> Purger {
        Purger { writer: self.writer.clone() }
    }

    /// How far it is behind the log: the age of the oldest change that it has not read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn lag(&self) -> Result<Duration, StoreError> {
        let position = self.state.borrow().position;
        let next = self.store.next_logged(position).await?;
        // A moment is told from none.
        let age = |at| self.clock.now().since(at).max(Duration::from_millis(1));
        Ok(next.map(age).unwrap_or_default())
    }

    /// The position of the index in use; `None` if it is not filled.
    fn position(&self) -> Option<LogPosition> {
        self.index.progress().as_deref().and_then(LogPosition::parse)
    }

    fn note_position(&self) {
        let (position, messages) = (self.position(), self.index.doc_count());
        self.state.send_modify(|state| {
            state.messages = messages;
            if let Some(LogPosition { epoch, at, filled }) = position {
                (state.epoch, state.position, state.filled) = (epoch, at, filled);
            }
        });
    }
}

/// The folders of all replicas that were ever made in a data folder, by the folder of the first.
///
/// # Errors
/// When the data folder cannot be read.
pub fn folders(first: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for number in 1..=SLOTS {
        let folder = slot(first, number);
        if folder.try_exists()? {
            found.push(folder);
        }
    }
    Ok(found)
}

fn slot(first: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return first.to_path_buf();
    }
    let mut name = first.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    first.with_file_name(name)
}

fn open_slot(first: &Path) -> Result<(PathBuf, MessageIndex, MessageWriter), ReplicaError> {
    for number in 1..=SLOTS {
        let folder = slot(first, number);
        let opened = MessageIndex::open(&folder)
            .and_then(|index| index.writer(WriterOptions::default()).map(|writer| (index, writer)));
        match opened {
            Ok((index, writer)) => return Ok((folder, index, writer)),
            Err(IndexError::WriterBusy) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(ReplicaError::Full(first.to_path_buf()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_of_one_data_folder_lie_beside_each_other() {
        let first = Path::new("/data/index");
        assert_eq!(slot(first, 1), Path::new("/data/index"));
        assert_eq!(slot(first, 3), Path::new("/data/index-3"));
    }
}
