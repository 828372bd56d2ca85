//! Reads messages for consumers, on read-only connections.

use chatkeep_core::time::Timestamp;
use futures_util::{Stream as AsyncStream, TryStreamExt as _};
use sqlx::sqlite::SqlitePool;
use sqlx::{query_as, query_scalar};

use super::Inner;
use super::position::{Position, Scan};
use super::schema::stream_code;
use crate::delivery::FETCH_BYTES;
use crate::{BusError, ConsumerSpec, Stream};

/// Sequence number, subject, id, payload, time of publishing, `true` if for one consumer only, and
/// the trace that it continues.
pub(super) type Row = (i64, String, String, Vec<u8>, i64, bool, Option<String>);

/// Filter of the messages of a consumer.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) name: String,
    stream: Stream,
    queue: Option<String>,
}

impl Filter {
    pub(super) fn of(position: &Position) -> Self {
        Self {
            name: position.name().to_owned(),
            stream: position.stream(),
            queue: position.queue().map(str::to_owned),
        }
    }

    /// Returns the next messages for this consumer, in order of publishing, and `true` if there were
    /// no more of them.
    pub(super) async fn read(
        &self,
        pool: &SqlitePool,
        scan: Scan,
    ) -> Result<(Vec<Row>, bool), BusError> {
        let text = match self.stream {
            // Events have no queue.
            Stream::Events => {
                "SELECT seq, subject, id, payload, published_at, only_consumer IS NOT NULL, traceparent
                 FROM message WHERE stream = 0 AND queue = '' AND seq > ?1
                     AND (only_consumer IS NULL OR only_consumer = ?3)
                 ORDER BY seq LIMIT ?2"
            }
            Stream::Jobs if self.queue.is_some() => {
                "SELECT seq, subject, id, payload, published_at, only_consumer IS NOT NULL,
                     traceparent
                 FROM message WHERE stream = 1 AND queue = ?4 AND seq > ?1
                     AND (only_consumer IS NULL OR only_consumer = ?3)
                 ORDER BY seq LIMIT ?2"
            }
            Stream::Jobs => {
                "SELECT seq, subject, id, payload, published_at, only_consumer IS NOT NULL,
                     traceparent
                 FROM message WHERE +stream = 1 AND seq > ?1
                     AND (only_consumer IS NULL OR only_consumer = ?3)
                 ORDER BY seq LIMIT ?2"
            }
        };
        let rows = query_as(text)
            .bind(scan.cursor)
            .bind(i64::try_from(scan.limit).unwrap_or(i64::MAX))
            .bind(&self.name);
        let rows = if let Some(queue) = &self.queue { rows.bind(queue) } else { rows };
        within(scan.limit, rows.fetch(pool)).await
    }
}

/// Takes rows until there are `limit` of them or their payloads have [`FETCH_BYTES`]. Returns `true`
/// with them if there were no more.
async fn within(
    limit: usize,
    mut stream: impl AsyncStream<Item = Result<Row, sqlx::Error>> + Unpin,
) -> Result<(Vec<Row>, bool), BusError> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while bytes < FETCH_BYTES && rows.len() < limit {
        let Some(row) = stream.try_next().await? else { return Ok((rows, true)) };
        bytes += row.3.len();
        rows.push(row);
    }
    Ok((rows, false))
}

/// Returns messages by sequence number, in its order, and `true` if these are all that there are.
pub(super) async fn read_again(
    pool: &SqlitePool,
    seqs: &[i64],
) -> Result<(Vec<Row>, bool), BusError> {
    let list = serde_json::to_string(seqs).map_err(|error| sqlx::Error::Encode(error.into()))?;
    let rows = query_as(
        "SELECT seq, subject, id, payload, published_at, only_consumer IS NOT NULL,
                     traceparent
         FROM message WHERE seq IN (SELECT value FROM json_each(?1)) ORDER BY seq",
    )
    .bind(list);
    // One more than there can be: their end is seen.
    within(seqs.len() + 1, rows.fetch(pool)).await
}

/// Returns the time at which the oldest unfinished message of a consumer was published.
pub(super) async fn oldest_of(
    bus: &Inner,
    name: &str,
    stream: Stream,
    queue: Option<&str>,
) -> Result<Option<Timestamp>, BusError> {
    let (cursor, outstanding) = {
        let mut state = bus.shared.state();
        let Some(key) = state.find(name) else { return Ok(None) };
        let position = state.position(key);
        (position.cursor(), position.first_outstanding())
    };
    let published: Option<i64> = query_scalar(
        // What is outstanding was published before what the consumer has yet to read.
        "SELECT published_at FROM message WHERE seq = coalesce(?5, (
             SELECT seq FROM message WHERE +stream = ?1 AND seq > ?2
                 AND (?3 IS NULL OR queue = ?3) AND (only_consumer IS NULL OR only_consumer = ?4)
             ORDER BY seq LIMIT 1))",
    )
    .bind(stream_code(stream))
    .bind(cursor)
    .bind(queue.filter(|_| stream == Stream::Jobs))
    .bind(name)
    .bind(outstanding)
    .fetch_optional(&bus.readers)
    .await?;
    Ok(published.map(Timestamp::from_millis))
}

/// Counts the unfinished messages of a consumer.
pub(super) async fn backlog(bus: &Inner, spec: &ConsumerSpec) -> Result<u64, BusError> {
    backlog_of(bus, spec.name, spec.stream, spec.queue).await
}

/// Counts the unfinished messages of a consumer given by its properties.
pub(super) async fn backlog_of(
    bus: &Inner,
    name: &str,
    stream: Stream,
    queue: Option<&str>,
) -> Result<u64, BusError> {
    let (cursor, outstanding) = {
        let mut state = bus.shared.state();
        let Some(key) = state.find(name) else {
            return Err(BusError::Config(format!("unknown consumer {name}")));
        };
        let position = state.position(key);
        (position.cursor(), position.outstanding() as u64)
    };
    let ahead: i64 = query_scalar(
        "SELECT count(*) FROM message WHERE stream = ?1 AND seq > ?2
             AND (?3 IS NULL OR queue = ?3) AND (only_consumer IS NULL OR only_consumer = ?4)",
    )
    .bind(stream_code(stream))
    .bind(cursor)
    .bind(queue.filter(|_| stream == Stream::Jobs))
    .bind(name)
    .fetch_one(&bus.readers)
    .await?;
    Ok(outstanding + ahead.unsigned_abs())
}
