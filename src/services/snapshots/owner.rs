//! Owner of a place of snapshots: the database whose snapshots and ledger of erasures lie there.
//!
//! A new service whose place is still that of a lost one would replace the ledger by its own, empty
//! one, and its snapshots would take the places of the old ones.

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_store::Store;

use super::layout::{AGE, LEDGER, OWNER};
use super::{SnapshotError, SnapshotService, SnapshotSource};

impl SnapshotService {
    /// Checks that the place belongs to a database. One without a snapshot and without an erasure
    /// in its ledger belongs to whoever comes. A restored database is the same one.
    ///
    /// # Errors
    /// [`SnapshotError::Foreign`], or when the database or the archive fails.
    pub(super) async fn check_owner(&self, store: &Store) -> Result<(), SnapshotError> {
        let own = store.processes().store_id().await?;
        let owner = self.archive.read(OWNER).await?;
        if owner.is_some_and(|owner| owner.trim_ascii() == own.as_bytes()) {
            return Ok(());
        }
        if self.is_filled().await? {
            return Err(SnapshotError::Foreign(self.place().to_owned()));
        }
        self.take(own).await
    }

    /// Gives the place to a database, whatever is there.
    ///
    /// # Errors
    /// Returns an error when the database or the archive fails.
    #[boxed]
    pub async fn adopt(&self, source: &SnapshotSource) -> Result<(), SnapshotError> {
        self.take(source.store.processes().store_id().await?).await
    }

    async fn take(&self, own: String) -> Result<(), SnapshotError> {
        Ok(self.archive.put(OWNER, Bytes::from(own + "\n")).await?)
    }

    /// Returns true if there is something to lose. Nobody sees whether an encrypted ledger is empty.
    async fn is_filled(&self) -> Result<bool, SnapshotError> {
        let plain = self.archive.size(LEDGER).await?.is_some_and(|bytes| bytes > 0);
        let encrypted = self.archive.size(&[LEDGER, AGE].concat()).await?.is_some();
        Ok(plain || encrypted || self.newest().await?.is_some())
    }
}
