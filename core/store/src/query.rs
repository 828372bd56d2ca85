//! Statements of one text for both databases, and running them on either.

use std::borrow::Cow;
use std::marker::PhantomData;

use chatkeep_core::outage::Work;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, Error, Executor as _, Postgres, Sqlite};

use crate::StoreError;
use crate::availability::MaybeSql;
use crate::db::{Db, Pools, Sql, Tx, TxConnection};
use crate::fault::breaks_connection;
use crate::param::Param;
use crate::rows::{Collector, Extent, RowSink, StoredRow, send_rows};

/// Statement as the driver of SQLite takes it.
type SqliteQuery = sqlx::query::Query<'static, Sqlite, SqliteArguments>;
/// Statement as the driver of PostgreSQL takes it.
type PgQuery = sqlx::query::Query<'static, Postgres, PgArguments>;

/// Statement with its parameters; its rows, if any, are of type `O`.
#[derive(Debug)]
#[must_use = "a statement does nothing until it is run"]
pub(crate) struct Query<'q, O = ()> {
    statement: Statement<'q>,
    rows: PhantomData<fn() -> O>,
}

/// Text and parameters of a statement, without the type of its rows: whatever runs it is compiled
/// once, and not for each type.
#[derive(Debug)]
struct Statement<'q> {
    sql: Sql,
    params: Vec<Param<'q>>,
}

/// Creates a statement without rows.
pub(crate) fn query<'q>(sql: impl Into<Sql>) -> Query<'q> {
    query_as(sql)
}

/// Creates a statement with rows of type `O`.
pub(crate) fn query_as<'q, O>(sql: impl Into<Sql>) -> Query<'q, O> {
    Query { statement: Statement { sql: sql.into(), params: Vec::new() }, rows: PhantomData }
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
        self.statement.params.push(param.into());
        self
    }
}

impl Statement<'_> {
    fn for_sqlite(self) -> Result<SqliteQuery, Error> {
        let arguments = arguments!(self.params, SqliteArguments);
        Ok(sqlx::query_with(self.sql.sqlite, arguments))
    }

    fn for_postgres(self) -> Result<PgQuery, Error> {
        let arguments = arguments!(self.params, PgArguments);
        Ok(sqlx::query_with(self.sql.postgres, arguments))
    }
}

/// Statements outside of a transaction.
impl Db {
    /// Returns every row.
    pub(crate) async fn fetch_all<O: StoredRow>(
        &self,
        query: Query<'_, O>,
    ) -> Result<Vec<O>, Error> {
        self.collect(query, Extent::All, Ok::<O, Error>).await
    }

    /// Returns the one row that there is.
    pub(crate) async fn fetch_one<O: StoredRow>(&self, query: Query<'_, O>) -> Result<O, Error> {
        self.fetch_optional(query).await?.ok_or(Error::RowNotFound)
    }

    /// Returns the first row, if there is one.
    pub(crate) async fn fetch_optional<O: StoredRow>(
        &self,
        query: Query<'_, O>,
    ) -> Result<Option<O>, Error> {
        Ok(self.collect(query, Extent::First, Ok::<O, Error>).await?.pop())
    }

    /// Returns every row of a statement that, on SQLite, returns them as one JSON value. There every
    /// row is handed from one thread to another, and each of its values is allocated by itself: for
    /// a page of rows with many columns that takes longer than to find them.
    pub(crate) async fn fetch_packed<O: StoredRow + DeserializeOwned>(
        &self,
        query: Query<'_, O>,
    ) -> Result<Vec<O>, Error> {
        match self.pools {
            Pools::Sqlite { .. } => {
                let query = Query { statement: query.statement, rows: PhantomData };
                let (rows,): (String,) = self.fetch_one(query).await?;
                serde_json::from_str(&rows).map_err(|error| Error::Decode(Box::new(error)))
            }
            Pools::Postgres(_) => self.fetch_all(query).await,
        }
    }

    /// Returns the first row of whichever database there is, also where all other work is refused.
    pub(crate) async fn fetch_of_any<O: StoredRow>(
        &self,
        query: Query<'_, O>,
    ) -> Result<Option<O>, Error> {
        let mut rows = Collector::new(Ok::<O, Error>);
        let done = self.run(query.statement, Extent::First, &mut rows).await;
        Ok(rows.finish(done)?.pop())
    }

    /// Converts every row as it comes, so that a long list is not held twice.
    pub(crate) async fn fetch_mapped<O: StoredRow, T: Send>(
        &self,
        query: Query<'_, O>,
        map: fn(O) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.collect(query, Extent::All, map).await
    }

    async fn collect<O: StoredRow, T: Send, E: MaybeSql + From<Error> + Send>(
        &self,
        query: Query<'_, O>,
        extent: Extent,
        convert: fn(O) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        self.watch.admit()?;
        let mut rows = Collector::new(convert);
        let done = self.run(query.statement, extent, &mut rows).await;
        self.watch.noted(Work::Reading, rows.finish(done))
    }

    fn run<'a>(
        &'a self,
        statement: Statement<'a>,
        extent: Extent,
        rows: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            match &self.pools {
                Pools::Sqlite { read, .. } => {
                    let query = statement.for_sqlite()?;
                    let mut connection = read.acquire().await?;
                    send_rows(connection.driver(), query, extent, |row| rows.sqlite(row)).await?;
                    connection.ended();
                    Ok(())
                }
                Pools::Postgres(pool) => {
                    let query = statement.for_postgres()?;
                    let mut connection = pool.acquire().await?;
                    let to = &mut *connection;
                    let done = send_rows(to, query, extent, |row| rows.postgres(row)).await;
                    if done.as_ref().is_err_and(breaks_connection) {
                        connection.close_on_drop();
                    }
                    done
                }
            }
        })
    }
}

/// Statements of a transaction, which is passed as `&mut Tx`.
impl Tx {
    /// Runs a statement, and returns the number of affected rows.
    pub(crate) async fn execute(&mut self, query: Query<'_>) -> Result<u64, Error> {
        let done = self.held.execute(query.statement).await;
        let done = self.held.note(done);
        self.has_written |= done.as_ref().is_ok_and(|&rows| rows > 0);
        self.noted(done)
    }

    /// Returns every row.
    pub(crate) async fn fetch_all<O: StoredRow>(
        &mut self,
        query: Query<'_, O>,
    ) -> Result<Vec<O>, Error> {
        self.collect(query, Extent::All).await
    }

    /// Returns the one row that there is.
    pub(crate) async fn fetch_one<O: StoredRow>(
        &mut self,
        query: Query<'_, O>,
    ) -> Result<O, Error> {
        let first = self.collect(query, Extent::First).await?.pop();
        self.held.note(first.ok_or(Error::RowNotFound))
    }

    /// Returns the first row, if there is one.
    pub(crate) async fn fetch_optional<O: StoredRow>(
        &mut self,
        query: Query<'_, O>,
    ) -> Result<Option<O>, Error> {
        Ok(self.collect(query, Extent::First).await?.pop())
    }

    async fn collect<O: StoredRow>(
        &mut self,
        query: Query<'_, O>,
        extent: Extent,
    ) -> Result<Vec<O>, Error> {
        let mut rows = Collector::new(Ok);
        let done = self.held.run(query.statement, extent, &mut rows).await;
        let done = self.held.note(rows.finish(done));
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

impl TxConnection {
    fn execute<'a>(&'a mut self, statement: Statement<'a>) -> BoxFuture<'a, Result<u64, Error>> {
        Box::pin(async move {
            match self {
                Self::Sqlite(tx) => {
                    let done = tx.conn().execute(statement.for_sqlite()?).await?;
                    Ok(done.rows_affected())
                }
                Self::Postgres(tx) => {
                    let done = tx.conn().execute(statement.for_postgres()?).await?;
                    Ok(done.rows_affected())
                }
            }
        })
    }

    fn run<'a>(
        &'a mut self,
        statement: Statement<'a>,
        extent: Extent,
        rows: &'a mut dyn RowSink,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            match self {
                Self::Sqlite(tx) => {
                    let query = statement.for_sqlite()?;
                    send_rows(tx.conn(), query, extent, |row| rows.sqlite(row)).await
                }
                Self::Postgres(tx) => {
                    let query = statement.for_postgres()?;
                    send_rows(tx.conn(), query, extent, |row| rows.postgres(row)).await
                }
            }
        })
    }

    /// Records the failure of a statement: what failed is not committed.
    fn note<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        match self {
            Self::Sqlite(tx) => tx.note(done),
            Self::Postgres(tx) => tx.note(done),
        }
    }
}
