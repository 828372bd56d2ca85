//! The baseline for the drain of the pipeline: rows inserted as fast as a database takes them, in
//! multi-row statements of 1,000 rows, with one counter update for each channel in a transaction.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Executor};
use tokio::task::JoinSet;

use super::shape;

/// Rows per statement: SQLite takes 32,766 parameters at most.
const STATEMENT: usize = 1_000;

/// Columns of a row; as many as there are placeholders below.
const COLUMNS: usize = 9;

/// Rows to insert.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// Number of rows; those of a last transaction that would not be full are left out.
    pub(crate) rows: usize,
    /// Number of channels, which take turns.
    pub(crate) channels: usize,
    /// Statements of 1,000 rows in a transaction.
    pub(crate) statements: usize,
}

/// Result of a run.
pub(crate) struct Figures {
    rows: usize,
    elapsed: Duration,
}

/// Inserts rows into a new `SQLite` file: WAL, `synchronous=FULL`, one connection, since `SQLite` has
/// one writer.
pub(crate) async fn sqlite(file: &Path, load: Load) -> Result<Figures> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
    create_tables(&pool).await?;
    let sql = Statements::new(Placeholder::Plain, load);
    let start = Instant::now();
    for first in load.transactions(0, 1) {
        sqlite_batch(&pool, &sql, first, load).await?;
    }
    Ok(Figures { rows: load.whole(), elapsed: start.elapsed() })
}

/// Does the same in a PostgreSQL database, which should be empty, over `connections` connections.
pub(crate) async fn postgres(url: &str, load: Load, connections: usize) -> Result<Figures> {
    let most = u32::try_from(connections)?;
    let options = PgPoolOptions::new().min_connections(most).max_connections(most);
    let pool = options.connect(url).await?;
    create_tables(&pool).await?;
    let sql = Arc::new(Statements::new(Placeholder::Numbered, load));
    let start = Instant::now();
    let mut writers = JoinSet::new();
    for writer in 0..connections {
        let (pool, sql) = (pool.clone(), Arc::clone(&sql));
        writers.spawn(async move {
            for first in load.transactions(writer, connections) {
                postgres_batch(&pool, &sql, first, load).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = writers.join_next().await {
        done??;
    }
    Ok(Figures { rows: load.whole(), elapsed: start.elapsed() })
}

impl Load {
    /// Returns the number of rows in a transaction.
    fn transaction(&self) -> usize {
        self.statements * STATEMENT
    }

    /// Returns the number of rows in whole transactions.
    fn whole(&self) -> usize {
        self.rows / self.transaction() * self.transaction()
    }

    /// Returns the first row numbers of the transactions of one of several writers.
    fn transactions(&self, writer: usize, writers: usize) -> impl Iterator<Item = usize> + use<> {
        let rows = self.transaction();
        (writer..self.rows / rows).step_by(writers).map(move |number| number * rows)
    }
}

impl Figures {
    /// Creates the figures of `rows` rows.
    pub(crate) fn new(rows: usize, elapsed: Duration) -> Self {
        Self { rows, elapsed }
    }

    /// Returns rows per second.
    pub(crate) fn rate(&self) -> f64 {
        f64::from(u32::try_from(self.rows).unwrap_or(u32::MAX)) / self.elapsed.as_secs_f64()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:8.0} rows/s", self.rate())
    }
}

/// SQL of a transaction, built once.
struct Statements {
    insert: Arc<str>,
    count: Arc<str>,
}

impl Statements {
    fn new(placeholder: Placeholder, load: Load) -> Self {
        let insert = format!(
            "INSERT INTO bare_messages (channel_id, id, sender_id, sent_at, stored_at, kind, \
             content, bytes, event_id) VALUES {}",
            placeholders(STATEMENT, COLUMNS, placeholder)
        );
        // Always in the same channel order: concurrent writers cannot deadlock.
        let count = format!(
            "INSERT INTO bare_counters (channel_id, messages, bytes) VALUES {} \
             ON CONFLICT (channel_id) DO UPDATE SET messages = bare_counters.messages + \
             excluded.messages, bytes = bare_counters.bytes + excluded.bytes",
            placeholders(load.channels.min(load.transaction()), 3, placeholder)
        );
        Self { insert: insert.into(), count: count.into() }
    }
}

/// Parameter syntax of a statement.
#[derive(Clone, Copy)]
enum Placeholder {
    /// `?`. `SQLite` finds a numbered parameter by a linear scan at each binding: with 9,000
    /// parameters a batch takes ten times as long.
    Plain,
    /// `$1`, the only kind PostgreSQL has.
    Numbered,
}

/// Returns `($1,$2),($3,$4)` for two rows of two columns.
fn placeholders(rows: usize, columns: usize, placeholder: Placeholder) -> String {
    let mut text = String::new();
    for number in 1..=rows * columns {
        text.push_str(match (number % columns, number) {
            (1, 1) => "(",
            (1, _) => "),(",
            _ => ",",
        });
        match placeholder {
            Placeholder::Plain => text.push('?'),
            Placeholder::Numbered => drop(write!(text, "${number}")),
        }
    }
    text + ")"
}

async fn create_tables<'c, E: Executor<'c> + Copy>(pool: E) -> Result<()> {
    pool.execute(
        "CREATE TABLE bare_messages (channel_id TEXT NOT NULL, id TEXT NOT NULL, sender_id TEXT, \
         sent_at BIGINT NOT NULL, stored_at BIGINT NOT NULL, kind TEXT NOT NULL, \
         content TEXT NOT NULL, bytes BIGINT NOT NULL, event_id TEXT NOT NULL, \
         PRIMARY KEY (channel_id, id))",
    )
    .await?;
    pool.execute("CREATE INDEX bare_messages_by_time ON bare_messages (channel_id, sent_at, id)")
        .await?;
    pool.execute(
        "CREATE TABLE bare_counters (channel_id TEXT PRIMARY KEY, messages BIGINT NOT NULL, \
         bytes BIGINT NOT NULL)",
    )
    .await?;
    Ok(())
}

/// Defines one body for both databases: their query types have no common ancestor.
macro_rules! batch_function {
    ($name:ident, $pool:ty, $begin:literal) => {
        async fn $name(pool: &$pool, sql: &Statements, first: usize, load: Load) -> Result<()> {
            let mut transaction = pool.begin_with($begin).await?;
            let mut counted = BTreeMap::<_, (i64, i64)>::new();
            for first in (first..first + load.transaction()).step_by(STATEMENT) {
                let mut insert = sqlx::query(AssertSqlSafe(Arc::clone(&sql.insert)));
                for number in first..first + STATEMENT {
                    let row = Row::new(number, load.channels)?;
                    let (messages, bytes) = counted.entry(row.channel.clone()).or_default();
                    *messages += 1;
                    *bytes += row.bytes;
                    insert = insert
                        .bind(row.channel)
                        .bind(row.id)
                        .bind(row.sender)
                        .bind(row.sent_at)
                        .bind(row.sent_at + 120)
                        .bind("text")
                        .bind(row.content)
                        .bind(row.bytes)
                        .bind(row.event);
                }
                insert.execute(&mut *transaction).await?;
            }
            let mut count = sqlx::query(AssertSqlSafe(Arc::clone(&sql.count)));
            for (channel, (messages, bytes)) in counted {
                count = count.bind(channel).bind(messages).bind(bytes);
            }
            count.execute(&mut *transaction).await?;
            Ok(transaction.commit().await?)
        }
    };
}

batch_function!(sqlite_batch, SqlitePool, "BEGIN IMMEDIATE");
batch_function!(postgres_batch, PgPool, "BEGIN");

/// One message.
struct Row {
    channel: String,
    id: String,
    sender: String,
    /// Epoch milliseconds.
    sent_at: i64,
    content: String,
    bytes: i64,
    event: String,
}

impl Row {
    fn new(number: usize, channels: usize) -> Result<Self> {
        let content = format!(r#"{{"text":"{}"}}"#, shape::text(number));
        Ok(Self {
            channel: shape::channel(number % channels),
            id: shape::message(number),
            sender: shape::sender(number, channels),
            sent_at: 1_800_000_000_000 + i64::try_from(number)?,
            bytes: i64::try_from(content.len())?,
            content,
            event: shape::event(number),
        })
    }
}
