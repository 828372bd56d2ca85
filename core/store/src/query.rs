//! Statements of one text for both databases, and running them on either.

use std::borrow::Cow;
use std::marker::PhantomData;

use chatkeep_core::outage::Work;
use futures_util::TryStreamExt as _;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments as _, Error, FromRow, Postgres, Sqlite};

use crate::StoreError;
use crate::db::{Db, Pools, Sql, Tx, TxConnection};
use crate::param::Param;

/// Row that can be read from either database.
pub(crate) trait StoredRow:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<O> StoredRow for O where
    O: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

/// Statement with its parameters; its rows, if any, are of type `O`.
#[derive(Debug)]
#[must_use = "a statement does nothing until it is run"]
pub(crate) struct Query<'q, O = ()> {
    sql: Sql,
    params: Vec<Param<'q>>,
    rows: PhantomData<fn() -> O>,
}

/// Creates a statement without rows.
pub(crate) fn query<'q>(sql: impl Into<Sql>) -> Query<'q> {
    query_as(sql)
}

/// Creates a statement with rows of type `O`.
pub(crate) fn query_as<'q, O>(sql: impl Into<Sql>) -> Query<'q, O> {
    Query { sql: sql.into(), params: Vec::new(), rows: PhantomData }
}

/// The same wording for both databases.
impl From<&'static str> for Sql {
    fn from(sql: &'static str) -> Self {
        Self { sqlite: sql, postgres: sql }
    }
}

/// Adds the parameters of a statement to arguments of either database.
macro_rules! arguments {
    ($params:expr, $arguments:ty) => {{
        let mut arguments = <$arguments>::default();
        for param in $params {
            match param {
                Param::Int(value) => arguments.add(value),
                Param::Flag(value) => arguments.add(value),
                Param::Text(value) => arguments.add(value.map(Cow::into_owned)),
                Param::Bytes(value) => arguments.add(value.map(Cow::into_owned)),
            }
            .map_err(Error::Encode)?;
        }
        arguments
    }};
}

impl<'q, O> Query<'q, O> {
    /// Adds a parameter: the first is `$1`.
    pub(crate) fn bind(mut self, param: impl Into<Param<'q>>) -> Self {
        self.params.push(param.into());
        self
    }

    fn for_sqlite(self) -> Result<(&'static str, SqliteArguments), Error> {
        Ok((self.sql.sqlite, arguments!(self.params, SqliteArguments)))
    }

    fn for_postgres(self) -> Result<(&'static str, PgArguments), Error> {
        Ok((self.sql.postgres, arguments!(self.params, PgArguments)))
    }
}

/// Runs a statement with rows on a connection of either database with one of sqlx' methods.
macro_rules! fetch {
    (sqlite $query:expr, $method:ident, $conn:expr) => {
        match $query.for_sqlite() {
            Ok((sql, arguments)) => {
                sqlx::query_as_with::<Sqlite, O, _>(sql, arguments).$method($conn).await
            }
            Err(error) => Err(error),
        }
    };
    (postgres $query:expr, $method:ident, $conn:expr) => {
        match $query.for_postgres() {
            Ok((sql, arguments)) => {
                sqlx::query_as_with::<Postgres, O, _>(sql, arguments).$method($conn).await
            }
            Err(error) => Err(error),
        }
    };
}

/// Statements outside of a transaction.
impl Db {
    /// Returns every row.
    pub(crate) async fn fetch_all<O: StoredRow>(
        &self,
        query: Query<'_, O>,
    ) -> Result<Vec<O>, Error> {
        let done = match &self.pools {
            Pools::Sqlite { read, .. } => fetch!(sqlite query, fetch_all, read),
            Pools::Postgres(pool) => fetch!(postgres query, fetch_all, pool),
        };
        self.watch.noted(Work::Reading, done)
    }

    /// Returns the one row that there is.
    pub(crate) async fn fetch_one<O: StoredRow>(&self, query: Query<'_, O>) -> Result<O, Error> {
        let done = match &self.pools {
            Pools::Sqlite { read, .. } => fetch!(sqlite query, fetch_one, read),
            Pools::Postgres(pool) => fetch!(postgres query, fetch_one, pool),
        };
        self.watch.noted(Work::Reading, done)
    }

    /// Returns the first row, if there is one.
    pub(crate) async fn fetch_optional<O: StoredRow>(
        &self,
        query: Query<'_, O>,
    ) -> Result<Option<O>, Error> {
        let done = match &self.pools {
            Pools::Sqlite { read, .. } => fetch!(sqlite query, fetch_optional, read),
            Pools::Postgres(pool) => fetch!(postgres query, fetch_optional, pool),
        };
        self.watch.noted(Work::Reading, done)
    }

    /// Converts every row as it comes, so that a long list is not held twice.
    pub(crate) async fn fetch_mapped<O: StoredRow, T: Send>(
        &self,
        query: Query<'_, O>,
        map: fn(O) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let done = match &self.pools {
            Pools::Sqlite { read, .. } => {
                let (sql, arguments) = query.for_sqlite()?;
                let rows = sqlx::query_as_with::<Sqlite, O, _>(sql, arguments).fetch(read);
                rows.map_err(StoreError::from).and_then(async |row| map(row)).try_collect().await
            }
            Pools::Postgres(pool) => {
                let (sql, arguments) = query.for_postgres()?;
                let rows = sqlx::query_as_with::<Postgres, O, _>(sql, arguments).fetch(pool);
                rows.map_err(StoreError::from).and_then(async |row| map(row)).try_collect().await
            }
        };
        self.watch.noted(Work::Reading, done)
    }
}

/// Statements of a transaction, which is passed as `&mut Tx`.
impl Tx {
    /// Runs a statement, and returns the number of affected rows.
    pub(crate) async fn execute(&mut self, query: Query<'_>) -> Result<u64, Error> {
        let done = match &mut self.held {
            TxConnection::Sqlite(tx) => {
                let done = match query.for_sqlite() {
                    Ok((sql, arguments)) => {
                        sqlx::query_with::<Sqlite, _>(sql, arguments).execute(tx.conn()).await
                    }
                    Err(error) => Err(error),
                };
                tx.note(done).map(|done| done.rows_affected())
            }
            TxConnection::Postgres(tx) => {
                let done = match query.for_postgres() {
                    Ok((sql, arguments)) => {
                        sqlx::query_with::<Postgres, _>(sql, arguments).execute(tx.conn()).await
                    }
                    Err(error) => Err(error),
                };
                tx.note(done).map(|done| done.rows_affected())
            }
        };
        self.has_written |= done.as_ref().is_ok_and(|&rows| rows > 0);
        self.noted(done)
    }

    /// Returns every row.
    pub(crate) async fn fetch_all<O: StoredRow>(
        &mut self,
        query: Query<'_, O>,
    ) -> Result<Vec<O>, Error> {
        let done = match &mut self.held {
            TxConnection::Sqlite(tx) => {
                let done = fetch!(sqlite query, fetch_all, tx.conn());
                tx.note(done)
            }
            TxConnection::Postgres(tx) => {
                let done = fetch!(postgres query, fetch_all, tx.conn());
                tx.note(done)
            }
        };
        self.noted(done)
    }

    /// Returns the one row that there is.
    pub(crate) async fn fetch_one<O: StoredRow>(
        &mut self,
        query: Query<'_, O>,
    ) -> Result<O, Error> {
        let done = match &mut self.held {
            TxConnection::Sqlite(tx) => {
                let done = fetch!(sqlite query, fetch_one, tx.conn());
                tx.note(done)
            }
            TxConnection::Postgres(tx) => {
                let done = fetch!(postgres query, fetch_one, tx.conn());
                tx.note(done)
            }
        };
        self.noted(done)
    }

    /// Returns the first row, if there is one.
    pub(crate) async fn fetch_optional<O: StoredRow>(
        &mut self,
        query: Query<'_, O>,
    ) -> Result<Option<O>, Error> {
        let done = match &mut self.held {
            TxConnection::Sqlite(tx) => {
                let done = fetch!(sqlite query, fetch_optional, tx.conn());
                tx.note(done)
            }
            TxConnection::Postgres(tx) => {
                let done = fetch!(postgres query, fetch_optional, tx.conn());
                tx.note(done)
            }
        };
        self.noted(done)
    }

    /// Notes a failure that may be an outage.
    fn noted<T>(&self, done: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &done {
            self.watch.note_failure(error);
        }
        done
    }
}
