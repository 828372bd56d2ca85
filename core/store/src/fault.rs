//! Classification of database errors at their source: by SQLSTATE on PostgreSQL, by result code on
//! SQLite.

use chatkeep_core::outage::Work;
use chatkeep_core::sqlite;
use sqlx::migrate::MigrateError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};
use sqlx::sqlite::SqliteError;

/// Class of a database error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseFault {
    /// The database is down, busy, full or in recovery. The same request works once it is not.
    Unavailable,
    /// The server broke the statement or transaction off: it took longer than a setting of the server
    /// allows, or somebody ended it. The same request may take too long again; a smaller one need not.
    Cancelled,
    /// The database will never take these values: they are malformed, too long, or break a
    /// constraint.
    Refused,
    /// Neither is certain.
    Unknown,
}

impl DatabaseFault {
    /// Classifies an error.
    pub(super) fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => Self::Unavailable,
            sqlx::Error::Encode(_) | sqlx::Error::InvalidArgument(_) => Self::Refused,
            sqlx::Error::Database(error) => {
                if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
                    of_sqlstate(error.code())
                } else {
                    primary_code(error.as_ref()).map_or(Self::Unknown, of_result_code)
                }
            }
            _ => Self::Unknown,
        }
    }
}

/// Returns what the database cannot do at all just now, when an error says so; `None` for one that
/// is about this request, connection or transaction alone.
pub(crate) fn outage_of(error: &sqlx::Error) -> Option<Work> {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed => Some(Work::Reading),
        sqlx::Error::Database(error) => {
            if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
                sqlstate_outage(error.code())
            } else {
                sqlite::outage_of(primary_code(error.as_ref())?)
            }
        }
        _ => None,
    }
}

fn sqlstate_outage(code: &str) -> Option<Work> {
    match code {
        // A full disk, a standby.
        "53100" | "25006" => return Some(Work::Writing),
        // A server that stops or starts, and a database that was dropped.
        // One that takes no connections to this database.
        "57P01" | "57P02" | "57P03" | "57P04" | "55000" => return Some(Work::Reading),
        _ => {}
    }
    // Connection, authorization, no such database, resources, the server's own system, its
    // configuration file.
    let away = matches!(code.get(..2)?, "08" | "28" | "3D" | "53" | "58" | "F0");
    away.then_some(Work::Reading)
}

/// Describes an error in one sentence; its causes follow it.
pub(super) fn summary(error: &sqlx::Error) -> &'static str {
    if is_of_pooler(error) {
        "the pooler in front of the database needs other settings (docs/operating.md, Poolers)"
    } else if is_privilege(error) {
        "the user of the database lacks a right: make it the owner of the database \
         (docs/operating.md, Setting up PostgreSQL)"
    } else {
        "the database failed"
    }
}

/// Describes a failed migration in one sentence; its causes follow it.
pub(super) fn migration_summary(error: &MigrateError) -> &'static str {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)
            if is_privilege(error) =>
        {
            summary(error)
        }
        _ => "the database's schema cannot be migrated",
    }
}

/// Returns `true` when PostgreSQL refuses what its user has no right to.
fn is_privilege(error: &sqlx::Error) -> bool {
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref());
    error.is_some_and(|error: &PgDatabaseError| error.code() == "42501")
}

/// Returns `true` for what a pooler answers that hands the server's connections from transaction to
/// transaction without knowing prepared statements, or does not know a parameter of the driver.
fn is_of_pooler(error: &sqlx::Error) -> bool {
    let error = error.as_database_error().and_then(|error| error.try_downcast_ref());
    error.is_some_and(|error: &PgDatabaseError| match error.code() {
        "42P05" | "26000" => true,
        "08P01" => error.message().contains("startup parameter"),
        _ => false,
    })
}

/// Returns the reason for a permanent refusal, without any value of the request.
pub(super) fn refusal(error: &sqlx::Error) -> String {
    let Some(error) = error.as_database_error() else {
        return "the database cannot take a value".to_owned();
    };
    let code = error.code().unwrap_or_default();
    match error.constraint() {
        Some(constraint) => format!("the database rejects the statement: {code} ({constraint})"),
        None => format!("the database rejects the statement: {code}"),
    }
}

/// Returns `true` if the connection is to be closed after this error: SQLite may have rolled back by
/// itself or cannot trust its pages, the server does not respond, or it is one that would refuse the
/// same again on this connection.
pub(super) fn breaks_connection(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => match error.try_downcast_ref() {
            Some(error) => breaks_session(error),
            None => primary_code(error.as_ref()).is_some_and(breaks_file),
        },
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::WorkerCrashed => true,
        _ => false,
    }
}

/// Returns `true` for results of SQLite after which its state is not known.
fn breaks_file(code: i32) -> bool {
    use sqlite::{CORRUPT, FULL, INTERRUPT, IO, NO_MEMORY, NOT_A_DATABASE};
    [CORRUPT, FULL, INTERRUPT, IO, NO_MEMORY, NOT_A_DATABASE].contains(&code)
}

/// Returns `true` for a session that the server ended with its error, as after a timeout within a
/// transaction, for a server that became a standby, whose successor has the same address, and for
/// prepared statements that the session has lost, has twice, or has for another schema.
fn breaks_session(error: &PgDatabaseError) -> bool {
    if matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic) {
        return true;
    }
    match error.code() {
        "25006" | "26000" | "42P05" => true,
        "0A000" => error.message().contains("cached plan"),
        _ => false,
    }
}

/// Returns the primary result code of an SQLite error.
fn primary_code(error: &(dyn sqlx::error::DatabaseError + 'static)) -> Option<i32> {
    error.try_downcast_ref::<SqliteError>()?;
    Some(sqlite::primary(error.code()?.parse().ok()?))
}

fn of_result_code(code: i32) -> DatabaseFault {
    match code {
        sqlite::PERM
        | sqlite::ABORT
        | sqlite::BUSY
        | sqlite::LOCKED
        | sqlite::NO_MEMORY
        | sqlite::READ_ONLY
        | sqlite::INTERRUPT
        | sqlite::IO
        | sqlite::CORRUPT
        | sqlite::FULL
        | sqlite::CANNOT_OPEN
        | sqlite::PROTOCOL
        | sqlite::SCHEMA
        | sqlite::NO_LARGE_FILES
        | sqlite::AUTHORIZATION
        | sqlite::NOT_A_DATABASE => DatabaseFault::Unavailable,
        sqlite::TOO_BIG | sqlite::CONSTRAINT | sqlite::MISMATCH | sqlite::RANGE => {
            DatabaseFault::Refused
        }
        _ => DatabaseFault::Unknown,
    }
}

/// Classifies an SQLSTATE (PostgreSQL, "PostgreSQL Error Codes").
fn of_sqlstate(code: &str) -> DatabaseFault {
    // `statement_timeout` or `pg_cancel_backend`, and `transaction_timeout`.
    if matches!(code, "57014" | "25P04") {
        return DatabaseFault::Cancelled;
    }
    // 42P05: behind a pooler, the session of another process has a statement of the same name.
    // 55000: the database takes no connections.
    let away = ["42501", "42P05", "55000", "55P03", "55006", "57P05", "XX001", "XX002"];
    if away.contains(&code) {
        return DatabaseFault::Unavailable;
    }
    match code.get(..2).unwrap_or_default() {
        // Connection, prepared statement gone behind a pooler, transaction state (a standby),
        // authorization, no such database, conflict with another transaction, resources, operator,
        // the server's own system, its configuration file.
        "08" | "26" | "25" | "28" | "3D" | "40" | "53" | "57" | "58" | "F0" => {
            DatabaseFault::Unavailable
        }
        // Cardinality, data, integrity, check option, program limits (an index row that is too
        // long).
        "21" | "22" | "23" | "44" | "54" => DatabaseFault::Refused,
        _ => DatabaseFault::Unknown,
    }
}

#[cfg(test)]
#[path = "fault_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_are_classified_by_class() {
        let refused = ["22021", "22P05", "23505", "23503", "54000", "21000", "22001"];
        let away = ["08006", "26000", "40P01", "42P05", "53100", "53300", "57P01", "58030"];
        let away = [&away[..], &["25006", "55000", "55P03"]].concat();
        let unknown = ["42P01", "XX000", "0A000", "P0001", ""];
        assert!(refused.iter().all(|code| of_sqlstate(code) == DatabaseFault::Refused));
        assert!(away.iter().all(|code| of_sqlstate(code) == DatabaseFault::Unavailable));
        assert!(unknown.iter().all(|code| of_sqlstate(code) == DatabaseFault::Unknown));
        for code in ["57014", "25P04"] {
            assert_eq!(of_sqlstate(code), DatabaseFault::Cancelled);
        }
    }

    #[test]
    fn an_outage_is_of_the_server_and_not_of_a_request() {
        let away = ["08006", "28P01", "3D000", "53300", "55000", "57P01", "57P03", "58030"];
        let request = ["40P01", "57014", "57P05", "55P03", "23505", "42501", "XX000", ""];
        assert!(away.iter().all(|code| sqlstate_outage(code) == Some(Work::Reading)));
        assert!(request.iter().all(|code| sqlstate_outage(code).is_none()));
        assert_eq!(sqlstate_outage("53100"), Some(Work::Writing));
        assert_eq!(sqlite::outage_of(sqlite::FULL), Some(Work::Writing));
        assert_eq!(sqlite::outage_of(sqlite::CONSTRAINT), None);
        assert_eq!(outage_of(&sqlx::Error::PoolTimedOut), Some(Work::Reading));
        assert_eq!(outage_of(&sqlx::Error::PoolClosed), None);
    }

    #[tokio::test]
    async fn result_codes_are_classified_whatever_their_extension() {
        use sqlx::{Connection as _, Executor as _, SqliteConnection};
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        conn.execute("CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT").await.unwrap();
        conn.execute("INSERT INTO t VALUES (1)").await.unwrap();
        let twice = conn.execute("INSERT INTO t VALUES (1)").await.unwrap_err();
        assert_eq!(DatabaseFault::of(&twice), DatabaseFault::Refused);
        assert!(!breaks_connection(&twice));
        let unknown = conn.execute("SELECT * FROM nothing").await.unwrap_err();
        assert_eq!(DatabaseFault::of(&unknown), DatabaseFault::Unknown);
        // A page beyond the maximum size has the same effect as a full disk.
        conn.execute("PRAGMA max_page_count = 3").await.unwrap();
        let full = conn.execute("CREATE TABLE u (x TEXT)").await;
        let full = match full {
            Err(full) => full,
            Ok(_) => conn.execute("CREATE TABLE v (x TEXT)").await.unwrap_err(),
        };
        assert_eq!(DatabaseFault::of(&full), DatabaseFault::Unavailable, "{full}");
        assert!(breaks_connection(&full));
    }
}
