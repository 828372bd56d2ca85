//! Snapshot targets that a database has used, by address and id: by them a service notices that
//! another one, such as the empty folder of a disk that is not mounted, stands at the address.

use async_recursion::async_recursion as boxed;

use super::{ProcessStore, StoreError};
use crate::query::{query, query_as};

const RECORDED: &str =
    "SELECT target_id FROM snapshot_targets WHERE address = $1 ORDER BY target_id";
const RECORD: &str = "
    INSERT INTO snapshot_targets (address, target_id) VALUES ($1, $2)
    ON CONFLICT (address, target_id) DO NOTHING";

impl ProcessStore<'_> {
    /// Returns the ids of the snapshot targets that this database has used at an address. Copies of
    /// the database have the same ones.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn snapshot_target_ids(&self, address: &str) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> =
            self.store.db.fetch_all(query_as(RECORDED).bind(address)).await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }

    /// Records that this database uses the snapshot target of that id at an address.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn record_snapshot_target(&self, address: &str, id: &str) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(RECORD).bind(address).bind(id)).await?;
        tx.commit().await
    }
}
