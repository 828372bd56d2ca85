//! Pooled connection that runs a transaction, and its return to the pool.
//!
//! The statements that begin and end a transaction are sent only from here, and a connection
//! returns to its pool only when it is certain that no transaction is left on it. It is closed, and
//! the pool opens another, when beginning or ending failed, when either was cancelled, and when a
//! statement failed in a way that leaves the connection doubtful. The driver counts transactions by
//! itself, and never gets back to zero when SQLite has rolled back already because the disk was
//! full.

use std::time::Duration;

use chatkeep_core::panics;
use sqlx::pool::PoolConnection;
use sqlx::{Database, Executor, Pool};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::fault::breaks_connection;

/// Timeout for a rollback; after it the connection is closed.
const ROLLBACK: Duration = Duration::from_secs(5);

/// Connection with a transaction on it. Dropped before [`OwnedTransaction::commit`], the
/// transaction is rolled back.
#[derive(Debug)]
pub(super) struct OwnedTransaction<DB: Database>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    /// `None` only while being dropped.
    conn: Option<PoolConnection<DB>>,
    /// `true` once a statement failed: the transaction cannot be committed.
    failed: bool,
    /// `true` if the state of the connection is not known.
    doubtful: bool,
}

impl<DB: Database> OwnedTransaction<DB>
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

    /// Takes a connection for temporary changes of its settings. It is closed unless
    /// [`OwnedTransaction::release`] confirms that they are restored.
    pub(super) async fn plain(pool: &Pool<DB>) -> Result<Self, sqlx::Error> {
        Ok(Self { conn: Some(pool.acquire().await?), failed: false, doubtful: true })
    }

    /// Returns the connection, for statements whose results go to [`OwnedTransaction::note`].
    pub(super) fn conn(&mut self) -> &mut DB::Connection {
        match &mut self.conn {
            Some(conn) => conn,
            None => unreachable!("the connection is there until the transaction is dropped"),
        }
    }

    /// Records the failure of a statement.
    pub(super) fn note<T>(&mut self, done: Result<T, sqlx::Error>) -> Result<T, sqlx::Error> {
        if let Err(error) = &done {
            self.failed = true;
            self.doubtful |= breaks_connection(error);
        }
        done
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// Returns an error when the database does not confirm it, and when a statement of the
    /// transaction failed: PostgreSQL would roll back and call that a success, SQLite would commit
    /// half of it.
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

    /// Returns the connection to the pool: without a transaction, and with its settings restored.
    pub(super) fn release(mut self) {
        drop(self.conn.take());
    }
}

impl<DB: Database> Drop for OwnedTransaction<DB>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    fn drop(&mut self) {
        let Some(mut conn) = self.conn.take() else {
            return;
        };
        match Handle::try_current() {
            Ok(runtime) if !self.doubtful => {
                drop(panics::spawn_on(&runtime, "rollback", roll_back(conn)));
            }
            Ok(_) => conn.close_on_drop(),
            Err(_no_runtime) => drop(conn.detach()),
        }
    }
}

/// Rolls back an uncommitted transaction; closes the connection when that fails.
async fn roll_back<DB: Database>(mut conn: PoolConnection<DB>)
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    if !matches!(timeout(ROLLBACK, conn.execute("ROLLBACK")).await, Ok(Ok(_))) {
        conn.close_on_drop();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
    use sqlx::{Sqlite, query_scalar};
    use tempfile::TempDir;

    use super::*;

    const BEGIN: &str = "BEGIN IMMEDIATE";

    /// Creates a pool of one connection, with a mark that no other one has.
    async fn marked() -> (SqlitePool, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let options =
            SqliteConnectOptions::new().filename(folder.path().join("db")).create_if_missing(true);
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(10))
            .connect_with(options)
            .await
            .unwrap();
        pool.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY)").await.unwrap();
        pool.execute("CREATE TEMP TABLE mark (x)").await.unwrap();
        (pool, folder)
    }

    async fn insert(
        held: &mut OwnedTransaction<Sqlite>,
        id: &'static str,
    ) -> Result<(), sqlx::Error> {
        let done = held.conn().execute(id).await;
        held.note(done).map(drop)
    }

    async fn count(pool: &SqlitePool) -> i64 {
        query_scalar("SELECT count(*) FROM kept").fetch_one(pool).await.unwrap()
    }

    async fn is_the_same(pool: &SqlitePool) -> bool {
        pool.execute("SELECT * FROM mark").await.is_ok()
    }

    #[tokio::test]
    async fn a_sound_connection_is_kept() {
        let (pool, _folder) = marked().await;
        let mut held = OwnedTransaction::begin(&pool, BEGIN).await.unwrap();
        insert(&mut held, "INSERT INTO kept VALUES (1)").await.unwrap();
        held.commit().await.unwrap();
        let mut held = OwnedTransaction::begin(&pool, BEGIN).await.unwrap();
        insert(&mut held, "INSERT INTO kept VALUES (2)").await.unwrap();
        drop(held);
        assert_eq!(count(&pool).await, 1, "what was not committed is rolled back");
        assert!(is_the_same(&pool).await);
    }

    #[tokio::test]
    async fn a_connection_whose_rollback_fails_is_closed() {
        let (pool, _folder) = marked().await;
        let mut held = OwnedTransaction::begin(&pool, BEGIN).await.unwrap();
        // As SQLite does by itself when the disk is full.
        held.conn().execute("ROLLBACK").await.unwrap();
        drop(held);
        let mut held = OwnedTransaction::begin(&pool, BEGIN).await.unwrap();
        insert(&mut held, "INSERT INTO kept VALUES (1)").await.unwrap();
        held.commit().await.unwrap();
        assert_eq!(count(&pool).await, 1);
        assert!(!is_the_same(&pool).await);
    }

    #[tokio::test]
    async fn a_connection_whose_commit_or_begin_fails_is_closed() {
        let (pool, _folder) = marked().await;
        let mut held = OwnedTransaction::begin(&pool, BEGIN).await.unwrap();
        held.conn().execute("ROLLBACK").await.unwrap();
        held.commit().await.unwrap_err();
        assert!(!is_the_same(&pool).await);
        pool.execute("CREATE TEMP TABLE mark (x)").await.unwrap();
        OwnedTransaction::begin(&pool, "BEGIN NOTHING").await.unwrap_err();
        assert!(!is_the_same(&pool).await);
        pool.execute("CREATE TEMP TABLE mark (x)").await.unwrap();
        drop(OwnedTransaction::plain(&pool).await.unwrap());
        assert!(!is_the_same(&pool).await, "its settings may not be as before");
    }

    #[tokio::test]
    async fn nothing_is_committed_after_a_statement_failed() {
        let (pool, _folder) = marked().await;
        let mut held = OwnedTransaction::begin(&pool, BEGIN).await.unwrap();
        insert(&mut held, "INSERT INTO kept VALUES (1)").await.unwrap();
        insert(&mut held, "INSERT INTO kept VALUES (1)").await.unwrap_err();
        held.commit().await.unwrap_err();
        assert_eq!(count(&pool).await, 0);
        assert!(is_the_same(&pool).await, "the connection itself is sound");
    }
}
