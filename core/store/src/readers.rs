//! Connections that read SQLite one statement at a time.
//!
//! The driver's pool pings each connection that comes back to it. A connection to SQLite is a thread,
//! so a ping is a way to another thread and back, as long as that of a short statement. A connection
//! whose statement has ended is therefore kept outside of the pool; one whose statement failed or was
//! cancelled goes back through the pool, which waits until it can be used again, or closes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::Error;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::pools::ACQUIRE_TIMEOUT;

/// Connections that read, as many as their pool allows. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Readers(Arc<Connections>);

#[derive(Debug)]
struct Connections {
    pool: SqlitePool,
    /// As many as the pool allows connections, so that nobody waits for a connection of the pool
    /// while one lies idle here.
    permits: Semaphore,
    idle: Mutex<Vec<PoolConnection<Sqlite>>>,
}

/// Connection for one statement. Dropped before [`Reader::ended`], it goes back through the pool.
#[derive(Debug)]
pub(super) struct Reader<'r> {
    of: &'r Connections,
    connection: PoolConnection<Sqlite>,
    _permit: SemaphorePermit<'r>,
}

impl Readers {
    /// Creates readers with all connections of a pool that nothing else uses.
    pub(super) fn new(pool: SqlitePool) -> Self {
        let permits = Semaphore::new(pool.options().get_max_connections() as usize);
        Self(Arc::new(Connections { pool, permits, idle: Mutex::default() }))
    }

    /// Waits for a free connection.
    ///
    /// # Errors
    /// [`Error::PoolTimedOut`] when none becomes free in time, [`Error::PoolClosed`] after
    /// [`Self::close`], and the reason for which a new one cannot be opened.
    pub(super) async fn acquire(&self) -> Result<Reader<'_>, Error> {
        let of = &*self.0;
        let permit = timeout(ACQUIRE_TIMEOUT, of.permits.acquire()).await;
        let permit = permit.map_err(|_| Error::PoolTimedOut)?.map_err(|_| Error::PoolClosed)?;
        let idle = of.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => of.pool.acquire().await?,
        };
        Ok(Reader { of, connection, _permit: permit })
    }

    /// Closes all connections, and waits for those in use.
    pub(super) async fn close(&self) {
        let of = &*self.0;
        of.permits.close();
        let closed = of.pool.close();
        of.idle().clear();
        closed.await;
    }
}

impl Connections {
    fn idle(&self) -> MutexGuard<'_, Vec<PoolConnection<Sqlite>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader<'_> {
    /// Returns the connection.
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    /// Keeps the connection for the next statement: this one has ended.
    pub(super) fn ended(self) {
        let mut idle = self.of.idle();
        // A pool that is being closed waits for its connections.
        if !self.of.pool.is_closed() {
            idle.push(self.connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chatkeep_core::panics;
    use sqlx::Executor as _;
    use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
    use tempfile::TempDir;

    use super::*;

    async fn readers(connections: u32) -> (Readers, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let options =
            SqliteConnectOptions::new().filename(folder.path().join("db")).create_if_missing(true);
        let pool = SqlitePoolOptions::new().max_connections(connections);
        (Readers::new(pool.connect_with(options).await.unwrap()), folder)
    }

    async fn mark(readers: &Readers) {
        let mut reader = readers.acquire().await.unwrap();
        reader.connection().execute("CREATE TEMP TABLE mark (x)").await.unwrap();
        reader.ended();
    }

    async fn is_marked(readers: &Readers) -> bool {
        let mut reader = readers.acquire().await.unwrap();
        let done = reader.connection().execute("SELECT * FROM mark").await;
        reader.ended();
        done.is_ok()
    }

    #[tokio::test]
    async fn a_connection_is_used_again() {
        let (readers, _folder) = readers(1).await;
        mark(&readers).await;
        assert!(is_marked(&readers).await);
        assert_eq!(readers.0.pool.num_idle(), 0, "it did not go back to the pool");
    }

    #[tokio::test]
    async fn a_cancelled_statement_is_waited_for() {
        const LONG: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
                            WHERE i < 3000000) SELECT count(*) FROM n";
        let (readers, _folder) = readers(1).await;
        mark(&readers).await;
        let mut reader = readers.acquire().await.unwrap();
        let soon = Duration::from_millis(1);
        timeout(soon, reader.connection().execute(LONG)).await.unwrap_err();
        drop(reader);
        assert!(readers.0.idle().is_empty(), "the pool finds out when it can be used");
        assert!(is_marked(&readers).await, "it can be");
    }

    #[tokio::test]
    async fn those_who_wait_get_the_connection_that_is_free_first() {
        let (readers, _folder) = readers(2).await;
        let (one, other) = (readers.acquire().await.unwrap(), readers.acquire().await.unwrap());
        let waiting = panics::spawn("test", {
            let readers = readers.clone();
            async move { readers.acquire().await.map(Reader::ended) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        one.ended();
        waiting.await.unwrap().unwrap().unwrap();
        other.ended();
    }

    #[tokio::test]
    async fn closing_waits_for_connections_in_use() {
        let (readers, _folder) = readers(2).await;
        let used = readers.acquire().await.unwrap();
        readers.acquire().await.unwrap().ended();
        let closing = panics::spawn("test", {
            let readers = readers.clone();
            async move { readers.close().await }
        });
        while !readers.0.pool.is_closed() {
            tokio::task::yield_now().await;
        }
        assert!(matches!(readers.acquire().await, Err(Error::PoolClosed)));
        assert!(!closing.is_finished());
        used.ended();
        closing.await.unwrap().unwrap();
    }
}
