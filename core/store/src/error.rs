//! Errors of the store, and their classes.

use super::fault::{self, DatabaseFault, outage_of};

/// Error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached or refused a statement.
    #[error("{}", fault::summary(.0))]
    Database(#[from] sqlx::Error),
    /// The schema cannot be brought up to date.
    #[error("{}", fault::migration_summary(.0))]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// There is no data of chatkeep in the database, or no database file.
    #[error("the database contains no chatkeep data")]
    NoData,
    /// A later version has brought the schema beyond what this one can read.
    #[error(
        "this database was written by a newer chatkeep (schema {found}; this one knows {known})"
    )]
    Newer {
        /// Number of the database's last migration.
        found: i64,
        /// Number of this version's last migration.
        known: i64,
    },
    /// A copy of the database is not whole, by SQLite's own check.
    #[error("the copy of the database is damaged: {0}")]
    Damaged(String),
    /// The URL of the database is invalid. It is not repeated: it may contain a password.
    #[error(
        "the database address is not a valid postgres:// URL, or has an option of unknown value"
    )]
    BadUrl,
    /// The URL of the database has an option that would be ignored. Holds a description without its
    /// value, which may be a password.
    #[error("the database address has an unknown option: {0}")]
    UnknownOption(String),
    /// A stored value has a form that this version does not write.
    #[error("unexpected value in {table}.{column} of {row}")]
    Corrupt {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// Key of the row.
        row: String,
    },
    /// The request took so long that its repetition has begun: only one of them may change
    /// anything.
    #[error("another request with this Idempotency-Key has taken over")]
    ClaimLost,
    /// A list of keys or rows could not be encoded as JSON.
    #[error("a statement's parameters cannot be serialized")]
    Encode(#[from] serde_json::Error),
}

impl StoreError {
    /// Returns the class of the error.
    pub fn fault(&self) -> DatabaseFault {
        match self {
            Self::Database(error) => DatabaseFault::of(error),
            Self::Encode(_) => DatabaseFault::Refused,
            Self::Migrate(_)
            | Self::NoData
            | Self::Newer { .. }
            | Self::Damaged(_)
            | Self::BadUrl
            | Self::UnknownOption(_)
            | Self::Corrupt { .. }
            | Self::ClaimLost => DatabaseFault::Unknown,
        }
    }

    /// Describes a refusal for the dead letters: by the database's own code, without any value.
    pub fn refusal(&self) -> String {
        match self {
            Self::Database(error) => fault::refusal(error),
            other => other.to_string(),
        }
    }

    /// Returns whether the database is away, or takes no changes: whoever asks next will fail, too.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Database(error) if outage_of(error).is_some())
    }

    /// Returns `true` if the same request works once the database is back, or has less to do.
    pub fn is_transient(&self) -> bool {
        matches!(self.fault(), DatabaseFault::Unavailable | DatabaseFault::Cancelled)
    }
}

/// Parses a row's text that has to be one of a fixed set.
pub(super) fn parsed<T>(
    value: Option<T>,
    table: &'static str,
    column: &'static str,
    row: &str,
) -> Result<T, StoreError> {
    value.ok_or_else(|| StoreError::Corrupt { table, column, row: row.to_owned() })
}
