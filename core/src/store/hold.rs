//! One connection of a pool while a transaction runs on it, and what becomes of it afterwards.
//!
//! The statements that begin and end a transaction are sent from here and nowhere else, and a
//! connection goes back to its pool only when it is known that no transaction is left on it. It
//! is closed, and the pool opens another, when beginning or ending failed, when nobody waited for
//! either to end, and when a statement failed in a way that leaves the connection doubtful. The
//! driver counts transactions by itself, and never gets back to zero when SQLite has rolled back
//! already because the disk was full.

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Database, Executor, Pool};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::fault::breaks_connection;

/// A rollback that takes longer than this is not waited for: the connection is closed.
const ROLLBACK: Duration = Duration::from_secs(5);

/// A connection with a transaction on it. Dropped before [`Held::commit`], the transaction is
/// rolled back.
#[derive(Debug)]
pub(super) struct Held<DB: Database>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// `None` only while it is being dropped.
    conn: Option<PoolConnection<DB>>,
    /// Whether a statement failed: what follows cannot be committed.
    failed: bool,
    /// Whether the state of the connection is not known.
    doubtful: bool,
}

impl<DB: Database> Held<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// Begins a transaction with the statement `begin`.
    pub(super) async fn begin(pool: &Pool<DB>, begin: &'static str) -> Result<Self, sqlx::Error> {
        let mut held = Self::plain(pool).await?;
        held.conn().execute(begin).await?;
        held.doubtful = false;
        Ok(held)
    }

    /// Takes a connection whose settings will be changed for a while. It is closed unless
    /// [`Held::release`] says that they are as before.
    pub(super) async fn plain(pool: &Pool<DB>) -> Result<Self, sqlx::Error> {
        Ok(Self { conn: Some(pool.acquire().await?), failed: false, doubtful: true })
    }

    /// The connection, for statements whose results go to [`Held::note`].
    pub(super) fn conn(&mut self) -> &mut DB::Connection {
        match &mut self.conn {
            Some(conn) => conn,
            None => unreachable!("the connection is there until the transaction is dropped"),
        }
    }

    /// Remembers that a statement failed.
    pub(super) fn note<T>(&mut self, done: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        if let Err(error) = &done {
            self.failed = true;
            self.doubtful |= breaks_connection(error);
        }
        done
    }

    /// Ends the transaction for good.
    ///
    /// # Errors
    /// When the database does not confirm it, and when a statement of the transaction failed:
    /// PostgreSQL would roll back and call that a success, SQLite would keep the half of it.
    pub(super) async fn commit(mut self) -> Result<(), sqlx::Error> {
        if self.failed {
            let why = "a statement of the transaction failed, so it is not committed";
            return Err(sqlx::Error::Protocol(why.to_owned()));
        }
        self.doubtful = true;
        self.conn().execute("COMMIT").await?;
        self.release();
        Ok(())
    }

    /// Gives the connection back: there is no transaction on it, and its settings are as before.
    pub(super) fn release(mut self) {
        drop(self.conn.take());
    }
}

impl<DB: Database> Drop for Held<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    fn drop(&mut self) {
        let Some(mut conn) = self.conn.take() else {
            return;
        };
        match Handle::try_current() {
            Ok(runtime) if !self.doubtful => drop(runtime.spawn(roll_back(conn))),
            Ok(_) => conn.close_on_drop(),
            Err(_no_runtime) => drop(conn.detach()),
        }
    }
}

/// Ends a transaction that nobody committed, and with it the connection when that fails.
async fn roll_back<DB: Database>(mut conn: PoolConnection<DB>)
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    if !matches!(timeout(ROLLBACK, conn.execute("ROLLBACK")).await, Ok(Ok(_))) {
        conn.close_on_drop();
    }
}
