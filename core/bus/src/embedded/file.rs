//! Connection that writes the bus file. It is taken out for each piece of work and put back only
//! when that succeeded. After any failure (a full disk, an I/O error, a commit of unknown outcome)
//! it is closed, and the next piece of work opens a new one.
//!
//! A commit is synced to the disk unless nobody waits for it: what a consumer has finished is
//! delivered again after a power cut, which handlers expect, and the next synced commit covers it.

use std::path::PathBuf;

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, query};

use super::{Shared, schema};
use crate::{BusError, Stream};

const SYNCED: &str = "PRAGMA synchronous = FULL";
const UNSYNCED: &str = "PRAGMA synchronous = NORMAL";

/// Writing connection of a data folder's bus, while there is one.
#[derive(Debug)]
pub(super) struct BusFile {
    folder: PathBuf,
    conn: Option<SqliteConnection>,
    /// `true` if commits of the connection are synced.
    is_synced: bool,
}

impl BusFile {
    pub(super) fn new(folder: PathBuf, conn: SqliteConnection) -> Self {
        Self { folder, conn: Some(conn), is_synced: true }
    }

    /// Takes the connection out; opens a new one when there is none. Its commits are synced.
    pub(super) async fn take(&mut self, shared: &Shared) -> Result<SqliteConnection, BusError> {
        self.take_with(true, shared).await
    }

    /// Takes the connection out as [`Self::take`] does. A power cut may undo its commits, the last
    /// ones first.
    pub(super) async fn take_unsynced(
        &mut self,
        shared: &Shared,
    ) -> Result<SqliteConnection, BusError> {
        self.take_with(false, shared).await
    }

    async fn take_with(
        &mut self,
        synced: bool,
        shared: &Shared,
    ) -> Result<SqliteConnection, BusError> {
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => self.reopen(shared).await?,
        };
        if synced != self.is_synced {
            // A connection that is lost here is replaced by one whose commits are synced.
            let statement = if synced { SYNCED } else { UNSYNCED };
            query(statement).execute(&mut conn).await?;
            self.is_synced = synced;
        }
        Ok(conn)
    }

    async fn reopen(&mut self, shared: &Shared) -> Result<SqliteConnection, BusError> {
        let mut conn = schema::writer(&self.folder).await?;
        self.is_synced = true;
        catch_up(&mut conn, shared).await?;
        tracing::debug!("the bus file was reopened");
        Ok(conn)
    }

    /// Puts the connection back after work that succeeded, and closes it after any other.
    pub(super) async fn put_back<T>(
        &mut self,
        conn: SqliteConnection,
        done: Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        if done.is_ok() {
            self.conn = Some(conn);
        } else if let Err(error) = conn.close_hard().await {
            tracing::debug!(%error, "a broken connection to the bus file cannot be closed");
        }
        done
    }

    /// Returns whether the commits of the connection are synced, as SQLite says.
    #[cfg(test)]
    pub(super) async fn syncs(&mut self) -> bool {
        let conn = self.conn.as_mut().unwrap();
        let level: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(conn).await.unwrap();
        level == 2
    }

    /// Closes the connection as after a failure.
    #[cfg(test)]
    pub(super) async fn lose(&mut self) {
        let conn = self.conn.take().unwrap();
        let failed = Err::<(), _>(sqlx::Error::WorkerCrashed);
        self.put_back(conn, failed).await.unwrap_err();
    }

    /// Closes the connection cleanly.
    pub(super) async fn close(&mut self) -> Result<(), sqlx::Error> {
        match self.conn.take() {
            Some(conn) => conn.close().await,
            None => Ok(()),
        }
    }
}

/// Makes memory aware of messages that are in the file although their commit was reported as
/// failed: consumers would not read beyond the highest number in memory.
async fn catch_up(conn: &mut SqliteConnection, shared: &Shared) -> Result<(), BusError> {
    let known = *shared.high.borrow();
    let high = schema::high(conn).await?;
    if high <= known {
        return Ok(());
    }
    let unknown = schema::count_above(conn, known).await?;
    let mut state = shared.state();
    for (stream, count) in Stream::ALL.into_iter().zip(unknown) {
        state.add_waiting(stream, count);
    }
    drop(state);
    shared.high.send_replace(high);
    Ok(())
}
