//! Handles of both databases: transactions, and their commit. Databases are opened by
//! [`crate::pools`], statements run by [`crate::query`].

use std::sync::Arc;

use chatkeep_core::outage::Work;
use chatkeep_core::sqlite::{EMPTY_WAL, WAIT_FOR_NONE, WAIT_FOR_OTHERS};
use secrecy::SecretString;
use sqlx::postgres::PgPool;
use sqlx::sqlite::SqlitePool;
use sqlx::{Postgres, Sqlite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::StoreError;
use super::availability::Watch;
use super::idempotency::mark_claim;
use super::pools::server_options;
use super::query::query_as;
use super::read_pool::ReadPool;
use super::transaction::OwnedTransaction;

/// Statement that differs between the two databases, side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sql {
    pub(super) sqlite: &'static str,
    pub(super) postgres: &'static str,
}

/// Builds a SELECT whose rows must not change until the transaction ends. SQLite has one writer at
/// a time, so there it is a plain SELECT.
macro_rules! locking {
    ($text:expr) => {
        locking!($text, " FOR UPDATE")
    };
    ($text:expr, $lock:literal) => {
        $crate::db::Sql { sqlite: $text, postgres: concat!($text, $lock) }
    };
}

/// Database handle.
#[derive(Clone, Debug)]
pub(super) struct Db {
    pub(super) pools: Pools,
    /// Counter of the transactions committed here that added to the event log.
    pub(super) logged: watch::Sender<u64>,
    pub(super) watch: Watch,
}

/// Connection pools of either database.
#[derive(Clone, Debug)]
pub(super) enum Pools {
    /// Readers beside one writer: waiting for the writer is a queue, not a busy loop. Snapshots,
    /// which may take long, have connections of their own.
    Sqlite {
        read: ReadPool,
        snapshots: SqlitePool,
        write: SqlitePool,
        /// Permit of the one bulk transaction that has the writer or is in the queue for it.
        bulk: Arc<Semaphore>,
    },
    Postgres(PgPool),
}

/// Transaction. Dropped without [`Tx::commit`], it is rolled back.
#[derive(Debug)]
pub(super) struct Tx {
    pub(super) held: TxConnection,
    logged: watch::Sender<u64>,
    has_logged: bool,
    pub(super) watch: Watch,
    /// The transaction changed something.
    pub(super) has_written: bool,
    /// Permit of a bulk transaction on SQLite; released after the connection, as the last field.
    _bulk: Option<OwnedSemaphorePermit>,
}

/// Connection of a transaction to either database.
#[derive(Debug)]
pub(super) enum TxConnection {
    Sqlite(OwnedTransaction<Sqlite>),
    Postgres(OwnedTransaction<Postgres>),
}

pub(super) use locking;

impl Db {
    /// Makes new connections to PostgreSQL with the credentials of `url`; those that are open keep
    /// theirs. Does nothing for SQLite.
    pub(super) fn replace_credentials(&self, url: &SecretString) -> Result<(), StoreError> {
        if let Pools::Postgres(pool) = &self.pools {
            let options = server_options(url)?;
            pool.set_connect_options(options.clone());
            self.watch.replace_options(options);
        }
        Ok(())
    }

    pub(super) fn new(pools: Pools, watch: Watch) -> Self {
        Self { pools, logged: watch::Sender::new(0), watch }
    }

    fn tx(&self, held: TxConnection) -> Tx {
        let (logged, watch) = (self.logged.clone(), self.watch.clone());
        Tx { held, logged, has_logged: false, watch, has_written: false, _bulk: None }
    }

    /// Starts a write transaction, the only way to one: plain `BEGIN` on SQLite takes the write
    /// lock too late and fails under contention.
    pub(super) async fn begin(&self) -> Result<Tx, StoreError> {
        self.watch.admit()?;
        let begun = match &self.pools {
            Pools::Sqlite { write, .. } => {
                OwnedTransaction::begin(write, "BEGIN IMMEDIATE").await.map(TxConnection::Sqlite)
            }
            Pools::Postgres(pool) => {
                OwnedTransaction::begin(pool, "BEGIN").await.map(TxConnection::Postgres)
            }
        };
        Ok(self.tx(self.watch.noted(Work::Reading, begun)?))
    }

    /// Starts a write transaction that may change many rows. On SQLite one of them at a time is in
    /// the queue for the writer: a small transaction, such as that of a person who waits for a page,
    /// waits for one of them at most, however many there are.
    pub(super) async fn begin_bulk(&self) -> Result<Tx, StoreError> {
        let permit = match &self.pools {
            // Never closed.
            Pools::Sqlite { bulk, .. } => Arc::clone(bulk).acquire_owned().await.ok(),
            Pools::Postgres(_) => None,
        };
        Ok(Tx { _bulk: permit, ..self.begin().await? })
    }

    /// Starts a read transaction on one consistent snapshot.
    pub(super) async fn snapshot(&self) -> Result<Tx, StoreError> {
        const POSTGRES: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        self.watch.admit()?;
        let begun = match &self.pools {
            Pools::Sqlite { snapshots, .. } => {
                OwnedTransaction::begin(snapshots, "BEGIN DEFERRED").await.map(TxConnection::Sqlite)
            }
            Pools::Postgres(pool) => {
                OwnedTransaction::begin(pool, POSTGRES).await.map(TxConnection::Postgres)
            }
        };
        Ok(self.tx(self.watch.noted(Work::Reading, begun)?))
    }

    /// Returns `true` if some version of chatkeep has created its tables.
    pub(super) async fn has_schema(&self) -> Result<bool, StoreError> {
        const SQLITE: &str = "SELECT COUNT(*) FROM sqlite_master WHERE name = '_sqlx_migrations'";
        const POSTGRES: &str = "SELECT CAST(COUNT(to_regclass('_sqlx_migrations')) AS BIGINT)";
        let query = query_as(Sql { sqlite: SQLITE, postgres: POSTGRES });
        let (tables,): (i64,) = self.fetch_one(query).await?;
        Ok(tables > 0)
    }

    /// Runs a WAL checkpoint of SQLite and truncates the log unless there are readers: retracted
    /// content stays in the log until then. Returns whether the log is empty. PostgreSQL needs no
    /// such call.
    pub(super) async fn checkpoint_wal(&self) -> Result<bool, StoreError> {
        let Pools::Sqlite { write, .. } = &self.pools else {
            return Ok(true);
        };
        let mut held = OwnedTransaction::plain(write).await?;
        // A reader may take long, and all writers would wait for it.
        sqlx::query(WAIT_FOR_NONE).execute(held.conn()).await?;
        // Its row tells whether somebody was in the way; only other obstacles are errors.
        let busy: i64 = sqlx::query_scalar(EMPTY_WAL).fetch_one(held.conn()).await?;
        sqlx::query(WAIT_FOR_OTHERS).execute(held.conn()).await?;
        held.release();
        Ok(busy == 0)
    }

    pub(super) async fn close(&self) {
        self.watch.availability.close();
        match &self.pools {
            Pools::Sqlite { read, snapshots, write, .. } => {
                read.close().await;
                snapshots.close().await;
                write.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

impl Tx {
    /// Marks that rows were added to the event log: its readers are woken by the commit.
    pub(super) fn note_logged(&mut self) {
        self.has_logged = true;
    }

    /// Commits, and marks the claim that this task works under as one whose request has changed
    /// something.
    pub(super) async fn commit(mut self) -> Result<(), StoreError> {
        mark_claim(&mut self).await?;
        let done = match self.held {
            TxConnection::Sqlite(tx) => tx.commit().await,
            TxConnection::Postgres(tx) => tx.commit().await,
        };
        self.watch.noted(if self.has_written { Work::Writing } else { Work::Reading }, done)?;
        if self.has_logged {
            self.logged.send_modify(|commits| *commits += 1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::pools::PoolLimits;

    #[tokio::test]
    async fn a_small_transaction_passes_bulk_ones_that_wait() {
        const TIMEOUT: Duration = Duration::from_secs(5);
        let folder = tempfile::tempdir().unwrap();
        let limits = PoolLimits { connections: 1, cache: 1 << 20 };
        let db = Db::sqlite(folder.path(), limits).await.unwrap();
        let first = db.begin_bulk().await.unwrap();
        let mut second = pin!(db.begin_bulk());
        let mut third = pin!(db.begin_bulk());
        let mut small = pin!(db.begin());
        for waiting in
            [&mut second as &mut (dyn Future<Output = _> + Unpin), &mut third, &mut small]
        {
            assert!(timeout(Duration::ZERO, waiting).await.is_err(), "there is one writer");
        }
        first.commit().await.unwrap();
        let small = timeout(TIMEOUT, small).await.unwrap().unwrap();
        assert!(timeout(Duration::ZERO, &mut second).await.is_err(), "the small one has it");
        small.commit().await.unwrap();
        let second = timeout(TIMEOUT, second).await.unwrap().unwrap();
        drop(second);
        timeout(TIMEOUT, third).await.unwrap().unwrap().commit().await.unwrap();
        db.close().await;
    }

    #[tokio::test]
    async fn a_checkpoint_tells_that_a_reader_kept_the_log_from_being_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let limits = PoolLimits { connections: 1, cache: 1 << 20 };
        let db = Db::sqlite(folder.path(), limits).await.unwrap();
        let log = folder.path().join("chatkeep.db-wal");
        let Pools::Sqlite { write, .. } = &db.pools else { unreachable!("it is SQLite") };
        sqlx::query("CREATE TABLE kept (id INTEGER PRIMARY KEY)").execute(write).await.unwrap();
        let mut reader = db.snapshot().await.unwrap();
        let rows = query_as("SELECT COUNT(*) FROM kept");
        let _: (i64,) = reader.fetch_one(rows).await.unwrap();
        sqlx::query("INSERT INTO kept VALUES (1)").execute(write).await.unwrap();
        assert!(!db.checkpoint_wal().await.unwrap());
        assert!(log.metadata().unwrap().len() > 0);
        reader.commit().await.unwrap();
        assert!(db.checkpoint_wal().await.unwrap());
        assert_eq!(log.metadata().unwrap().len(), 0);
        db.close().await;
    }
}
