//! The two databases behind one set of methods: which one it is, how a transaction starts, and
//! the two macros that run the same query on either.

use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Postgres, Sqlite, Transaction};

use super::StoreError;
use super::idempotency::mark_claim;

/// Waiting for a free connection longer than this means the database is down or overloaded.
const ACQUIRE: Duration = Duration::from_secs(5);

/// SQLite waits this long for another process that writes.
const BUSY: Duration = Duration::from_secs(10);

/// Bytes of the SQLite file that each connection of a service maps into memory.
pub(super) const MAPPED: &str = "268435456";
/// The same for a command that reads everything once: mapping would only fill the memory.
pub(super) const UNMAPPED: &str = "0";

/// A statement that the two databases need worded differently, side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sql {
    pub(super) sqlite: &'static str,
    pub(super) postgres: &'static str,
}

/// A SELECT whose rows must not change until the transaction ends. SQLite has one writer at a
/// time, so there it is a plain SELECT.
macro_rules! locking {
    ($text:literal) => {
        locking!($text, " FOR UPDATE")
    };
    ($text:literal, $lock:literal) => {
        $crate::store::db::Sql { sqlite: $text, postgres: concat!($text, $lock) }
    };
}

/// The database.
#[derive(Clone, Debug)]
pub(super) enum Db {
    /// Readers beside one writer: waiting for the writer is a queue, not a busy loop.
    Sqlite {
        read: SqlitePool,
        write: SqlitePool,
    },
    Postgres(PgPool),
}

/// A transaction. Dropped without [`Tx::commit`], it is rolled back.
#[derive(Debug)]
pub(super) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// Runs one query outside a transaction: `read!(self, c => query(SQL).bind(x).fetch_all(c))`.
macro_rules! read {
    ($store:expr, $conn:ident => $query:expr) => {
        match &$store.db {
            $crate::store::db::Db::Sqlite { read: $conn, .. } => $query.await,
            $crate::store::db::Db::Postgres($conn) => $query.await,
        }
    };
}

/// Runs one fetching query inside a transaction: `run!(tx, c => query_as(SQL).fetch_all(c))`, or
/// with a two-worded statement `run!(tx, SQL, |sql, c| query_as(sql).fetch_all(c))`.
macro_rules! run {
    ($tx:expr, $conn:ident => $query:expr) => {
        match &mut *$tx {
            $crate::store::db::Tx::Sqlite(tx) => {
                let $conn = &mut **tx;
                $query.await
            }
            $crate::store::db::Tx::Postgres(tx) => {
                let $conn = &mut **tx;
                $query.await
            }
        }
    };
    ($tx:expr, $both:expr, |$sql:ident, $conn:ident| $query:expr) => {
        match &mut *$tx {
            $crate::store::db::Tx::Sqlite(tx) => {
                let ($sql, $conn) = ($both.sqlite, &mut **tx);
                $query.await
            }
            $crate::store::db::Tx::Postgres(tx) => {
                let ($sql, $conn) = ($both.postgres, &mut **tx);
                $query.await
            }
        }
    };
}

/// Executes one statement inside a transaction and gives the number of rows it touched:
/// `exec!(tx, query(SQL).bind(x))`.
macro_rules! exec {
    ($tx:expr, $query:expr) => {
        match &mut *$tx {
            $crate::store::db::Tx::Sqlite(tx) => {
                $query.execute(&mut **tx).await.map(|done| done.rows_affected())
            }
            $crate::store::db::Tx::Postgres(tx) => {
                $query.execute(&mut **tx).await.map(|done| done.rows_affected())
            }
        }
    };
}

pub(super) use {exec, locking, read, run};

impl Db {
    /// Opens (and creates) the SQLite file of a data folder.
    pub(super) async fn sqlite(
        folder: &Path,
        connections: u32,
        mapped: &'static str,
    ) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(folder.join("chatkeep.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // The bus forgets an event once it is stored, so storing must outlive a power cut.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY)
            .foreign_keys(true)
            .pragma("cache_size", "-16000")
            .pragma("mmap_size", mapped)
            .pragma("temp_store", "memory")
            // What was taken back is not left lying in pages that are free.
            .pragma("secure_delete", "on")
            .disable_statement_logging();
        let pool = |size| SqlitePoolOptions::new().max_connections(size).acquire_timeout(ACQUIRE);
        let write = pool(1).connect_with(options.clone()).await?;
        let read = pool(connections).connect_with(options.read_only(true)).await?;
        Ok(Self::Sqlite { read, write })
    }

    /// Connects to PostgreSQL.
    pub(super) async fn postgres(url: &SecretString, connections: u32) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(url.expose_secret())
            .map_err(|_| StoreError::BadUrl)?
            .application_name("chatkeep")
            .disable_statement_logging();
        let pool = PgPoolOptions::new().max_connections(connections).acquire_timeout(ACQUIRE);
        Ok(Self::Postgres(pool.connect_with(options).await?))
    }

    /// Starts a write transaction, the only way to one: plain `BEGIN` on SQLite takes the write
    /// lock too late and fails under contention.
    pub(super) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(match self {
            Self::Sqlite { write, .. } => Tx::Sqlite(write.begin_with("BEGIN IMMEDIATE").await?),
            #[expect(
                clippy::disallowed_methods,
                reason = "the one place; PostgreSQL needs no more"
            )]
            Self::Postgres(pool) => Tx::Postgres(pool.begin().await?),
        })
    }

    /// Starts a transaction that reads one state of everything.
    pub(super) async fn snapshot(&self) -> Result<Tx, StoreError> {
        const POSTGRES: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        Ok(match self {
            Self::Sqlite { read, .. } => Tx::Sqlite(read.begin_with("BEGIN DEFERRED").await?),
            Self::Postgres(pool) => Tx::Postgres(pool.begin_with(POSTGRES).await?),
        })
    }

    /// Brings the schema up to date. Many processes may do so at once.
    pub(super) async fn migrate(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { write, .. } => sqlx::migrate!("../migrations/sqlite").run(write).await,
            Self::Postgres(pool) => sqlx::migrate!("../migrations/postgres").run(pool).await,
        }
        .map_err(StoreError::from)
    }

    /// Moves what SQLite's log holds into the file and empties it, unless somebody reads: what was
    /// taken back stays in the log until then. PostgreSQL looks after itself.
    pub(super) async fn scrub(&self) -> Result<(), StoreError> {
        let Self::Sqlite { write, .. } = self else {
            return Ok(());
        };
        let mut conn = write.acquire().await?;
        // A reader may take long, and everybody who writes would wait for it.
        sqlx::query("PRAGMA busy_timeout = 0").execute(&mut *conn).await?;
        let done = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *conn).await;
        let wait = format!("PRAGMA busy_timeout = {}", BUSY.as_millis());
        sqlx::query(sqlx::AssertSqlSafe(wait)).execute(&mut *conn).await?;
        done?;
        Ok(())
    }

    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite { read, write } => {
                read.close().await;
                write.close().await;
            }
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

impl Tx {
    /// Commits, and notes with it that the request whose claim this task works under has changed
    /// something.
    pub(super) async fn commit(mut self) -> Result<(), StoreError> {
        mark_claim(&mut self).await?;
        match self {
            Self::Sqlite(tx) => tx.commit().await?,
            Self::Postgres(tx) => tx.commit().await?,
        }
        Ok(())
    }
}
