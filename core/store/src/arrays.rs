//! Statements for PostgreSQL alone whose rows are parameters, an array a column: to insert a row from
//! arrays takes two thirds of the time that it takes from a list of JSON.

use sqlx::postgres::PgArguments;
use sqlx::{Arguments as _, Error, Postgres};

use crate::db::{Tx, TxConnection};

/// Column of the rows of a statement.
#[derive(Debug)]
pub(crate) enum Column<'q> {
    Int(Vec<Option<i64>>),
    Text(Vec<Option<&'q str>>),
}

impl Tx {
    /// Returns `true` on PostgreSQL.
    pub(crate) const fn takes_arrays(&self) -> bool {
        matches!(self.held, TxConnection::Postgres(_))
    }

    /// Runs a statement whose parameters are `columns`. Returns the number of affected rows.
    pub(crate) async fn execute_rows(
        &mut self,
        sql: &'static str,
        columns: Vec<Column<'_>>,
    ) -> Result<u64, Error> {
        let TxConnection::Postgres(tx) = &mut self.held else {
            return Err(Error::Configuration("arrays are for PostgreSQL".into()));
        };
        let arguments = arguments(columns)?;
        let done = sqlx::query_with::<Postgres, _>(sql, arguments).execute(tx.conn()).await;
        let done = tx.note(done).map(|done| done.rows_affected());
        if let Err(error) = &done {
            self.watch.note_failure(error);
        }
        self.has_written |= done.as_ref().is_ok_and(|&rows| rows > 0);
        done
    }
}

fn arguments(columns: Vec<Column<'_>>) -> Result<PgArguments, Error> {
    let mut arguments = PgArguments::default();
    for column in columns {
        match column {
            Column::Int(values) => arguments.add(values),
            Column::Text(values) => arguments.add(values),
        }
        .map_err(Error::Encode)?;
    }
    Ok(arguments)
}
