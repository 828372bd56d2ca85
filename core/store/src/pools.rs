//! Pools of connections to both databases, and their settings.

use std::num::NonZeroUsize;
use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use chatkeep_core::config::Database;
use chatkeep_core::sqlite::BUSY_TIMEOUT;
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};
use tokio::sync::Semaphore;

use super::StoreError;
use super::address_options::check_options;
use super::availability::{Watch, why_not};
use super::db::{Db, Pools};
use super::read_pool::ReadPool;

/// Timeout for a free connection; beyond it the database counts as down or overloaded.
pub(super) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Name of the SQLite file in the data folder.
pub(super) const FILE: &str = "chatkeep.db";

/// Timeout for the one connection to SQLite that writes: whoever has it may wait for another process
/// as long as [`BUSY_TIMEOUT`], and that is no reason for those behind it to give up.
const WRITER_TIMEOUT: Duration = BUSY_TIMEOUT.saturating_add(ACQUIRE_TIMEOUT);

/// Idle time after which a connection to PostgreSQL is tested before it is used: a test is a way to
/// the server and back. One that breaks within this time fails once, as it would in the middle of a
/// statement, and is replaced.
const UNTESTED: Duration = Duration::from_secs(1);

/// Bytes of page cache for the connection to SQLite that writes and for each that reads statements,
/// unless another total is set.
pub(super) const FILE_CACHE: u64 = 16 * 1024 * 1024;
/// Number of rows that a connection to SQLite reads ahead of whoever takes them.
const ROWS: usize = 1_024;

/// Statements for new connections to PostgreSQL. Its estimates of lookups by a JSON list are so high
/// that it would compile them to machine code, which takes a hundred times as long as running them, or
/// start workers for them, which takes 8 ms. And it would plan a statement anew at each call, which
/// takes longer than most of them over partitions with many indexes; no value of a parameter asks for
/// another plan.
///
/// Nothing of ours holds a lock for as long as `lock_timeout`: a statement that waits longer waits for
/// something else, such as a transaction that somebody has forgotten. It fails as when the server is
/// down, and its caller waits without a connection. Without a timeout the server's process would go on
/// waiting after its client has gone. A `statement_timeout` that the server has for others would break
/// off a large batch at each attempt.
///
/// A process that is frozen, or whose machine is gone, ends no transaction: the server does, before
/// anybody who waits for its locks gives up.
const SESSION: &str = "SET jit = off; SET max_parallel_workers_per_gather = 0; \
                       SET plan_cache_mode = force_generic_plan; SET lock_timeout = '30s'; \
                       SET statement_timeout = 0; \
                       SET idle_in_transaction_session_timeout = '15s'; \
                       SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; \
                       SET tcp_keepalives_count = 3; SET tcp_user_timeout = '25s'";

/// Returns the options of connections to a PostgreSQL server.
pub(super) fn server_options(url: &SecretString) -> Result<PgConnectOptions, StoreError> {
    let address = url.expose_secret();
    check_options(address)?;
    let options = PgConnectOptions::from_str(address).map_err(|_| StoreError::BadUrl)?;
    let is_named = options.get_application_name().is_some();
    let options = if is_named { options } else { options.application_name("chatkeep") };
    Ok(options.disable_statement_logging())
}

/// Checks the address of a database without connecting to it.
///
/// # Errors
/// Returns an error if it cannot be parsed, has an unknown option, or one of unknown value, such as
/// `sslmode`.
pub fn check_address(database: &Database) -> Result<(), StoreError> {
    match database {
        Database::Sqlite => Ok(()),
        Database::Postgres(url) => server_options(url).map(drop),
    }
}

/// Maximum number of connections to SQLite that read statements, for each processor. What they read is
/// mostly in memory: more of them at once share the processors and the page caches among more threads.
const READERS_PER_PROCESSOR: u32 = 2;
/// Least value of that limit, however few processors there are: a statement may wait for the disk.
const LEAST_READERS: u32 = 4;

/// Returns the number of connections to SQLite that read statements, of a pool of at most so many.
fn readers(connections: u32) -> u32 {
    let processors = available_parallelism().map_or(1, NonZeroUsize::get);
    let processors = u32::try_from(processors).unwrap_or(u32::MAX);
    connections.clamp(1, processors.saturating_mul(READERS_PER_PROCESSOR).max(LEAST_READERS))
}

/// Limits of the connections to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Maximum number of connections; to SQLite, of those for snapshots, and again of those that read
    /// statements, which are also at most two for each processor, or four.
    pub connections: u32,
    /// Memory of the page caches of all connections to SQLite together, in bytes.
    pub cache: u64,
}

impl Db {
    /// Opens (and creates) the SQLite file of a data folder.
    pub(super) async fn sqlite(folder: &Path, limits: PoolLimits) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let file = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
        Self::sqlite_file(&path, file, limits).await
    }

    /// Opens the SQLite file of a data folder if it exists.
    pub(super) async fn existing_sqlite(
        folder: &Path,
        limits: PoolLimits,
    ) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        if !path.try_exists().map_err(sqlx::Error::Io)? {
            return Err(StoreError::NoData);
        }
        let file = SqliteConnectOptions::new().filename(&path).create_if_missing(false);
        Self::sqlite_file(&path, file, limits).await
    }

    async fn sqlite_file(
        path: &Path,
        file: SqliteConnectOptions,
        PoolLimits { connections, cache }: PoolLimits,
    ) -> Result<Self, StoreError> {
        // A connection forgets its pages when another one has written: what those that read share
        // is used once mostly, and the writer has the other half. For the same reason the file is
        // not mapped into memory, which would be mapped anew after each write.
        let readers = readers(connections);
        let share = |connections: u32| cache / 4 / u64::from(connections.max(1));
        let cached = |options: SqliteConnectOptions, bytes: u64| {
            // Less would not hold the way to one row.
            options.pragma("cache_size", format!("-{}", (bytes / 1_024).max(64)))
        };
        let options = file
            .journal_mode(SqliteJournalMode::Wal)
            // The bus forgets an event once it is stored, so stored data must survive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true)
            .pragma("temp_store", "memory")
            // In pages. A batch of many channels changes some thousands, and most of them again with
            // the next batch: they are copied from the log less often. The log of 64 MiB is gone
            // with the next periodic checkpoint.
            .pragma("wal_autocheckpoint", "16000")
            // Retracted content does not remain in free pages.
            .pragma("secure_delete", "on")
            // Rows cross from the thread of the connection to the one that waits for them: each
            // time the buffer is full, both have to be woken.
            .row_buffer_size(ROWS)
            .disable_statement_logging();
        let pool = |size, timeout| {
            SqlitePoolOptions::new()
                .max_connections(size)
                .acquire_timeout(timeout)
                // A file does not hang up; a test would be a way to another thread and back.
                .test_before_acquire(false)
        };
        let write = cached(options.clone(), cache / 2);
        let write = pool(1, WRITER_TIMEOUT).connect_with(write).await?;
        let options = options.read_only(true);
        let snapshots = cached(options.clone(), share(connections));
        let snapshots = pool(connections, ACQUIRE_TIMEOUT).connect_lazy_with(snapshots);
        let read = cached(options, share(readers));
        let read = ReadPool::new(pool(readers, ACQUIRE_TIMEOUT).connect_with(read).await?);
        let bulk = Arc::new(Semaphore::new(1));
        Ok(Self::new(Pools::Sqlite { read, snapshots, write, bulk }, Watch::file(path)))
    }

    /// Connects to PostgreSQL; `address` is its URL as it may be shown.
    pub(super) async fn postgres(
        url: &SecretString,
        address: String,
        connections: u32,
    ) -> Result<Self, StoreError> {
        let options = server_options(url)?;
        let watch = Watch::server(address, options.clone());
        let identity = watch.identity.clone();
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .after_connect(move |connection, _| {
                let identity = identity.clone();
                Box::pin(async move {
                    connection.execute(SESSION).await?;
                    identity.check(connection).await
                })
            })
            .test_before_acquire(false)
            .before_acquire(|connection, pooled| {
                Box::pin(async move {
                    if pooled.idle_for >= UNTESTED {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            });
        let pool = match pool.connect_with(options.clone()).await {
            // The pool tries for as long as it may, and keeps to itself why it could not.
            Err(error @ sqlx::Error::PoolTimedOut) => {
                return Err(why_not(&options, &watch.identity).await.unwrap_or(error).into());
            }
            pool => pool?,
        };
        Ok(Self::new(Pools::Postgres(pool), watch))
    }
}
