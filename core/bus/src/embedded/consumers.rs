//! Durable consumers in the bus file (listing and removal), and the identity of the file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use chatkeep_core::random::random_name;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, query, query_scalar};

use super::position::Position;
use super::{EmbeddedBus, Op, read};
use crate::{BusError, ConsumerStatus, Stream};

/// File name of the identity of a data folder's bus.
const IDENTITY: &str = "bus.id";

impl EmbeddedBus {
    pub(crate) async fn consumers(&self) -> Result<Vec<ConsumerStatus>, BusError> {
        let known: Vec<_> = {
            let state = self.inner.shared.state();
            let consumer = |position: &Position| {
                let queue = position.queue().map(str::to_owned);
                (position.name().to_owned(), position.stream(), queue)
            };
            state.consumers().map(consumer).collect()
        };
        let mut found = Vec::with_capacity(known.len());
        for (name, stream, queue) in known {
            let backlog = read::backlog_of(&self.inner, &name, stream, queue.as_deref()).await?;
            let oldest = read::oldest_of(&self.inner, &name, stream, queue.as_deref()).await?;
            let now = self.inner.shared.clock.now();
            found.push(ConsumerStatus {
                name,
                stream: stream.name(),
                backlog,
                oldest_seconds: oldest.map(|at| now.since(at).as_secs()),
                idle_seconds: None,
            });
        }
        Ok(found)
    }

    pub(crate) async fn remove_consumer(&self, name: &str) -> Result<bool, BusError> {
        if !self.inner.serving {
            let why = "only the serving process removes consumers; stop it to remove one here";
            return Err(BusError::Config(why.into()));
        }
        let name = name.to_owned();
        self.inner.request_writer(|done| Op::RemoveConsumer { name, done }).await
    }

    pub(crate) fn identity(&self) -> String {
        format!("embedded {}", self.inner.identity)
    }
}

/// Returns the identity of the bus in `folder`; creates it when there is none.
pub(super) fn identity(folder: &Path) -> io::Result<String> {
    let path = folder.join(IDENTITY);
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => file.write_all(random_name().as_bytes())?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    Ok(fs::read_to_string(&path)?.trim().to_owned())
}

/// Removes a consumer from the file. Returns the number of messages of each stream removed with it,
/// or `None` when there is none of that name. `through` returns `true` for an event that all other
/// consumers have finished.
pub(super) async fn remove(
    conn: &mut SqliteConnection,
    name: &str,
    through: impl Fn(i64) -> bool,
) -> Result<Option<[u64; 2]>, sqlx::Error> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    let removed: Option<(i64, Option<String>)> =
        sqlx::query_as("DELETE FROM consumer WHERE name = ?1 RETURNING stream, queue")
            .bind(name)
            .fetch_optional(&mut *tx)
            .await?;
    let Some((stream, queue)) = removed else {
        return Ok(None);
    };
    query("DELETE FROM postponed WHERE consumer = ?1").bind(name).execute(&mut *tx).await?;
    let gone = if stream == super::schema::stream_code(Stream::Jobs) {
        let done = query("DELETE FROM message WHERE stream = 1 AND (?1 IS NULL OR queue = ?1)")
            .bind(queue)
            .execute(&mut *tx)
            .await?;
        [0, done.rows_affected()]
    } else {
        [remove_events(&mut tx, name, through).await?, 0]
    };
    tx.commit().await?;
    Ok(Some(gone))
}

async fn remove_events(
    conn: &mut SqliteConnection,
    name: &str,
    through: impl Fn(i64) -> bool,
) -> Result<u64, sqlx::Error> {
    let own = query("DELETE FROM message WHERE stream = 0 AND only_consumer = ?1")
        .bind(name)
        .execute(&mut *conn)
        .await?;
    let seqs: Vec<i64> =
        query_scalar("SELECT seq FROM message WHERE stream = 0 AND only_consumer IS NULL")
            .fetch_all(&mut *conn)
            .await?;
    let finished: Vec<i64> = seqs.into_iter().filter(|seq| through(*seq)).collect();
    let list =
        serde_json::to_string(&finished).map_err(|error| sqlx::Error::Encode(error.into()))?;
    let done = query("DELETE FROM message WHERE seq IN (SELECT value FROM json_each(?1))")
        .bind(list)
        .execute(conn)
        .await?;
    Ok(own.rows_affected() + done.rows_affected())
}
