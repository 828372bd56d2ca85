//! A search replica: a full index of the stored messages that follows the store's event log by a
//! position of its own.
//!
//! The log only names messages; the index gets the store's state of them when they are read. So
//! late and repeated reads have the same result, and no other process is needed: every process with
//! the role `search` has a replica, on any database. A replica that is new, or that fell behind the
//! log's retention, fills itself from the store, and gets requests again once it has caught up.

mod audit;
mod changes;
mod follow;
mod pages;
mod position;
mod purge;
mod rebuild;
mod slots;
mod spares;
mod state;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::outage::Availability;
use chatkeep_core::panics::Panicked;
use chatkeep_core::time::SharedClock;
use chatkeep_index::search::{IndexError, MessageIndex, WriterOptions};
use chatkeep_store::{Store, StoreError};
use tokio::sync::{Notify, watch};

pub use audit::{Drift, IndexAudit};
pub use changes::{changes_to, put_message};
pub use position::LogPosition;
pub use purge::Purger;
pub use slots::{folders, is_used};
pub use spares::SpareIndexes;
pub use state::{ReplicaPhase, ReplicaState, ReplicaWork};

use slots::{OpenedSlot, SLOTS, SlotLock};
use writer::SharedWriter;

/// Page size of reading the store, in messages.
const PAGE: u32 = 2_000;
/// Number of messages after which a filling index is saved to disk.
const SAVE: u64 = 100_000;

/// Error of a replica.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// The index' folder failed.
    #[error("the search index failed")]
    Index(#[from] IndexError),
    /// The store failed.
    #[error("the store failed while the search index was updated")]
    Store(#[from] StoreError),
    /// The indexing thread died.
    #[error("indexing stopped unexpectedly")]
    Died(#[from] tokio::task::JoinError),
    /// The writer failed in another task while changes were written: those since the last commit
    /// are written again.
    #[error("the writer of the search index was lost before the changes were committed")]
    WriterLost,
    /// A rebuild panicked.
    #[error("the rebuild of the search index failed")]
    Panicked(#[from] Panicked),
    /// Every slot of the data folder is taken.
    #[error("{} processes already have a search index in {}", SLOTS, .0.display())]
    Full(PathBuf),
    /// Another process has the folder.
    #[error("another process uses the search index in {}", .0.display())]
    Used(PathBuf),
    /// A folder could not be locked or deleted.
    #[error("cannot use the folder of the search index")]
    Folder(#[from] std::io::Error),
}

/// A search replica. Clones share it.
#[derive(Clone)]
pub struct Replica {
    store: Store,
    clock: SharedClock,
    index: MessageIndex,
    /// Folder of the first replica of the data folder.
    first: PathBuf,
    folder: PathBuf,
    /// Held as long as anything of the process has the replica.
    _lock: Arc<SlotLock>,
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
    /// Opens the replica in `folder`, or beside it (`folder-2`, `folder-3`, …) if other processes
    /// use the ones before. [`Replica::run`] keeps it up to date.
    ///
    /// # Errors
    /// Fails when the index cannot be read or written.
    #[boxed]
    pub async fn open(
        store: Store,
        folder: PathBuf,
        clock: SharedClock,
    ) -> Result<Self, ReplicaError> {
        Self::open_with(store, folder, clock, WriterOptions::default()).await
    }

    /// Opens the replica as [`Replica::open`] does, with these options of its writer.
    ///
    /// # Errors
    /// Fails when the index cannot be read or written.
    #[boxed]
    pub async fn open_with(
        store: Store,
        folder: PathBuf,
        clock: SharedClock,
        options: WriterOptions,
    ) -> Result<Self, ReplicaError> {
        let opened = slots::open(&folder, options).await?;
        Ok(Self::new(store, clock, folder, opened, options))
    }

    /// Opens the replica in `folder` itself, for a command that does the work of a process.
    ///
    /// # Errors
    /// Fails when another process has it, or the index cannot be read or written.
    #[boxed]
    pub async fn open_first(
        store: Store,
        folder: PathBuf,
        clock: SharedClock,
    ) -> Result<Self, ReplicaError> {
        let options = WriterOptions::default();
        let opened = slots::open_one(&folder, options).await?;
        let opened = opened.ok_or_else(|| ReplicaError::Used(folder.clone()))?;
        Ok(Self::new(store, clock, folder, opened, options))
    }

    fn new(
        store: Store,
        clock: SharedClock,
        first: PathBuf,
        opened: OpenedSlot,
        options: WriterOptions,
    ) -> Self {
        let OpenedSlot { folder, lock, index, writer } = opened;
        let state = ReplicaState { messages: index.doc_count(), ..ReplicaState::default() };
        let address = folder.display().to_string();
        let replica = Self {
            available: Availability::new("search index", address, "CHATKEEP_DATA"),
            store,
            clock,
            index: index.clone(),
            first,
            folder,
            _lock: Arc::new(lock),
            writer: SharedWriter::new(index, writer, options),
            state: Arc::new(watch::Sender::new(state)),
            wake: Arc::default(),
        };
        replica.note_position();
        replica
    }

    /// Returns the index, for searches.
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

    /// Returns the folder of the index.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns its current state.
    pub fn state(&self) -> ReplicaState {
        self.state.borrow().clone()
    }

    /// Returns a receiver of its state.
    pub fn watch(&self) -> watch::Receiver<ReplicaState> {
        self.state.subscribe()
    }

    /// Returns whether it has caught up and may serve requests.
    pub fn is_ready(&self) -> bool {
        self.state.borrow().phase == ReplicaPhase::Ready
    }

    /// Wakes it to read the event log.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Returns the task that removes words of erased messages from the index' files.
    pub fn purger(&self) -> Purger {
        Purger { writer: self.writer.clone() }
    }

    /// Returns the task that deletes indexes of the data folder which no process has any more.
    pub fn spares(&self) -> SpareIndexes {
        SpareIndexes::new(self.first.clone())
    }

    /// Deletes all other indexes of the data folder that no process has at this moment.
    ///
    /// # Errors
    /// Fails when the data folder fails.
    #[boxed]
    pub async fn delete_spares(&self) -> Result<(), ReplicaError> {
        spares::delete_now(self.first.clone()).await
    }

    /// Returns its lag behind the log: the age of the oldest change that it has not read.
    ///
    /// # Errors
    /// Fails when the store fails.
    #[boxed]
    pub async fn lag(&self) -> Result<Duration, StoreError> {
        let position = self.state.borrow().position;
        let next = self.store.outbox().next_logged(position).await?;
        // A tiny lag is distinguished from none.
        let age = |at| self.clock.now().since(at).max(Duration::from_millis(1));
        Ok(next.map(age).unwrap_or_default())
    }

    /// Returns the position of the current index; `None` if it is not filled.
    fn position(&self) -> Option<LogPosition> {
        self.index.position().as_deref().and_then(LogPosition::parse)
    }

    fn note_position(&self) {
        self.note(self.position().as_ref());
    }

    /// Shows how far the log was read into the index.
    fn note(&self, position: Option<&LogPosition>) {
        let messages = self.index.doc_count();
        self.state.send_modify(|state| {
            state.messages = messages;
            if let Some(LogPosition { epoch, last, filled }) = position {
                state.epoch.clone_from(epoch);
                (state.position, state.filled) = (last.at, *filled);
            }
        });
    }
}
