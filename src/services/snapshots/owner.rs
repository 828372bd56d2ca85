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
    /// Checks that the place is that of a database, and records it as such. One without a snapshot
    /// and without an erasure in its ledger becomes that of whoever comes, unless the database has
    /// used another one at the address. A restored database is the same one.
    ///
    /// # Errors
    /// [`SnapshotError::OtherTarget`], [`SnapshotError::Foreign`], or when the database or the
    /// archive fails; nothing is changed then.
    pub(super) async fn claim(&self, store: &Store) -> Result<(), SnapshotError> {
        // First: an empty folder in place of the disk would belong to whoever comes.
        self.check_target_id(store).await?;
        if !self.is_owned(store).await? {
            if self.is_filled().await? {
                return Err(SnapshotError::Foreign(self.place().to_owned()));
            }
            self.take(store).await?;
        }
        self.record_target(store).await
    }

    /// Gives the place to a database, whatever is there, and whatever was there before.
    ///
    /// # Errors
    /// Returns an error when the database or the archive fails.
    #[boxed]
    pub async fn adopt(&self, source: &SnapshotSource) -> Result<(), SnapshotError> {
        self.take(&source.store).await?;
        self.record_target(&source.store).await
    }

    /// Returns true if there is something that is not of this database.
    pub(super) async fn is_foreign(&self, store: &Store) -> Result<bool, SnapshotError> {
        Ok(!self.is_owned(store).await? && self.is_filled().await?)
    }

    async fn is_owned(&self, store: &Store) -> Result<bool, SnapshotError> {
        let own = store.processes().store_id().await?;
        let owner = self.archive.read(OWNER).await?;
        Ok(owner.is_some_and(|owner| owner.trim_ascii() == own.as_bytes()))
    }

    async fn take(&self, store: &Store) -> Result<(), SnapshotError> {
        let own = store.processes().store_id().await?;
        Ok(self.archive.put(OWNER, Bytes::from(own + "\n")).await?)
    }

    /// Returns true if there is something to lose. Nobody sees whether an encrypted ledger is empty.
    async fn is_filled(&self) -> Result<bool, SnapshotError> {
        let plain = self.archive.size(LEDGER).await?.is_some_and(|bytes| bytes > 0);
        let encrypted = self.archive.size(&[LEDGER, AGE].concat()).await?.is_some();
        Ok(plain || encrypted || self.newest().await?.is_some())
    }
}
