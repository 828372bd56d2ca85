//! Copies of the bus file, for snapshots.

use std::path::Path;

use async_recursion::async_recursion as boxed;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, query, query_scalar};

use super::schema::{VERSION, file, options};
use crate::BusError;

/// Copies the bus file of a data folder into the new file `into`, in one state, while a process may
/// be serving from it. Returns `false` if there is none. What a consumer has handled and the file
/// does not know yet is delivered again from a copy.
///
/// # Errors
/// [`BusError::Storage`] when the file cannot be read, or the copy not be written.
#[boxed]
pub async fn copy_bus(folder: &Path, into: &Path) -> Result<bool, BusError> {
    if !file(folder).try_exists().map_err(sqlx::Error::Io)? {
        return Ok(false);
    }
    let mut conn = options(folder).read_only(true).connect().await?;
    let name = into.to_string_lossy().into_owned();
    query("VACUUM INTO ?1").bind(name).execute(&mut conn).await?;
    conn.close().await?;
    Ok(true)
}

/// Returns the size in bytes of a copy of the bus file of a data folder; 0 if there is none.
///
/// # Errors
/// [`BusError::Storage`] when the file cannot be read.
#[boxed]
pub async fn bus_copy_size(folder: &Path) -> Result<u64, BusError> {
    if !file(folder).try_exists().map_err(sqlx::Error::Io)? {
        return Ok(0);
    }
    let mut conn = options(folder).read_only(true).connect().await?;
    let size = "SELECT (page_count - freelist_count) * page_size
                FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    let size: i64 = query_scalar(size).fetch_one(&mut conn).await?;
    conn.close().await?;
    Ok(size.unsigned_abs())
}

/// Checks that a copy is whole, and of a layout that this version reads.
///
/// # Errors
/// [`BusError::Config`] when it is not, [`BusError::Storage`] when it cannot be read.
#[boxed]
pub async fn check_bus_copy(copy: &Path) -> Result<(), BusError> {
    let mut conn = SqliteConnectOptions::new().filename(copy).read_only(true).connect().await?;
    let found: String = query_scalar("PRAGMA integrity_check(1)").fetch_one(&mut conn).await?;
    let version: i64 = query_scalar("PRAGMA user_version").fetch_one(&mut conn).await?;
    conn.close().await?;
    if found != "ok" {
        return Err(BusError::Config(format!("the copy of the bus is damaged: {found}")));
    }
    if version != VERSION {
        let known = format!("this version reads layout {VERSION}");
        return Err(BusError::Config(format!("the copy of the bus has layout {version}, {known}")));
    }
    Ok(())
}
