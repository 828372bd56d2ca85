//! Events about unstored messages: the log holds one of each for a while, with sender and time.
//! Whoever read it learns that the message was unsent, or its sender erased.

use std::collections::HashMap;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::super::StoreError;
use super::super::db::{Sql, Tx};
use super::super::outbox_kind::OutboxEventKind;
use super::super::outbox_log::{NewMessageEvent, NewOutboxEvent, log};
use super::super::webhooks::{delete_responses_in, retract_deliveries};
use super::batch::MessageKey;
use super::sql::BulkKey;
use crate::parsed;
use crate::query::{query, query_as};
use crate::unstored::UnstoredMessage;

/// Row of the log about an unstored message.
#[derive(Debug, sqlx_macros::FromRow)]
struct UnstoredEventRow {
    channel_id: String,
    subject_id: String,
    at: i64,
    unstored: String,
}

/// Those about messages by their keys. LATERAL as in [`super::sql::KNOWN_MESSAGES`].
const BY_KEY: Sql = Sql {
    sqlite: "SELECT e.channel_id, e.subject_id, e.at, e.unstored
             FROM json_each($1) k CROSS JOIN outbox_events e
             WHERE e.channel_id = k.value ->> 'c' AND e.subject_id = k.value ->> 'm'
               AND e.unstored IS NOT NULL AND e.type <> 'message.unsent'",
    postgres: "SELECT e.channel_id, e.subject_id, e.at, e.unstored
               FROM json_each($1) k CROSS JOIN LATERAL (
                   SELECT * FROM outbox_events
                   WHERE channel_id = k.value ->> 'c' AND subject_id = k.value ->> 'm'
                     AND unstored IS NOT NULL LIMIT 1) e
               WHERE e.type <> 'message.unsent'",
};

/// Those about messages that a person sent in a channel before a time.
const OF_PERSON: Sql = Sql {
    sqlite: "SELECT channel_id, subject_id, at, unstored FROM outbox_events
             WHERE channel_id = $1 AND unstored IS NOT NULL AND type <> 'message.unsent'
               AND unstored ->> 'sender' = $2 AND at < $3",
    postgres: "SELECT channel_id, subject_id, at, unstored FROM outbox_events
               WHERE channel_id = $1 AND unstored IS NOT NULL AND type <> 'message.unsent'
                 AND CAST(unstored AS JSON) ->> 'sender' = $2 AND at < $3",
};

/// The row stays, because readers may stand at it; nothing is left in it of the message.
const RETRACT: &str = "
    UPDATE outbox_events SET unstored = NULL
    WHERE unstored IS NOT NULL AND (channel_id, subject_id) IN (
        SELECT value ->> 'c', value ->> 'm' FROM json_each($1))";

/// Erases the events about the unstored messages with these keys, and their deliveries. Returns the content of the
/// `message.unsent` event of each.
pub(super) async fn retract_unstored(
    tx: &mut Tx,
    keys: &str,
) -> Result<HashMap<MessageKey, UnstoredMessage>, StoreError> {
    let rows: Vec<UnstoredEventRow> = tx.fetch_all(query_as(BY_KEY).bind(keys)).await?;
    retract(tx, &rows).await
}

/// Logs that the unstored messages that a person sent in a channel before a time were unsent, those
/// of which there was an event.
pub(super) async fn log_erased_unstored(
    tx: &mut Tx,
    channel: &ChannelId,
    person: &UserId,
    before: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (c, at) = (channel.as_str(), before.millis());
    let rows: Vec<UnstoredEventRow> =
        tx.fetch_all(query_as(OF_PERSON).bind(c).bind(person.as_str()).bind(at)).await?;
    if rows.is_empty() {
        return Ok(());
    }
    let retracted = retract(tx, &rows).await?;
    let mut events = Vec::with_capacity(retracted.len());
    for ((_, message), unstored) in &retracted {
        let outbox_event = NewOutboxEvent {
            kind: OutboxEventKind::MessageUnsent.name(),
            at: now.millis(),
            c: Some(c),
            s: Some(message.as_str()),
        };
        let unstored = Some(serde_json::to_string(unstored)?);
        events.push(NewMessageEvent { outbox_event, unstored });
    }
    delete_responses_in(tx, channel, &keys_of(&rows)?).await?;
    log(tx, &events, now).await
}

async fn retract(
    tx: &mut Tx,
    rows: &[UnstoredEventRow],
) -> Result<HashMap<MessageKey, UnstoredMessage>, StoreError> {
    if rows.is_empty() {
        return Ok(HashMap::new());
    }
    let keys = keys_of(rows)?;
    tx.execute(query(RETRACT).bind(&keys)).await?;
    retract_deliveries(tx, &keys).await?;
    rows.iter().map(UnstoredEventRow::retracted).collect()
}

fn keys_of(rows: &[UnstoredEventRow]) -> Result<String, StoreError> {
    let keys = rows.iter().map(|row| BulkKey { c: &row.channel_id, m: Some(&row.subject_id) });
    Ok(serde_json::to_string(&keys.collect::<Vec<_>>())?)
}

impl UnstoredEventRow {
    /// Returns the message, and the content of its `message.unsent` event.
    fn retracted(&self) -> Result<(MessageKey, UnstoredMessage), StoreError> {
        let logged: Option<UnstoredMessage> = serde_json::from_str(&self.unstored).ok();
        let logged = parsed(logged, "outbox_events", "unstored", &self.subject_id)?;
        let key = (self.channel_id.as_str().into(), self.subject_id.as_str().into());
        Ok((key, logged.retracted(Timestamp::from_millis(self.at))))
    }
}

#[cfg(test)]
mod tests {
    use super::{BY_KEY, OF_PERSON, RETRACT};
    use crate::plan::plan;

    #[tokio::test]
    async fn other_events_are_not_examined() {
        for statement in [BY_KEY.sqlite, OF_PERSON.sqlite, RETRACT] {
            let steps = plan(statement).await.join("\n");
            assert!(steps.contains("outbox_events_unstored (channel_id=?"), "{steps}");
        }
    }
}
