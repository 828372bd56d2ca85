//! File of the embedded bus: opening, tables, and loading at the start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chatkeep_core::sqlite::BUSY_TIMEOUT;
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions as _, Connection as _};

use super::delays::Delays;
use super::leases::Leases;
use super::position::{Position, StoredPosition};
use super::state::State;
use crate::{BusError, Stream};

/// Schema version that this release writes, stored in `PRAGMA user_version`.
pub(super) const VERSION: i64 = 1;

/// Number of read connections for consumers; more do not help, reading is bound by the CPU.
const READERS: u32 = 3;

/// `seen` assigns the sequence numbers (never used twice, thanks to AUTOINCREMENT) and remembers
/// ids for the de-duplication window; `message` holds what some consumer has yet to finish.
///
/// A consumer is through with every sequence number up to its cursor, except those it holds
/// (`held`, a JSON list of `[seq, attempts]`) and those that wait in `postponed`.
const TABLES: &str = "
    CREATE TABLE seen (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        stream INTEGER NOT NULL,
        id TEXT NOT NULL,
        at INTEGER NOT NULL,
        UNIQUE (stream, id)
    );
    CREATE TABLE message (
        seq INTEGER PRIMARY KEY,
        stream INTEGER NOT NULL,
        queue TEXT NOT NULL,
        subject TEXT NOT NULL,
        id TEXT NOT NULL,
        only_consumer TEXT,
        published_at INTEGER NOT NULL,
        payload BLOB NOT NULL,
        traceparent TEXT
    );
    CREATE INDEX message_by_queue ON message (stream, queue, seq);
    CREATE TABLE consumer (
        name TEXT PRIMARY KEY,
        stream INTEGER NOT NULL,
        queue TEXT,
        cursor INTEGER NOT NULL,
        held TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE postponed (
        consumer TEXT NOT NULL,
        seq INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        not_before INTEGER NOT NULL,
        PRIMARY KEY (consumer, seq)
    ) WITHOUT ROWID;
    CREATE TABLE dead (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        consumer TEXT NOT NULL,
        stream INTEGER NOT NULL,
        queue TEXT NOT NULL,
        subject TEXT NOT NULL,
        message_id TEXT NOT NULL,
        reason TEXT NOT NULL,
        attempts INTEGER NOT NULL,
        died_at INTEGER NOT NULL,
        payload BLOB NOT NULL
    );
    CREATE TABLE serving (unclean INTEGER NOT NULL);
    INSERT INTO serving VALUES (0);
    PRAGMA user_version = 1;
";

/// Returns the code of a stream in the file.
pub(super) const fn stream_code(stream: Stream) -> i64 {
    match stream {
        Stream::Events => 0,
        Stream::Jobs => 1,
    }
}

/// Returns the stream of a code in the file.
pub(super) fn stream_of(code: i64) -> Option<Stream> {
    Stream::ALL.into_iter().find(|stream| stream_code(*stream) == code)
}

/// Returns the path of the bus file of a data folder.
pub(super) fn file(folder: &Path) -> PathBuf {
    folder.join("bus.db")
}

pub(super) fn options(folder: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file(folder))
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging()
}

/// Opens the writing connection and creates the tables when there are none.
pub(super) async fn writer(folder: &Path) -> Result<SqliteConnection, BusError> {
    let mut conn = options(folder)
        .create_if_missing(true)
        // Before the first table, so that pages freed after a peak can be given back.
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .journal_mode(SqliteJournalMode::Wal)
        // An acknowledged event also survives a power cut.
        .synchronous(SqliteSynchronous::Full)
        // Payloads do not outlive their events where that costs nothing; see
        // `commit::checkpoint_wal`.
        .pragma("secure_delete", "fast")
        .pragma("journal_size_limit", "67108864")
        .pragma("cache_size", "-16000")
        // In pages. Seldom: a commit with a checkpoint takes long, and frequently changing pages
        // are copied less often. A checkpoint beside the writer gained nothing, for the syncs then
        // wait for each other.
        .pragma("wal_autocheckpoint", "8000")
        .connect()
        .await?;
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *tx).await?;
    match version {
        VERSION => add_traceparent(&mut tx).await?,
        0 => {
            sqlx::raw_sql(TABLES).execute(&mut *tx).await?;
        }
        other => {
            return Err(BusError::Config(format!(
                "bus.db has layout {other}, this version reads layout {VERSION}"
            )));
        }
    }
    tx.commit().await?;
    Ok(conn)
}

/// Adds the column for the traces of messages to a file of before. The layout keeps its number:
/// earlier versions read and write such a file as well, and leave the column empty.
async fn add_traceparent(conn: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let columns = "SELECT count(*) FROM pragma_table_info('message') WHERE name = 'traceparent'";
    let found: i64 = sqlx::query_scalar(columns).fetch_one(&mut *conn).await?;
    if found == 0 {
        sqlx::raw_sql("ALTER TABLE message ADD COLUMN traceparent TEXT").execute(conn).await?;
    }
    Ok(())
}

/// Opens the read connections; after [`writer`], so that the file exists.
pub(super) fn readers(folder: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(Duration::from_secs(5))
        // The file is local; a liveness test before each read gains nothing.
        .test_before_acquire(false)
        .connect_lazy_with(options(folder).read_only(true))
}

/// Records that a serving process runs or has closed; returns `true` if the last one ended without
/// closing.
pub(super) async fn set_unclean(
    conn: &mut SqliteConnection,
    unclean: bool,
) -> Result<bool, sqlx::Error> {
    let before: bool =
        sqlx::query_scalar("SELECT unclean FROM serving").fetch_one(&mut *conn).await?;
    if before != unclean {
        sqlx::query("UPDATE serving SET unclean = ?1").bind(unclean).execute(conn).await?;
    }
    Ok(before)
}

/// Returns the highest sequence number assigned so far.
pub(super) async fn high(conn: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let high: Option<i64> =
        sqlx::query_scalar("SELECT seq FROM sqlite_sequence WHERE name = 'seen'")
            .fetch_optional(conn)
            .await?;
    Ok(high.unwrap_or(0))
}

/// Counts the messages above a sequence number, by [`Stream::index`].
pub(super) async fn count_above(
    conn: &mut SqliteConnection,
    seq: i64,
) -> Result<[u64; 2], sqlx::Error> {
    let count = "SELECT count(*) FILTER (WHERE stream = 0), count(*) FILTER (WHERE stream = 1)
                 FROM message WHERE seq > ?1";
    let (events, jobs): (i64, i64) = sqlx::query_as(count).bind(seq).fetch_one(conn).await?;
    Ok([events.unsigned_abs(), jobs.unsigned_abs()])
}

/// Loads the positions of the consumers and the number of unfinished messages.
pub(super) async fn load(conn: &mut SqliteConnection) -> Result<State, BusError> {
    let mut state = State::default();
    let counts: Vec<(i64, i64)> =
        sqlx::query_as("SELECT stream, count(*) FROM message GROUP BY stream")
            .fetch_all(&mut *conn)
            .await?;
    for (code, count) in counts {
        let stream = stream_of(code).ok_or_else(|| damaged("stream"))?;
        state.add_waiting(stream, u64::try_from(count).unwrap_or(0));
    }
    let consumers: Vec<(String, i64, Option<String>, i64, String)> =
        sqlx::query_as("SELECT name, stream, queue, cursor, held FROM consumer ORDER BY name")
            .fetch_all(&mut *conn)
            .await?;
    for (name, code, queue, cursor, held) in consumers {
        let stream = stream_of(code).ok_or_else(|| damaged("stream"))?;
        let held: Vec<(i64, u32)> = serde_json::from_str(&held).map_err(|_| damaged("held"))?;
        let postponed: Vec<(i64, u32, i64)> =
            sqlx::query_as("SELECT seq, attempts, not_before FROM postponed WHERE consumer = ?1")
                .bind(&name)
                .fetch_all(&mut *conn)
                .await?;
        let (held, postponed) = (Leases::restored(&held), Delays::restored(&postponed));
        let stored = StoredPosition { name, stream, queue, cursor, held, postponed };
        state.add(Position::restored(stored));
    }
    Ok(state)
}

fn damaged(what: &str) -> BusError {
    BusError::Config(format!("bus.db contains a {what} that this version does not support"))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    async fn columns(conn: &mut SqliteConnection) -> Vec<String> {
        let names = sqlx::query_scalar("SELECT name FROM pragma_table_info('message')");
        names.fetch_all(conn).await.unwrap()
    }

    #[tokio::test]
    async fn a_file_of_before_gets_the_column_of_traces_and_keeps_its_messages() {
        let folder = TempDir::new().unwrap();
        let mut conn = writer(folder.path()).await.unwrap();
        let new = columns(&mut conn).await;
        for sql in [
            "ALTER TABLE message DROP COLUMN traceparent",
            "INSERT INTO message (seq, stream, queue, subject, id, published_at, payload)
             VALUES (1, 0, '', 'event.line.7', 'a', 1, x'00')",
        ] {
            sqlx::raw_sql(sql).execute(&mut conn).await.unwrap();
        }
        assert!(!columns(&mut conn).await.contains(&"traceparent".to_owned()));
        conn.close().await.unwrap();

        for _ in 0..2 {
            let mut conn = writer(folder.path()).await.unwrap();
            assert_eq!(columns(&mut conn).await, new);
            let all = "SELECT id, traceparent FROM message";
            let kept: Vec<(String, Option<String>)> =
                sqlx::query_as(all).fetch_all(&mut conn).await.unwrap();
            assert_eq!(kept, [("a".to_owned(), None)]);
            conn.close().await.unwrap();
        }
    }
}
