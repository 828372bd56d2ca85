//! Copies of the embedded database, for snapshots: made beside running processes, checked, and
//! opened as they are.

use std::path::Path;

use chatkeep_core::blob::BlobId;
use chatkeep_core::config::Database;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::db::{BUSY, FILE};
use super::{MediaStore, ProcessStore, Store, StoreError, parsed};
use crate::query::{query, query_as};

/// Every file that a message refers to, after one, by name.
const REFERENCED: &str = "
    SELECT sha256 FROM media WHERE sha256 IS NOT NULL AND sha256 > $1
    UNION
    SELECT preview_sha256 FROM media WHERE preview_sha256 IS NOT NULL AND preview_sha256 > $1
    ORDER BY 1 LIMIT $2";
const FORGET_PROCESSES: &str = "DELETE FROM processes";
const FORGET_LEASES: &str = "DELETE FROM job_leases";

impl Store {
    /// Copies the SQLite file of a data folder into the new file `into`, in one state. Processes
    /// that use it go on writing. The copy has no free pages, so nothing that was erased.
    ///
    /// # Errors
    /// [`StoreError::NoData`] if there is no such file, or when it cannot be read or the copy not be
    /// written.
    pub async fn copy_embedded(folder: &Path, into: &Path) -> Result<(), StoreError> {
        let mut conn = read_only(&folder.join(FILE)).await?;
        let name = into.to_string_lossy().into_owned();
        sqlx::query("VACUUM INTO ?1").bind(name).execute(&mut conn).await?;
        Ok(conn.close().await?)
    }

    /// Checks that a copy is whole. Returns the number of its last migration.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], or when the copy cannot be read.
    pub async fn check_copy(copy: &Path) -> Result<i64, StoreError> {
        let mut conn = read_only(copy).await?;
        let found: (String,) =
            sqlx::query_as("PRAGMA integrity_check(1)").fetch_one(&mut conn).await?;
        if found.0 != "ok" {
            return Err(StoreError::Damaged(found.0));
        }
        let version = "SELECT COALESCE(MAX(version), 0) FROM _sqlx_migrations";
        let (version,): (i64,) = sqlx::query_as(version).fetch_one(&mut conn).await?;
        conn.close().await?;
        Ok(version)
    }

    /// Opens a database without migrating it: its schema may be that of an earlier program.
    ///
    /// # Errors
    /// [`StoreError::NoData`] if there is none, or when it cannot be opened or reached.
    pub async fn open_as_is(database: &Database, folder: &Path) -> Result<Self, StoreError> {
        let db = Self::existing(database, folder).await?;
        if !db.has_schema().await? {
            db.close().await;
            return Err(StoreError::NoData);
        }
        Ok(Self::over(db))
    }
}

impl MediaStore<'_> {
    /// Returns the blobs that messages refer to, by name, after `after`, at most `limit`.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn referenced_blobs(
        self,
        after: Option<&BlobId>,
        limit: u32,
    ) -> Result<Vec<BlobId>, StoreError> {
        let after = after.map_or("", BlobId::as_str);
        let wanted = query_as(REFERENCED).bind(after).bind(i64::from(limit));
        let rows: Vec<(String,)> = self.store.db.fetch_all(wanted).await?;
        let blob = |(name,): (String,)| parsed(BlobId::parse(&name), "media", "sha256", &name);
        rows.into_iter().map(blob).collect()
    }
}

impl ProcessStore<'_> {
    /// Forgets every registered process and the leases of periodic jobs: in a copy they are those
    /// of the original.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    pub async fn forget_all(self) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(FORGET_PROCESSES)).await?;
        tx.execute(query(FORGET_LEASES)).await?;
        tx.commit().await
    }
}

/// Opens a file for reading, outside of any pool.
pub(super) async fn read_only(file: &Path) -> Result<SqliteConnection, StoreError> {
    if !file.try_exists().map_err(sqlx::Error::Io)? {
        return Err(StoreError::NoData);
    }
    let options = SqliteConnectOptions::new().filename(file).read_only(true).busy_timeout(BUSY);
    Ok(options.disable_statement_logging().connect().await?)
}
