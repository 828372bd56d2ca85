//! Writes events to the outbox, in the transaction of the change that they report.

use chatkeep_core::time::Timestamp;

use super::StoreError;
use super::db::{Sql, Tx};
use crate::query::{query, query_as};

/// Event to log.
#[derive(Debug, serde::Serialize)]
pub(super) struct NewOutboxEvent<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) at: i64,
    pub(super) c: Option<&'a str>,
    pub(super) s: Option<&'a str>,
}

/// Event with a further subject to log.
#[derive(Debug, serde::Serialize)]
pub(super) struct NewDetailedEvent<'a> {
    #[serde(flatten)]
    pub(super) outbox_event: NewOutboxEvent<'a>,
    /// Further subject: the webhook, or the times of imported messages.
    pub(super) detail: &'a str,
}

/// Event for one user to log.
#[derive(Debug, serde::Serialize)]
pub(super) struct NewPersonalEvent<'a> {
    #[serde(flatten)]
    pub(super) outbox_event: NewOutboxEvent<'a>,
    /// Further subject.
    pub(super) detail: &'a str,
    /// Only user who may know of it.
    pub(super) to: &'a str,
}

/// Logged event for one user about something in a channel.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct LoggedPersonalEvent {
    /// Its sequence number.
    pub(super) seq: i64,
    pub(super) detail_id: String,
    pub(super) channel_id: String,
    pub(super) subject_id: String,
}

/// Event of a message to log.
#[derive(Debug, serde::Serialize)]
pub(super) struct NewMessageEvent<'a> {
    #[serde(flatten)]
    pub(super) outbox_event: NewOutboxEvent<'a>,
    /// [`UnstoredMessage`] as JSON, for an unstored message.
    pub(super) unstored: Option<String>,
}

/// Builds the statement that logs events. An unstored message is logged once, however often it
/// comes. SQLite reads elements in its binary form: their text would be made, and read, anew for each
/// column.
macro_rules! add {
    ($returning:literal) => {
        Sql { sqlite: add!("jsonb_each", $returning), postgres: add!("json_each", $returning) }
    };
    ($each:literal, $returning:literal) => {
        concat!(
            "INSERT INTO outbox_events (type, at, logged_at, channel_id, subject_id, unstored,
                                        detail_id, recipient_id)
             SELECT value ->> 'type', CAST(value ->> 'at' AS BIGINT), CAST($2 AS BIGINT),
                    value ->> 'c', value ->> 's', value ->> 'unstored', value ->> 'detail',
                    value ->> 'to'
             FROM ",
            $each,
            "($1) WHERE TRUE
             ON CONFLICT DO NOTHING",
            $returning
        )
    };
}

const ADD: Sql = add!("");
const ADD_PERSONAL: Sql = add!(" RETURNING seq, detail_id, channel_id, subject_id");

/// Logs events in order: [`NewOutboxEvent`]s, [`NewMessageEvent`]s or [`NewDetailedEvent`]s.
pub(super) async fn log<T: serde::Serialize + Sync>(
    tx: &mut Tx,
    outbox_events: &[T],
    now: Timestamp,
) -> Result<(), StoreError> {
    if outbox_events.is_empty() {
        return Ok(());
    }
    let rows = serde_json::to_string(outbox_events)?;
    tx.execute(query(ADD).bind(&rows).bind(now.millis())).await?;
    tx.note_logged();
    Ok(())
}

/// Logs events for one user each, about something in a channel, in order.
pub(super) async fn log_personal(
    tx: &mut Tx,
    events: &[NewPersonalEvent<'_>],
    now: Timestamp,
) -> Result<Vec<LoggedPersonalEvent>, StoreError> {
    let rows = serde_json::to_string(events)?;
    let logged = tx.fetch_all(query_as(ADD_PERSONAL).bind(&rows).bind(now.millis())).await?;
    tx.note_logged();
    Ok(logged)
}
