//! Errors of the embedded bus' file: which of them are an outage.

use chatkeep_core::outage::Work;
use chatkeep_core::sqlite;
use sqlx::sqlite::SqliteError;

/// Returns what the file cannot do at all just now, when an error says so; `None` for one that is
/// about this statement alone.
pub(crate) fn outage_of(error: &sqlx::Error) -> Option<Work> {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => {
            Some(Work::Reading)
        }
        sqlx::Error::Database(error) => {
            error.try_downcast_ref::<SqliteError>()?;
            sqlite::outage_of(sqlite::primary(error.code()?.parse().ok()?))
        }
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
