//! Errors of the embedded bus' file: which of them are an outage.

use chatkeep_core::outage::Work;
use sqlx::sqlite::SqliteError;

/// Primary result codes of SQLite (<https://sqlite.org/rescode.html>).
mod sqlite {
    pub(super) const PERM: i32 = 3;
    pub(super) const BUSY: i32 = 5;
    pub(super) const NO_MEMORY: i32 = 7;
    pub(super) const READ_ONLY: i32 = 8;
    pub(super) const IO: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANNOT_OPEN: i32 = 14;
    pub(super) const PROTOCOL: i32 = 15;
    pub(super) const NO_LARGE_FILES: i32 = 22;
    pub(super) const AUTHORIZATION: i32 = 23;
    pub(super) const NOT_A_DATABASE: i32 = 26;
}

/// Returns what the file cannot do at all just now, when an error says so; `None` for one that is
/// about this statement alone.
pub(crate) fn outage_of(error: &sqlx::Error) -> Option<Work> {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => {
            Some(Work::Reading)
        }
        sqlx::Error::Database(error) => {
            error.try_downcast_ref::<SqliteError>()?;
            let extended: i32 = error.code()?.parse().ok()?;
            result_code_outage(extended & 0xff)
        }
        _ => None,
    }
}

fn result_code_outage(code: i32) -> Option<Work> {
    match code {
        sqlite::BUSY | sqlite::READ_ONLY | sqlite::IO | sqlite::FULL => Some(Work::Writing),
        sqlite::PERM
        | sqlite::NO_MEMORY
        | sqlite::CORRUPT
        | sqlite::CANNOT_OPEN
        | sqlite::PROTOCOL
        | sqlite::NO_LARGE_FILES
        | sqlite::AUTHORIZATION
        | sqlite::NOT_A_DATABASE => Some(Work::Reading),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection as _, Executor as _, SqliteConnection};

    use super::*;

    #[tokio::test]
    async fn only_what_stops_the_file_is_an_outage() {
        assert_eq!(outage_of(&sqlx::Error::PoolTimedOut), Some(Work::Reading));
        assert_eq!(outage_of(&sqlx::Error::PoolClosed), None);
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let unknown = conn.execute("SELECT * FROM nothing").await.unwrap_err();
        assert_eq!(outage_of(&unknown), None);
        // A page beyond the maximum size has the same effect as a full disk.
        conn.execute("PRAGMA max_page_count = 1").await.unwrap();
        let full = conn.execute("CREATE TABLE t (x TEXT)").await.unwrap_err();
        assert_eq!(outage_of(&full), Some(Work::Writing), "{full}");
    }
}
