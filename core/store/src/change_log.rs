//! Change log for search replicas, a part of the event log: changed messages, in commit order.
//!
//! Every transaction that changes searchable content writes its rows itself, so no change goes
//! unlogged (docs/architecture.md#rule-2). Rows hold ids only; a reader reads the messages in their
//! present state, so reading a row twice, or late, has the same result.

use std::collections::{BTreeMap, BTreeSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::bookmark::Bookmark;
use super::db::{Sql, Tx};
use super::logged_changes::{LoggedChanges, LoggedMessage, LoggedRow};
use super::{OutboxPosition, OutboxStore, StoreError};
use crate::query::{query, query_as};

/// Maximum number of messages in one row.
const IDS: usize = 500;

/// Type of the rows that only search replicas read; they are shown nowhere.
pub(super) const MESSAGES: &str = "search.messages";
pub(super) const CHANNEL: &str = "search.channel";
const REBUILD: &str = "search.rebuild";

/// Builds a condition that excludes the rows that only search replicas read.
macro_rules! shown {
    () => {
        "type NOT IN ('search.messages', 'search.channel', 'search.rebuild')"
    };
}
pub(super) use shown;

/// State of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogState {
    /// Identity of the log; positions of another epoch mean nothing in this one.
    pub epoch: String,
    /// Last purged row: a reader before this position has missed changes.
    pub purged: OutboxPosition,
    /// Last event that can be read, after which a reader begins that knows everything committed so
    /// far; the last purged one if there is none.
    pub end: Bookmark,
    /// Upper bound of the assigned positions; those beyond it come from another database state.
    pub limit: OutboxPosition,
    /// Last request to rebuild all indexes.
    pub rebuild: Option<OutboxPosition>,
}

/// Request to the search replicas.
#[derive(Clone, Copy, Debug)]
pub enum IndexRequest<'a> {
    /// Reads these messages again.
    Messages(&'a BTreeSet<(ChannelId, MessageId)>),
    /// Indexes this channel anew.
    Channel(&'a ChannelId),
    /// Builds the whole index anew.
    Rebuild,
}

const STATE: Sql = Sql {
    sqlite: "SELECT log_epoch, purged_tx, purged_seq, CAST(0 AS BIGINT) AS end_tx,
                    e.seq AS end_seq, e.logged_at AS end_logged_at,
                    CAST(0 AS BIGINT) AS limit_tx, COALESCE(s.seq, 0) AS limit_seq,
                    r.tx AS rebuild_tx, r.seq AS rebuild_seq
             FROM deployment
             LEFT JOIN sqlite_sequence s ON s.name = 'outbox_events'
             LEFT JOIN (SELECT seq, logged_at FROM outbox_events ORDER BY seq DESC LIMIT 1) e
                 ON TRUE
             LEFT JOIN (SELECT 0 AS tx, MAX(seq) AS seq FROM outbox_events
                        WHERE type = 'search.rebuild') r ON TRUE",
    // Transactions from xmax on have not begun.
    postgres: "SELECT log_epoch, purged_tx, purged_seq, e.tx AS end_tx, e.seq AS end_seq,
                      e.logged_at AS end_logged_at,
                      pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS limit_tx,
                      CAST(0 AS BIGINT) AS limit_seq, r.tx AS rebuild_tx, r.seq AS rebuild_seq
               FROM deployment
               LEFT JOIN LATERAL (SELECT tx, seq, logged_at FROM outbox_events
                          WHERE tx < (SELECT chatkeep_log_bound(pg_current_snapshot()))
                          ORDER BY tx DESC, seq DESC LIMIT 1) e ON TRUE
               LEFT JOIN LATERAL (SELECT tx, seq FROM outbox_events WHERE type = 'search.rebuild'
                          ORDER BY tx DESC, seq DESC LIMIT 1) r ON TRUE",
};

/// Rows between two positions, of which SQLite needs the sequence numbers alone.
const ROWS: Sql = Sql {
    sqlite: "SELECT CAST(0 AS BIGINT) AS tx, seq, type, channel_id, subject_id, message_ids,
                    unstored
             FROM outbox_events
             WHERE seq > $2 AND seq <= $4
             ORDER BY seq",
    postgres: "SELECT tx, seq, type, channel_id, subject_id, message_ids, unstored
               FROM outbox_events
               WHERE (tx, seq) > ($1, $2) AND (tx, seq) <= ($3, $4)
               ORDER BY tx, seq",
};

/// Time of the first row after a position, likewise.
const NEXT: Sql = Sql {
    sqlite: "SELECT logged_at FROM outbox_events WHERE seq > $2 ORDER BY seq LIMIT 1",
    postgres: "SELECT logged_at FROM outbox_events WHERE (tx, seq) > ($1, $2)
               ORDER BY tx, seq LIMIT 1",
};

const ADD: &str = "
    INSERT INTO outbox_events (type, at, logged_at, channel_id, message_ids)
    SELECT value ->> 'type', CAST($2 AS BIGINT), CAST($2 AS BIGINT), value ->> 'c', value ->> 'ids'
    FROM json_each($1)";

const LAST: Sql = Sql {
    sqlite: "SELECT CAST(0 AS BIGINT), seq FROM outbox_events ORDER BY seq DESC LIMIT 1",
    postgres: "SELECT tx, seq FROM outbox_events
               WHERE tx = pg_current_xact_id()::text::bigint ORDER BY seq DESC LIMIT 1",
};

const NEW_EPOCH: Sql = Sql {
    sqlite: "UPDATE deployment
             SET log_epoch = lower(hex(randomblob(16))), purged_tx = 0, purged_seq = 0
             RETURNING log_epoch",
    postgres: "UPDATE deployment
               SET log_epoch = gen_random_uuid()::text, purged_tx = 0, purged_seq = 0
               RETURNING log_epoch",
};

/// The purged position stays: in a restored log, positions are what they were.
const NEXT_EPOCH: Sql = Sql {
    sqlite: "UPDATE deployment SET log_epoch = lower(hex(randomblob(16))) RETURNING log_epoch",
    postgres: "UPDATE deployment SET log_epoch = gen_random_uuid()::text RETURNING log_epoch",
};

#[derive(Debug, sqlx_macros::FromRow)]
struct StateRow {
    log_epoch: String,
    purged_tx: i64,
    purged_seq: i64,
    end_tx: Option<i64>,
    end_seq: Option<i64>,
    end_logged_at: Option<i64>,
    limit_tx: i64,
    limit_seq: i64,
    rebuild_tx: Option<i64>,
    rebuild_seq: Option<i64>,
}

#[derive(Debug, Serialize)]
struct NewRow<'a> {
    r#type: &'static str,
    c: Option<&'a str>,
    /// [`LoggedMessage`] list as JSON.
    ids: Option<String>,
}

/// Logs changed messages, for search replicas.
pub(super) async fn log_messages<'a>(
    tx: &mut Tx,
    messages: impl IntoIterator<Item = (&'a ChannelId, &'a MessageId)>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut channels: BTreeMap<&str, Vec<LoggedMessage<'_>>> = BTreeMap::new();
    for (channel, message) in messages {
        let key = LoggedMessage { m: message.as_str().into() };
        channels.entry(channel.as_str()).or_default().push(key);
    }
    let mut rows = Vec::with_capacity(channels.len());
    for (channel, keys) in &channels {
        for part in keys.chunks(IDS) {
            let ids = Some(serde_json::to_string(part)?);
            rows.push(NewRow { r#type: MESSAGES, c: Some(channel), ids });
        }
    }
    add(tx, &rows, now).await
}

async fn add(tx: &mut Tx, rows: &[NewRow<'_>], now: Timestamp) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows = serde_json::to_string(rows)?;
    tx.execute(query(ADD).bind(&rows).bind(now.millis())).await?;
    tx.note_logged();
    Ok(())
}

/// Starts a new epoch, which invalidates all positions assigned so far, and with them the purged
/// one.
pub(super) async fn begin_epoch(tx: &mut Tx) -> Result<(), StoreError> {
    // RETURNING makes it a query with the same result on both databases.
    let _: (String,) = tx.fetch_one(query_as(NEW_EPOCH)).await?;
    Ok(())
}

/// Starts a new epoch of a restored log, whose rows and purged position are as they were.
pub(super) async fn next_epoch(tx: &mut Tx) -> Result<(), StoreError> {
    let _: (String,) = tx.fetch_one(query_as(NEXT_EPOCH)).await?;
    Ok(())
}

impl LogState {
    /// Returns the last event of the log, as far as it can be read.
    pub fn newest(&self) -> Bookmark {
        // Purged rows were read, whatever the rest of the log says.
        if self.end.at < self.purged { self.purged.into() } else { self.end }
    }

    /// Returns the last position that may have been assigned. Positions beyond it are of another
    /// state of the database: of one that was lost, after a restoration.
    pub fn latest(&self) -> OutboxPosition {
        // On PostgreSQL, what was read may be beyond `end` while older transactions run.
        self.limit.max(self.end.at).max(self.purged)
    }
}

impl OutboxStore<'_> {
    /// Returns the present state of the log.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn log_state(&self) -> Result<LogState, StoreError> {
        let row: StateRow = self.store.db.fetch_one(query_as(STATE)).await?;
        let purged = OutboxPosition(row.purged_tx, row.purged_seq);
        let end = row.end_tx.zip(row.end_seq).map(|(tx, seq)| Bookmark {
            at: OutboxPosition(tx, seq),
            logged_at: row.end_logged_at.map(Timestamp::from_millis),
        });
        Ok(LogState {
            epoch: row.log_epoch,
            purged,
            end: end.unwrap_or_else(|| purged.into()),
            limit: OutboxPosition(row.limit_tx, row.limit_seq),
            rebuild: row.rebuild_tx.zip(row.rebuild_seq).map(|(tx, seq)| OutboxPosition(tx, seq)),
        })
    }

    /// Returns the changes after `after`, from at most `limit` rows of the log; `None` if the
    /// database has lost the event of the bookmark: it is in an earlier state than the reader.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn logged_changes(
        &self,
        after: Bookmark,
        limit: u32,
    ) -> Result<Option<LoggedChanges>, StoreError> {
        let window = self.log_window(after, i64::from(limit)).await?;
        if window.is_lost {
            return Ok(None);
        }
        let Some(end) = window.end else {
            return Ok(Some(LoggedChanges { next: after, ..LoggedChanges::default() }));
        };
        let (from, to) = (after.at, end.at);
        let rows: Vec<LoggedRow> = self
            .store
            .db
            .fetch_all(query_as(ROWS).bind(from.0).bind(from.1).bind(to.0).bind(to.1))
            .await?;
        let more = rows.len() >= limit as usize;
        let mut changes = LoggedChanges { next: end, more, ..LoggedChanges::default() };
        for row in rows {
            changes.take(&row)?;
        }
        Ok(Some(changes))
    }

    /// Returns the time at which the first row after `after` was logged; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn next_logged(
        &self,
        after: OutboxPosition,
    ) -> Result<Option<Timestamp>, StoreError> {
        let row: Option<(i64,)> =
            self.store.db.fetch_optional(query_as(NEXT).bind(after.0).bind(after.1)).await?;
        Ok(row.map(|(at,)| Timestamp::from_millis(at)))
    }

    /// Sends a request to every search replica. A replica has served it once it has read the log up
    /// to the returned position.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn request_indexing<'s>(
        &'s self,
        request: IndexRequest<'s>,
        now: Timestamp,
    ) -> Result<OutboxPosition, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let row = |r#type, c| NewRow { r#type, c, ids: None };
        match request {
            IndexRequest::Messages(messages) => {
                log_messages(&mut tx, messages.iter().map(|(c, m)| (c, m)), now).await?;
            }
            IndexRequest::Channel(channel) => {
                add(&mut tx, &[row(CHANNEL, Some(channel.as_str()))], now).await?;
            }
            IndexRequest::Rebuild => add(&mut tx, &[row(REBUILD, None)], now).await?,
        }
        let last: Option<(i64, i64)> = tx.fetch_optional(query_as(LAST)).await?;
        tx.commit().await?;
        Ok(last.map_or_else(OutboxPosition::default, |(tx, seq)| OutboxPosition(tx, seq)))
    }
}
