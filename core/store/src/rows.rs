//! Rows of statements. They are read by code that does not know their type; only their conversion is
//! compiled for each.

use std::ops::ControlFlow;

use futures_util::TryStreamExt as _;
use sqlx::postgres::PgRow;
use sqlx::query::Query;
use sqlx::sqlite::SqliteRow;
use sqlx::{Database, Error, Executor, FromRow, IntoArguments};

/// Row that can be read from either database.
pub(crate) trait StoredRow:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<O> StoredRow for O where
    O: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

/// Number of rows that a statement is read for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    First,
    All,
}

/// Receiver of the rows of a statement, one after the other, until it breaks off.
pub(crate) trait RowSink: Send {
    fn sqlite(&mut self, row: &SqliteRow) -> ControlFlow<()>;
    fn postgres(&mut self, row: &PgRow) -> ControlFlow<()>;
}

/// List of the rows of a statement, each of which is converted as it comes.
pub(crate) struct Collector<O, T, E> {
    convert: fn(O) -> Result<T, E>,
    rows: Vec<T>,
    /// Failure of a conversion, after which no row is read.
    failed: Option<E>,
}

impl<O: StoredRow, T: Send, E: From<Error> + Send> Collector<O, T, E> {
    pub(crate) const fn new(convert: fn(O) -> Result<T, E>) -> Self {
        Self { convert, rows: Vec::new(), failed: None }
    }

    /// Returns the rows, unless the statement or a conversion failed.
    pub(crate) fn finish(self, done: Result<(), Error>) -> Result<Vec<T>, E> {
        done?;
        self.failed.map_or(Ok(self.rows), Err)
    }

    fn push(&mut self, row: Result<O, Error>) -> ControlFlow<()> {
        match row.map_err(E::from).and_then(self.convert) {
            Ok(row) => {
                self.rows.push(row);
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

impl<O: StoredRow, T: Send, E: From<Error> + Send> RowSink for Collector<O, T, E> {
    fn sqlite(&mut self, row: &SqliteRow) -> ControlFlow<()> {
        self.push(O::from_row(row))
    }

    fn postgres(&mut self, row: &PgRow) -> ControlFlow<()> {
        self.push(O::from_row(row))
    }
}

/// Runs a statement, and gives its rows to `sink`.
pub(crate) async fn send_rows<'e, DB, A>(
    executor: impl Executor<'e, Database = DB>,
    query: Query<'static, DB, A>,
    extent: Extent,
    mut sink: impl FnMut(&DB::Row) -> ControlFlow<()>,
) -> Result<(), Error>
where
    DB: Database,
    A: IntoArguments<DB> + Send + 'static,
{
    match extent {
        Extent::First => {
            if let Some(row) = executor.fetch_optional(query).await? {
                let _ = sink(&row);
            }
        }
        Extent::All => {
            let mut rows = executor.fetch(query);
            while let Some(row) = rows.try_next().await? {
                if sink(&row).is_break() {
                    break;
                }
            }
        }
    }
    Ok(())
}
