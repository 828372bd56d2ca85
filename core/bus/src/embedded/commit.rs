//! Transactions of the embedded bus: a group of publishes, pending changes from memory, operations
//! on dead letters, and housekeeping.
//!
//! The SQL texts are constant and take lists as JSON, so that a group costs a handful of statements
//! whatever its size; payloads are bound as one blob and are never parsed.

use std::collections::HashSet;
use std::time::Duration;

use chatkeep_core::sqlite::{EMPTY_WAL, WAIT_FOR_NONE, WAIT_FOR_OTHERS};
use chatkeep_core::time::Timestamp;
use chatkeep_core::trace::TraceContext;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, query, query_scalar};

use super::dead;
use super::housekeeping::DueCheckpoint;
use super::ops::{Group, RoutedMessage};
use super::schema::stream_code;
use super::state::Changes;
use crate::Stream;

/// Maximum number of old ids deleted in one transaction.
const ID_PURGE_BATCH: i64 = 500;

/// Time after the present beyond which no id was published by a right clock.
const LATEST: Duration = Duration::from_hours(1);

/// Number of free pages that stay for reuse; beyond them the file shrinks.
const SPARE_PAGES: i64 = 4096;

/// Result of a transaction.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Number of new messages by [`Stream::index`].
    pub(super) added: [u64; 2],
    /// Last assigned sequence number.
    pub(super) high: i64,
    /// For each dead letter to retry, `true` if it existed.
    pub(super) retried_dead: Vec<bool>,
    pub(super) dropped_dead: Vec<bool>,
    pub(super) more_to_forget: bool,
}

/// Writes the group, all or nothing. `high` is the last known sequence number.
pub(super) async fn write(
    conn: &mut SqliteConnection,
    group: &Group,
    now: Timestamp,
    high: i64,
) -> Result<Written, sqlx::Error> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    let mut written = Written { high, ..Written::default() };
    for (stream, messages) in Stream::ALL.into_iter().zip(&group.messages) {
        if !messages.is_empty() {
            let (added, last) = insert(&mut tx, stream, messages, now, high).await?;
            written.added[stream.index()] = added;
            written.high = written.high.max(last);
        }
    }
    for &id in &group.retry_dead {
        let revived = dead::revive(&mut tx, id, now).await?;
        written.retried_dead.push(revived.is_some());
        if let Some((stream, seq)) = revived {
            written.added[stream.index()] += 1;
            written.high = written.high.max(seq);
        }
    }
    for &id in &group.drop_dead {
        written.dropped_dead.push(dead::delete(&mut tx, id).await?);
    }
    save(&mut tx, &group.changes).await?;
    if let Some(before) = group.forget_before {
        written.more_to_forget = tidy(&mut tx, before, now).await?;
    }
    tx.commit().await?;
    Ok(written)
}

/// Inserts the messages with new ids; returns their number and the last sequence number.
async fn insert(
    conn: &mut SqliteConnection,
    stream: Stream,
    messages: &[RoutedMessage],
    now: Timestamp,
    high: i64,
) -> Result<(u64, i64), sqlx::Error> {
    let (rows, payloads) = encode(messages)?;
    let seen = query(
        "INSERT INTO seen (stream, id, at) SELECT ?2, value ->> 0, ?3 FROM json_each(?1) WHERE true
         ON CONFLICT DO NOTHING",
    )
    .bind(&rows)
    .bind(stream_code(stream))
    .bind(now.millis())
    .execute(&mut *conn)
    .await?;
    if seen.rows_affected() == 0 {
        return Ok((0, high));
    }
    // An id seen before has an older sequence number: only the new ones are above `high`.
    let stored = query(
        "INSERT INTO message
             (seq, stream, queue, subject, id, published_at, payload, traceparent)
         SELECT seen.seq, ?2, row.value ->> 1, row.value ->> 2, seen.id, ?3,
             substr(?4, row.value ->> 3, row.value ->> 4), row.value ->> 5
         FROM json_each(?1) AS row CROSS JOIN seen
             ON seen.stream = ?2 AND seen.id = row.value ->> 0
         WHERE seen.seq > ?5",
    )
    .bind(&rows)
    .bind(stream_code(stream))
    .bind(now.millis())
    .bind(payloads)
    .bind(high)
    .execute(&mut *conn)
    .await?;
    if stored.rows_affected() != seen.rows_affected() {
        // Never confirm a message that was not stored.
        return Err(sqlx::Error::Protocol("the bus file lost count of its messages".into()));
    }
    Ok((stored.rows_affected(), stored.last_insert_rowid().max(seen.last_insert_rowid())))
}

/// Encodes the rows as JSON (`[id, queue, subject, start, length, traceparent]`, start from 1) and
/// their payloads in one piece; of messages with the same id, the first.
fn encode(messages: &[RoutedMessage]) -> Result<(String, Vec<u8>), sqlx::Error> {
    let mut ids = HashSet::with_capacity(messages.len());
    let mut payloads = Vec::with_capacity(messages.iter().map(|m| m.message.payload.len()).sum());
    let mut rows = Vec::with_capacity(messages.len());
    for routed in messages {
        let message = &routed.message;
        if !ids.insert(message.id.as_str()) {
            continue;
        }
        let queue = routed.queue();
        let start = payloads.len() + 1;
        payloads.extend_from_slice(&message.payload);
        let trace = message.trace.as_ref().map(TraceContext::header);
        rows.push((&message.id, queue, &message.subject, start, message.payload.len(), trace));
    }
    Ok((json(&rows)?, payloads))
}

fn json(value: &impl serde::Serialize) -> Result<String, sqlx::Error> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(error.into()))
}

/// Writes the changes that so far are only in memory.
async fn save(conn: &mut SqliteConnection, changes: &Changes) -> Result<(), sqlx::Error> {
    if !changes.positions.is_empty() {
        save_positions(conn, changes).await?;
        save_postponed(conn, changes).await?;
    }
    for letter in &changes.dead_letters {
        dead::insert(conn, letter).await?;
    }
    if !changes.finished.is_empty() {
        let mut finished = changes.finished.clone();
        finished.sort_unstable();
        query("DELETE FROM message WHERE seq IN (SELECT value FROM json_each(?1))")
            .bind(json(&finished)?)
            .execute(conn)
            .await?;
    }
    Ok(())
}

async fn save_positions(conn: &mut SqliteConnection, changes: &Changes) -> Result<(), sqlx::Error> {
    let mut rows = Vec::with_capacity(changes.positions.len());
    for (_, saved) in &changes.positions {
        let stream = stream_code(saved.stream);
        rows.push((&saved.name, stream, &saved.queue, saved.cursor, json(&saved.held)?));
    }
    query(
        "INSERT INTO consumer (name, stream, queue, cursor, held)
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
         FROM json_each(?1) WHERE true
         ON CONFLICT (name) DO UPDATE SET cursor = excluded.cursor, held = excluded.held",
    )
    .bind(json(&rows)?)
    .execute(conn)
    .await?;
    Ok(())
}

async fn save_postponed(conn: &mut SqliteConnection, changes: &Changes) -> Result<(), sqlx::Error> {
    let (mut set, mut unset) = (Vec::new(), Vec::new());
    for (_, saved) in &changes.positions {
        for (&seq, entry) in &saved.postponed {
            match entry {
                Some(e) => set.push((&saved.name, seq, e.attempts, e.not_before.millis())),
                None => unset.push((&saved.name, seq)),
            }
        }
    }
    if !set.is_empty() {
        query(
            "INSERT INTO postponed (consumer, seq, attempts, not_before)
             SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3
             FROM json_each(?1) WHERE true
             ON CONFLICT (consumer, seq) DO UPDATE SET
                 attempts = excluded.attempts, not_before = excluded.not_before",
        )
        .bind(json(&set)?)
        .execute(&mut *conn)
        .await?;
    }
    if !unset.is_empty() {
        query(
            "DELETE FROM postponed WHERE (consumer, seq) IN
                 (SELECT value ->> 0, value ->> 1 FROM json_each(?1))",
        )
        .bind(json(&unset)?)
        .execute(conn)
        .await?;
    }
    Ok(())
}

/// Deletes old ids and shrinks the file after a peak, one batch at a time; `true` if more remains.
async fn tidy(
    conn: &mut SqliteConnection,
    before: i64,
    now: Timestamp,
) -> Result<bool, sqlx::Error> {
    // Ids are in the order of their times, so that the oldest need no index on the time. Those that a
    // wrong clock put into the future would keep all behind them.
    let forgotten = query(
        "DELETE FROM seen WHERE seq IN (SELECT seq FROM
             (SELECT seq, at FROM seen ORDER BY seq LIMIT ?2) WHERE at < ?1 OR at > ?3)",
    )
    .bind(before)
    .bind(ID_PURGE_BATCH)
    .bind(now.plus(LATEST).millis())
    .execute(&mut *conn)
    .await?;
    let free: i64 = query_scalar("PRAGMA freelist_count").fetch_one(&mut *conn).await?;
    if free > SPARE_PAGES {
        query("PRAGMA incremental_vacuum(256)").execute(conn).await?;
    }
    Ok(forgotten.rows_affected() == ID_PURGE_BATCH.unsigned_abs())
}

/// Frees free pages, all of them where nobody waits, and truncates the WAL unless there are readers, so
/// that handled messages do not remain on disk. Returns whether the WAL is empty.
pub(super) async fn checkpoint_wal(
    conn: &mut SqliteConnection,
    due: DueCheckpoint,
) -> Result<bool, sqlx::Error> {
    let free = match due {
        DueCheckpoint::Idle => "PRAGMA incremental_vacuum",
        // Of what a large backlog leaves, `tidy` frees more with each round.
        DueCheckpoint::Busy => "PRAGMA incremental_vacuum(1024)",
    };
    query(free).execute(&mut *conn).await?;
    // A reader may take long, and all publishers would wait for it.
    query(WAIT_FOR_NONE).execute(&mut *conn).await?;
    // Its row tells whether somebody was in the way; only other obstacles are errors.
    let busy: Result<i64, _> = query_scalar(EMPTY_WAL).fetch_one(&mut *conn).await;
    query(WAIT_FOR_OTHERS).execute(conn).await?;
    Ok(busy? == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::schema;

    #[tokio::test]
    async fn ids_of_a_clock_that_was_ahead_keep_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = schema::writer(folder.path()).await.unwrap();
        let now = Timestamp::from_millis(1_800_000_000_000);
        let [before, day] = [now.millis() - 600_000, 86_400_000];
        let ahead = "
            INSERT INTO seen (stream, id, at)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
            SELECT 0, 'ahead ' || i, ?1 FROM n";
        let ahead = query(ahead).bind(now.millis() + day).bind(ID_PURGE_BATCH);
        ahead.execute(&mut conn).await.unwrap();
        let fast = now.millis() + 60_000;
        for (id, at) in [("old", before - 1), ("recent", before), ("of a fast clock", fast)] {
            let add = "INSERT INTO seen (stream, id, at) VALUES (0, ?1, ?2)";
            query(add).bind(id).bind(at).execute(&mut conn).await.unwrap();
        }
        let group = Group { forget_before: Some(before), ..Group::default() };
        while write(&mut conn, &group, now, 0).await.unwrap().more_to_forget {}
        let left: Vec<String> =
            query_scalar("SELECT id FROM seen ORDER BY seq").fetch_all(&mut conn).await.unwrap();
        assert_eq!(left, ["recent", "of a fast clock"]);
    }
}
