//! Opening of either database, with its schema brought up to date.

use std::path::Path;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::config::Database;

use super::db::Db;
use super::pools::{FILE_CACHE, PoolLimits};
use super::{Store, StoreError};

/// Number of connections of a command that reads everything once.
const FRUGAL: PoolLimits = PoolLimits { connections: 2, cache: 3 * FILE_CACHE };

impl Store {
    /// Opens the database and migrates its schema. `folder` is the data folder, which contains the
    /// SQLite file; `connections` bounds the pool.
    ///
    /// # Errors
    /// Returns an error when the database cannot be opened, reached or migrated.
    #[boxed]
    pub async fn open(
        database: &Database,
        folder: &Path,
        connections: u32,
    ) -> Result<Self, StoreError> {
        let cache = FILE_CACHE * (u64::from(connections) + 1);
        Self::open_within(database, folder, PoolLimits { connections, cache }).await
    }

    /// Opens the database as [`Store::open`] does, within these limits.
    ///
    /// # Errors
    /// Returns an error when the database cannot be opened, reached or migrated.
    #[boxed]
    pub async fn open_within(
        database: &Database,
        folder: &Path,
        limits: PoolLimits,
    ) -> Result<Self, StoreError> {
        let db = match database {
            Database::Sqlite => Db::sqlite(folder, limits).await?,
            Database::Postgres(url) => {
                Db::postgres(url, database.to_string(), limits.connections).await?
            }
        };
        Self::ready_to_use(db).await
    }

    /// Opens the database as [`Store::open`] does, for a command that reads everything once and
    /// ends.
    ///
    /// # Errors
    /// Returns an error when the database cannot be opened, reached or migrated.
    #[boxed]
    pub async fn open_for_scan(database: &Database, folder: &Path) -> Result<Self, StoreError> {
        Self::open_within(database, folder, FRUGAL).await
    }

    /// Opens a database with data of chatkeep, for a command that reads everything once and ends.
    /// Creates neither a file nor a table where there is none.
    ///
    /// # Errors
    /// [`StoreError::NoData`], or when the database cannot be opened, reached or migrated.
    #[boxed]
    pub async fn open_existing(database: &Database, folder: &Path) -> Result<Self, StoreError> {
        let db = Self::existing(database, folder).await?;
        if !db.has_schema().await? {
            db.close().await;
            return Err(StoreError::NoData);
        }
        Self::ready_to_use(db).await
    }

    pub(super) async fn existing(database: &Database, folder: &Path) -> Result<Db, StoreError> {
        match database {
            Database::Sqlite => Db::existing_sqlite(folder, FRUGAL).await,
            Database::Postgres(url) => {
                Db::postgres(url, database.to_string(), FRUGAL.connections).await
            }
        }
    }

    /// Migrates the schema.
    async fn ready_to_use(db: Db) -> Result<Self, StoreError> {
        db.migrate().await?;
        db.identify().await?;
        let store = Self::over(db);
        store.outbox().adopt_outbox_events().await?;
        Ok(store)
    }

    pub(super) fn over(db: Db) -> Self {
        Self { db: Arc::new(db), uses: Arc::default(), reads: Arc::default() }
    }
}
