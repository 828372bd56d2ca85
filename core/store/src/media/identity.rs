//! Identity of the media store that the files of a database are in.

use async_recursion::async_recursion as boxed;

use super::super::{MediaStore, StoreError};
use crate::query::{query, query_as};

const RECORDED: &str = "SELECT media_store FROM deployment";
const RECORD: &str = "UPDATE deployment SET media_store = $1, proposed_media_store = NULL";
const PROPOSE: &str = "
    UPDATE deployment SET proposed_media_store = COALESCE(proposed_media_store, $1)
    RETURNING proposed_media_store";

impl MediaStore<'_> {
    /// Returns the identity of the media store that the files of this database are in; `None` until
    /// one is recorded. Copies of the database have the same one.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn recorded_identity(&self) -> Result<Option<String>, StoreError> {
        let (identity,): (Option<String>,) = self.store.db.fetch_one(query_as(RECORDED)).await?;
        Ok(identity)
    }

    /// Returns the identity for a media store that has none: `new`, or what another process proposed
    /// since one was recorded.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn propose_identity(&self, new: &str) -> Result<String, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let (proposed,): (String,) = tx.fetch_one(query_as(PROPOSE).bind(new)).await?;
        tx.commit().await?;
        Ok(proposed)
    }

    /// Records the identity of the media store that the files of this database are in from now on.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn record_identity(&self, identity: &str) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RECORD).bind(identity)).await?;
        tx.commit().await
    }
}
