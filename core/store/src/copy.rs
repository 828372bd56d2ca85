//! Copies of the embedded database, for snapshots: made beside running processes, checked, and
//! opened as they are.

use std::io::ErrorKind;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use chatkeep_core::blob::BlobId;
use chatkeep_core::config::Database;
use chatkeep_core::sqlite::BUSY_TIMEOUT;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::pools::FILE;
use super::{ExportStore, MediaStore, ProcessStore, Store, StoreError, parsed};
use crate::query::{query, query_as};

/// Name of the file of the database while it is rewritten.
const REWRITTEN: &str = "chatkeep.db.new";
/// Names of the files beside the database that SQLite has while it is open.
const LOGS: [&str; 2] = ["chatkeep.db-wal", "chatkeep.db-shm"];

/// Every file that a message refers to, after one, by name. Each half ends after a page, for else
/// every page would read all names that are left.
const REFERENCED: &str = "
    SELECT name FROM (
        SELECT * FROM (SELECT DISTINCT sha256 AS name FROM media
                       WHERE sha256 IS NOT NULL AND sha256 > $1 ORDER BY sha256 LIMIT $2) files
        UNION
        SELECT * FROM (SELECT DISTINCT preview_sha256 AS name FROM media
                       WHERE preview_sha256 IS NOT NULL AND preview_sha256 > $1
                       ORDER BY preview_sha256 LIMIT $2) previews) names
    ORDER BY name LIMIT $2";
const RECORDED: &str = "SELECT MAX(bytes) FROM media WHERE sha256 = $1 AND status = 'stored'";
const FORGET_PROCESSES: &str = "DELETE FROM processes";
const FORGET_LEASES: &str = "DELETE FROM job_leases";
/// Files of exports are in no snapshot; those that the media store still has are given up.
const FORGET_EXPORTS: [&str; 4] = [
    "INSERT INTO blob_orphans (sha256, mark, since)
     SELECT DISTINCT sha256, 'forgotten', 0 FROM export_parts WHERE sha256 IS NOT NULL
     ON CONFLICT (sha256) DO NOTHING",
    "DELETE FROM export_parts",
    "DELETE FROM exports",
    "DELETE FROM export_changes",
];

const COPY_SIZE: &str = "
    SELECT (page_count - freelist_count) * page_size
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size";

impl Store {
    /// Copies the SQLite file of a data folder into the new file `into`, in one state. Processes
    /// that use it go on writing. The copy has no free pages, so nothing that was erased.
    ///
    /// # Errors
    /// [`StoreError::NoData`] if there is no such file, or when it cannot be read or the copy not be
    /// written.
    #[boxed]
    pub async fn copy_embedded(folder: &Path, into: &Path) -> Result<(), StoreError> {
        let mut conn = read_only(&folder.join(FILE)).await?;
        let name = into.to_string_lossy().into_owned();
        sqlx::query("VACUUM INTO ?1").bind(name).execute(&mut conn).await?;
        Ok(conn.close().await?)
    }

    /// Returns the size in bytes of a copy of the SQLite file of a data folder, which has no free
    /// pages.
    ///
    /// # Errors
    /// [`StoreError::NoData`] if there is no such file, or when it cannot be read.
    #[boxed]
    pub async fn copy_size(folder: &Path) -> Result<u64, StoreError> {
        let mut conn = read_only(&folder.join(FILE)).await?;
        let size: i64 = sqlx::query_scalar(COPY_SIZE).fetch_one(&mut conn).await?;
        conn.close().await?;
        Ok(size.unsigned_abs())
    }

    /// Rewrites the SQLite file of a data folder that no process uses, so that nothing is left in it of
    /// what was erased: SQLite overwrites what it deletes, but not the copies that it leaves in the
    /// free parts of pages when it moves rows between them.
    ///
    /// # Errors
    /// [`StoreError::NoData`] if there is no such file, or when it cannot be read or the new one not be
    /// written; what the file held is in it, or in the copy beside it.
    #[boxed]
    pub async fn rewrite_embedded(folder: &Path) -> Result<(), StoreError> {
        let (file, new) = (folder.join(FILE), folder.join(REWRITTEN));
        Self::copy_embedded(folder, &new).await?;
        let replaced = async {
            tokio::fs::File::open(&new).await?.sync_all().await?;
            // The copy has what is in the old file's log, which must not be applied to it.
            for log in LOGS {
                match tokio::fs::remove_file(folder.join(log)).await {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            tokio::fs::set_permissions(&new, tokio::fs::metadata(&file).await?.permissions())
                .await?;
            tokio::fs::rename(&new, &file).await
        };
        Ok(replaced.await.map_err(sqlx::Error::Io)?)
    }

    /// Checks that a copy is whole. Returns the number of its last migration.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], or when the copy cannot be read.
    #[boxed]
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
    #[boxed]
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
    /// Returns the blobs that messages refer to, by name, after `after`, at most `limit`; lost ones,
    /// too, which may be in an earlier snapshot.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn referenced_blobs(
        &self,
        after: Option<&BlobId>,
        limit: u32,
    ) -> Result<Vec<BlobId>, StoreError> {
        let after = after.map_or("", BlobId::as_str);
        let wanted = query_as(REFERENCED).bind(after).bind(i64::from(limit));
        let rows: Vec<(String,)> = self.store.db.fetch_all(wanted).await?;
        let blob = |(name,): (String,)| parsed(BlobId::parse(&name), "media", "sha256", &name);
        rows.into_iter().map(blob).collect()
    }

    /// Returns the size of a file in bytes by the records of messages; `None` if none has it, as for
    /// a preview.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn recorded_bytes(&self, blob: &BlobId) -> Result<Option<i64>, StoreError> {
        let size = query_as(RECORDED).bind(blob.as_str());
        let (size,): (Option<i64>,) = self.store.db.fetch_one(size).await?;
        Ok(size)
    }
}

impl ProcessStore<'_> {
    /// Forgets every registered process and the leases of periodic jobs: in a copy they are those
    /// of the original.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn forget_all(&self) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        tx.execute(query(FORGET_PROCESSES)).await?;
        tx.execute(query(FORGET_LEASES)).await?;
        tx.commit().await
    }
}

impl ExportStore<'_> {
    /// Forgets all exports in the background: in a copy they are those of the original, and their
    /// files are not copied.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing has changed then.
    #[boxed]
    pub async fn forget_exports(&self) -> Result<(), StoreError> {
        let mut tx = self.store.db.begin().await?;
        for forget in FORGET_EXPORTS {
            tx.execute(query(forget)).await?;
        }
        tx.commit().await
    }
}

/// Opens a file for reading, outside of any pool.
pub(super) async fn read_only(file: &Path) -> Result<SqliteConnection, StoreError> {
    if !file.try_exists().map_err(sqlx::Error::Io)? {
        return Err(StoreError::NoData);
    }
    let options =
        SqliteConnectOptions::new().filename(file).read_only(true).busy_timeout(BUSY_TIMEOUT);
    Ok(options.disable_statement_logging().connect().await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[tokio::test]
    async fn a_page_of_files_reads_the_names_after_the_last_one() {
        let steps = plan(REFERENCED).await.join("\n");
        for index in ["media_by_hash (sha256>?)", "media_by_preview (preview_sha256>?)"] {
            assert!(
                steps.contains(&format!("SEARCH media USING COVERING INDEX {index}")),
                "{steps}"
            );
        }
        assert!(!steps.contains("SCAN media"), "{steps}");
    }
}
