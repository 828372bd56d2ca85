//! Connection that writes the bus file. It is taken out for each piece of work and put back only
//! when that succeeded. After any failure (a full disk, an I/O error, a commit of unknown outcome)
//! it is closed, and the next piece of work opens a new one.

use std::path::PathBuf;

use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;

use super::{Shared, schema};
use crate::{BusError, Stream};

/// Writing connection of a data folder's bus, while there is one.
#[derive(Debug)]
pub(super) struct BusFile {
    folder: PathBuf,
    conn: Option<SqliteConnection>,
}

impl BusFile {
    pub(super) fn new(folder: PathBuf, conn: SqliteConnection) -> Self {
        Self { folder, conn: Some(conn) }
    }

    /// Takes the connection out; opens a new one when there is none.
    pub(super) async fn take(&mut self, shared: &Shared) -> Result<SqliteConnection, BusError> {
        if let Some(conn) = self.conn.take() {
            return Ok(conn);
        }
        let mut conn = schema::writer(&self.folder).await?;
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
    for (stream, count) in [Stream::Events, Stream::Jobs].into_iter().zip(unknown) {
        state.add_waiting(stream, count);
    }
    drop(state);
    shared.high.send_replace(high);
    Ok(())
}
