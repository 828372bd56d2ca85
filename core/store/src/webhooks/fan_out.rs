//! Fan-out of events to deliveries: all processes share one reading position, under its lock.

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::Timestamp;

use super::super::bookmark::{LogWindow, WINDOW_END, WindowRow};
use super::super::db::{Sql, Tx, locking};
use super::super::{OutboxPosition, StoreError, WebhookStore};
use crate::presence_sql::takes_part;
use crate::query::{query, query_as};

/// Maximum number of events fanned out in one transaction.
const WINDOW: i64 = 1_000;

const POSITION: &str = "SELECT tx, seq FROM webhook_outbox_position WHERE id = 1";
/// No process waits for another one that is about to do the same.
const TAKE_POSITION: Sql =
    locking!("SELECT tx, seq FROM webhook_outbox_position WHERE id = 1", " FOR UPDATE SKIP LOCKED");
const WAIT_FOR_POSITION: Sql =
    locking!("SELECT tx, seq FROM webhook_outbox_position WHERE id = 1", " FOR UPDATE");
const SAVE_POSITION: &str = "UPDATE webhook_outbox_position SET tx = $1, seq = $2 WHERE id = 1";

/// Builds the statement that adds a delivery of each event to each webhook that wants it and whose
/// owner may read it; the same rule as for `GET /api/events`. A webhook requests nothing beyond its
/// scopes. Everything is checked again at delivery, by [`chatkeep_core::bounds::Bounds::admit`].
macro_rules! fan_out {
    ($tx:literal, $since:literal, $window:literal) => {
        concat!(
            "INSERT INTO webhook_deliveries
                 (webhook_id, event_id, type, at, channel_id, subject_id, detail_id, unstored,
                  created_at, due_at)
             SELECT webhook_id, 'evt_' || tx || '_' || seq, type, at, channel_id, subject_id,
                    detail_id, unstored, CAST($5 AS BIGINT), CAST($5 AS BIGINT)
             FROM (
                 SELECT w.webhook_id, w.events, w.not_before, h.seq, h.type, h.at, h.channel_id,
                        h.subject_id, h.detail_id, h.unstored, ",
            $tx,
            " AS tx
                 FROM outbox_events h
                 JOIN members m ON m.channel_id = h.channel_id AND ",
            takes_part!("m"),
            " JOIN webhooks w ON w.user_id = m.user_id AND w.enabled = 1
                   AND (w.ends_at IS NULL OR w.ends_at > $5) AND ",
            $since,
            "
                   AND (h.recipient_id IS NULL OR h.recipient_id = w.user_id)
                 WHERE ",
            $window,
            " AND (w.channel_ids IS NULL OR EXISTS (
                       SELECT 1 FROM json_each(w.channel_ids) t
                       WHERE t.value ->> 'c' = h.channel_id))
                   AND (w.bound_channel_ids IS NULL OR EXISTS (
                       SELECT 1 FROM json_each(w.bound_channel_ids) t
                       WHERE t.value ->> 'c' = h.channel_id))
                 UNION ALL
                 SELECT w.webhook_id, w.events, w.not_before, h.seq, h.type, h.at, h.channel_id,
                        h.subject_id, h.detail_id, h.unstored, ",
            $tx,
            " AS tx
                 FROM outbox_events h
                 JOIN webhooks w ON w.user_id = h.subject_id AND w.enabled = 1
                   AND (w.ends_at IS NULL OR w.ends_at > $5) AND ",
            $since,
            "
                   AND w.bound_channel_ids IS NULL
                 WHERE h.channel_id IS NULL AND ",
            $window,
            ") told
             WHERE (not_before IS NULL OR at >= not_before)
               AND EXISTS (SELECT 1 FROM json_each(told.events) t
                           WHERE t.value ->> 't' = told.type)
             ORDER BY tx, seq
             ON CONFLICT (webhook_id, event_id) DO NOTHING"
        )
    };
}

/// Fans out the events between two positions, of which SQLite needs the sequence numbers alone.
///
/// A webhook gets what is beyond the [end of the log](super::super::log_end::LogEnd) at which it was
/// created or enabled. On PostgreSQL a transaction that was under way then may have assigned a
/// sequence number before. One that a process of an earlier version creates has no such end: it gets
/// all that the shared position has not passed. `+` keeps SQLite from reading the log from that end
/// on in place of the window.
const FAN_OUT: Sql = Sql {
    sqlite: fan_out!("0", "+h.seq > w.since_seq", "h.seq > $2 AND h.seq <= $4"),
    postgres: fan_out!(
        "h.tx",
        "(h.seq > w.since_seq
                        OR NOT pg_visible_in_snapshot(h.tx::text::xid8,
                                                      w.since_snapshot::pg_snapshot))",
        "(h.tx, h.seq) > ($1, $2) AND (h.tx, h.seq) <= ($3, $4)"
    ),
};

/// Waits for a fan-out that is under way, and keeps others off until the transaction ends: deliveries of
/// what it changes in the log are there already, or are made afterwards.
pub(super) async fn wait_for_fan_out(tx: &mut Tx) -> Result<(), StoreError> {
    let _: Option<(i64, i64)> = tx.fetch_optional(query_as(WAIT_FOR_POSITION)).await?;
    Ok(())
}

impl WebhookStore<'_> {
    /// Fans out a batch of the new events to deliveries. Returns their number; `None` when there
    /// are no new events or another process is doing it.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn fan_out_webhooks(&self, now: Timestamp) -> Result<Option<u64>, StoreError> {
        // Read first without the lock: mostly there are no new events.
        let (tx, seq): (i64, i64) = self.store.db.fetch_one(query_as(POSITION)).await?;
        let window = query_as(WINDOW_END).bind(tx).bind(seq).bind(WINDOW);
        let row: WindowRow = self.store.db.fetch_one(window).await?;
        if LogWindow::end_of(row).is_none() {
            return Ok(None);
        }
        self.fan_out_next(now).await
    }

    async fn fan_out_next(&self, now: Timestamp) -> Result<Option<u64>, StoreError> {
        let mut tx = self.store.db.begin().await?;
        let from: Option<(i64, i64)> = tx.fetch_optional(query_as(TAKE_POSITION)).await?;
        let Some(from) = from else {
            return Ok(None);
        };
        let window = query_as(WINDOW_END).bind(from.0).bind(from.1).bind(WINDOW);
        let row: WindowRow = tx.fetch_one(window).await?;
        let Some(end) = LogWindow::end_of(row) else {
            return Ok(None);
        };
        let OutboxPosition(end_tx, end_seq) = end.at;
        let made = tx
            .execute(
                query(FAN_OUT)
                    .bind(from.0)
                    .bind(from.1)
                    .bind(end_tx)
                    .bind(end_seq)
                    .bind(now.millis()),
            )
            .await?;
        tx.execute(query(SAVE_POSITION).bind(end_tx).bind(end_seq)).await?;
        tx.commit().await?;
        Ok(Some(made))
    }
}
