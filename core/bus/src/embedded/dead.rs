//! Dead letters of the embedded bus, stored in a table of their own.

use bytes::Bytes;
use chatkeep_core::time::Timestamp;
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{query, query_as, query_scalar};

use super::schema::{stream_code, stream_of};
use super::state::PendingDeadLetter;
use crate::{BusError, DeadLetter, Stream};

type Row = (i64, String, String, String, String, u32, i64, Vec<u8>);

fn letter(row: Row) -> DeadLetter {
    let (id, consumer, subject, message_id, reason, attempts, died_at, payload) = row;
    DeadLetter {
        id: id.to_string(),
        consumer,
        subject,
        message_id,
        reason,
        attempts,
        died_at: Timestamp::from_millis(died_at),
        payload: Bytes::from(payload),
    }
}

/// Returns the oldest `limit` dead letters of a consumer, or of all, with ids above `after`. Ids
/// only ever rise.
pub(super) async fn list(
    pool: &SqlitePool,
    consumer: Option<&str>,
    after: i64,
    limit: usize,
) -> Result<Vec<DeadLetter>, BusError> {
    let rows: Vec<Row> = query_as(
        "SELECT id, consumer, subject, message_id, reason, attempts, died_at, payload
         FROM dead WHERE id > ?2 AND (?3 IS NULL OR consumer = ?3) ORDER BY id LIMIT ?1",
    )
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .bind(after)
    .bind(consumer)
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(letter).collect())
}

/// Returns the number of dead letters.
pub(super) async fn count(pool: &SqlitePool) -> Result<u64, BusError> {
    let count: i64 = query_scalar("SELECT count(*) FROM dead").fetch_one(pool).await?;
    Ok(u64::try_from(count).unwrap_or_default())
}

pub(super) async fn find(pool: &SqlitePool, id: i64) -> Result<Option<DeadLetter>, BusError> {
    let row: Option<Row> = query_as(
        "SELECT id, consumer, subject, message_id, reason, attempts, died_at, payload
         FROM dead WHERE id = ?1",
    )
    .bind(id)
    .fetch_optional(pool)
    .await?;
    Ok(row.map(letter))
}

pub(super) async fn insert(
    conn: &mut SqliteConnection,
    letter: &PendingDeadLetter,
) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO dead (consumer, stream, queue, subject, message_id, reason, attempts, died_at,
             payload)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )
    .bind(&letter.consumer)
    .bind(stream_code(letter.stream))
    .bind(&letter.queue)
    .bind(&letter.subject)
    .bind(&letter.message_id)
    .bind(&letter.reason)
    .bind(letter.attempts)
    .bind(letter.died_at.millis())
    .bind(letter.payload.as_ref())
    .execute(conn)
    .await?;
    Ok(())
}

/// Turns a dead letter back into a message for its consumer alone. Returns its stream and the new
/// sequence number, or `None` when there is no such letter.
pub(super) async fn revive(
    conn: &mut SqliteConnection,
    id: i64,
    now: Timestamp,
) -> Result<Option<(Stream, i64)>, sqlx::Error> {
    // Only for the sequence number: the message keeps its own id, which may still be remembered.
    let seen = query(
        "INSERT INTO seen (stream, id, at) SELECT stream, 'dead letter ' || id, ?2
         FROM dead WHERE id = ?1",
    )
    .bind(id)
    .bind(now.millis())
    .execute(&mut *conn)
    .await?;
    if seen.rows_affected() == 0 {
        return Ok(None);
    }
    let seq = seen.last_insert_rowid();
    let (code,): (i64,) = query_as(
        "INSERT INTO message
             (seq, stream, queue, subject, id, only_consumer, published_at, payload)
         SELECT ?2, stream, queue, subject, message_id, consumer, ?3, payload
         FROM dead WHERE id = ?1 RETURNING stream",
    )
    .bind(id)
    .bind(seq)
    .bind(now.millis())
    .fetch_one(&mut *conn)
    .await?;
    delete(conn, id).await?;
    let stream = stream_of(code);
    let stream = stream.ok_or_else(|| sqlx::Error::Decode("an unknown stream".into()))?;
    Ok(Some((stream, seq)))
}

/// Deletes a dead letter; `false` when there is none of that id.
pub(super) async fn delete(conn: &mut SqliteConnection, id: i64) -> Result<bool, sqlx::Error> {
    let done = query("DELETE FROM dead WHERE id = ?1").bind(id).execute(conn).await?;
    Ok(done.rows_affected() > 0)
}
