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
pub(super) struct ReadPool(Arc<ReadPoolState>);

#[derive(Debug)]
struct ReadPoolState {
    pool: SqlitePool,
    /// As many as the pool allows connections, so that nobody waits for a connection of the pool
    /// while one lies idle here.
    permits: Semaphore,
    idle: Mutex<Vec<PoolConnection<Sqlite>>>,
}

/// Connection for one statement. Dropped before [`ReadConnection::ended`], it goes back through the
/// pool.
#[derive(Debug)]
pub(super) struct ReadConnection<'r> {
    of: &'r ReadPoolState,
    connection: PoolConnection<Sqlite>,
    _permit: SemaphorePermit<'r>,
}

impl ReadPool {
    /// Creates a pool of all connections of the driver's `pool`, which nothing else uses.
    pub(super) fn new(pool: SqlitePool) -> Self {
        let permits = Semaphore::new(pool.options().get_max_connections() as usize);
        Self(Arc::new(ReadPoolState { pool, permits, idle: Mutex::default() }))
    }

    /// Waits for a free connection.
    ///
    /// # Errors
    /// [`Error::PoolTimedOut`] when none becomes free in time, [`Error::PoolClosed`] after
    /// [`Self::close`], and the reason for which a new one cannot be opened.
    pub(super) async fn acquire(&self) -> Result<ReadConnection<'_>, Error> {
        let of = &*self.0;
        let permit = timeout(ACQUIRE_TIMEOUT, of.permits.acquire()).await;
        let permit = permit.map_err(|_| Error::PoolTimedOut)?.map_err(|_| Error::PoolClosed)?;
        let idle = of.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => of.pool.acquire().await?,
        };
        Ok(ReadConnection { of, connection, _permit: permit })
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

impl ReadPoolState {
    fn idle(&self) -> MutexGuard<'_, Vec<PoolConnection<Sqlite>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ReadPoolState {
    /// Closes the connections, which the driver's pool takes back only within a runtime.
    fn drop(&mut self) {
        for connection in self.idle().drain(..) {
            drop(connection.detach());
        }
    }
}

impl ReadConnection<'_> {
    /// Returns the connection of the driver.
    pub(super) fn driver(&mut self) -> &mut SqliteConnection {
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

    async fn read_pool(connections: u32) -> (ReadPool, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let options =
            SqliteConnectOptions::new().filename(folder.path().join("db")).create_if_missing(true);
        let driver = SqlitePoolOptions::new().max_connections(connections);
        (ReadPool::new(driver.connect_with(options).await.unwrap()), folder)
    }

    async fn mark(pool: &ReadPool) {
        let mut connection = pool.acquire().await.unwrap();
        connection.driver().execute("CREATE TEMP TABLE mark (x)").await.unwrap();
        connection.ended();
    }

    async fn is_marked(pool: &ReadPool) -> bool {
        let mut connection = pool.acquire().await.unwrap();
        let done = connection.driver().execute("SELECT * FROM mark").await;
        connection.ended();
        done.is_ok()
    }

    #[tokio::test]
    async fn a_connection_is_used_again() {
        let (pool, _folder) = read_pool(1).await;
        mark(&pool).await;
        assert!(is_marked(&pool).await);
        assert_eq!(pool.0.pool.num_idle(), 0, "it did not go back to the pool");
    }

    #[test]
    fn it_may_outlive_its_runtime() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (pool, _folder) = runtime.block_on(read_pool(1));
        runtime.block_on(mark(&pool));
        drop(runtime);
        drop(pool);
    }

    #[tokio::test]
    async fn a_cancelled_statement_is_waited_for() {
        const LONG: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
                            WHERE i < 3000000) SELECT count(*) FROM n";
        let (pool, _folder) = read_pool(1).await;
        mark(&pool).await;
        let mut connection = pool.acquire().await.unwrap();
        let soon = Duration::from_millis(1);
        timeout(soon, connection.driver().execute(LONG)).await.unwrap_err();
        drop(connection);
        assert!(pool.0.idle().is_empty(), "the pool finds out when it can be used");
        assert!(is_marked(&pool).await, "it can be");
    }

    #[tokio::test]
    async fn those_who_wait_get_the_connection_that_is_free_first() {
        let (pool, _folder) = read_pool(2).await;
        let (one, other) = (pool.acquire().await.unwrap(), pool.acquire().await.unwrap());
        let waiting = panics::spawn("test", {
            let pool = pool.clone();
            async move { pool.acquire().await.map(ReadConnection::ended) }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        one.ended();
        waiting.await.unwrap().unwrap().unwrap();
        other.ended();
    }

    #[tokio::test]
    async fn closing_waits_for_connections_in_use() {
        let (pool, _folder) = read_pool(2).await;
        let used = pool.acquire().await.unwrap();
        pool.acquire().await.unwrap().ended();
        let closing = panics::spawn("test", {
            let pool = pool.clone();
            async move { pool.close().await }
        });
        while !pool.0.pool.is_closed() {
            tokio::task::yield_now().await;
        }
        assert!(matches!(pool.acquire().await, Err(Error::PoolClosed)));
        assert!(!closing.is_finished());
        used.ended();
        closing.await.unwrap().unwrap();
    }
}
