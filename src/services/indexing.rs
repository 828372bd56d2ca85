//! Rebuilding of the search index from the store, in every process that has a replica of it.

use std::path::PathBuf;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{IndexRequest, OutboxPosition, ProcessRecord, Store, StoreError};
use chatkeep_workers::replica::{Replica, ReplicaError, ReplicaState};

use super::operator::Operator;
use super::processes::running;

/// Rebuilding of the search index. Cheap to clone.
#[derive(Clone, Debug)]
pub struct IndexingService {
    store: Store,
    clock: SharedClock,
}

impl IndexingService {
    /// Creates the service; commands have it without the others.
    pub const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Requests that every replica is rebuilt, or the messages of one channel in it. Returns the
    /// position of the request in the log.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn request(
        &self,
        _: &Operator,
        channel: Option<&ChannelId>,
    ) -> Result<OutboxPosition, StoreError> {
        let request = channel.map_or(IndexRequest::Rebuild, IndexRequest::Channel);
        self.store.outbox().request_indexing(request, self.clock.now()).await
    }

    /// Returns the running processes that have a search replica, and its state.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn replicas(
        &self,
        _: &Operator,
    ) -> Result<Vec<(ProcessRecord, ReplicaState)>, StoreError> {
        let state = |record: ProcessRecord| {
            let state = serde_json::from_str(record.search.as_deref()?).ok()?;
            Some((record, state))
        };
        Ok(running(&self.store).await?.into_iter().filter_map(state).collect())
    }

    /// Returns the number of messages in all channels.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn messages(&self, _: &Operator) -> Result<u64, StoreError> {
        Ok(u64::try_from(self.store.messages().count_messages().await?).unwrap_or_default())
    }

    /// Opens the replica in that folder, which no process has.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, or another command has it.
    #[boxed]
    pub async fn replica(&self, _: &Operator, folder: PathBuf) -> Result<Replica, ReplicaError> {
        Replica::open_first(self.store.clone(), folder, Arc::clone(&self.clock)).await
    }
}
