//! Statements of PostgreSQL for messages that are not stored yet, nearly all that come: plain inserts
//! from arrays. Looking for a message of the same key and inserting it in one would take half as long
//! again, and reading the rows from JSON as long again.

use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::message::{MessageState, MessageType};
use chatkeep_core::time::Timestamp;
use sqlx::error::DatabaseError;

use super::batch::save_pending;
use super::fresh::FreshMessage;
use super::sql::pending;
use crate::StoreError;
use crate::arrays::Column;
use crate::db::Tx;
use crate::outbox_kind::OutboxEventKind;

const ADD: &str = "
    INSERT INTO messages (channel_id, message_id, sent_at, backed_up_at, sender_id, type, content,
                          quoted_id)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[],
                         $6::text[], $7::text[], $8::text[])";

/// The type and the time of logging are the same for all.
const LOG: &str = "
    INSERT INTO outbox_events (type, at, logged_at, channel_id, subject_id)
    SELECT ($4::text[])[1], at, ($5::bigint[])[1], channel_id, subject_id
    FROM unnest($1::bigint[], $2::text[], $3::text[]) AS l (at, channel_id, subject_id)";

/// Stores people's messages by key, with their files to be fetched and their events, without counting
/// them. `false` when one is stored already: the transaction can only be rolled back then.
pub(super) async fn store(
    tx: &mut Tx,
    fresh: &[FreshMessage],
    now: Timestamp,
) -> Result<bool, StoreError> {
    match add(tx, fresh).await {
        Ok(_) => {}
        Err(error) if is_known(&error) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    let media = fresh.iter().filter(|new| new.state.kind.is_some_and(MessageType::is_media));
    let media: Vec<_> = media.map(|new| pending(&new.key, &new.state)).collect();
    save_pending(tx, &media, now).await?;
    log(tx, fresh, now).await?;
    Ok(true)
}

async fn add(tx: &mut Tx, fresh: &[FreshMessage]) -> Result<u64, sqlx::Error> {
    let texts =
        |of: fn(&FreshMessage) -> Option<&str>| Column::Text(fresh.iter().map(of).collect());
    let times = |of: fn(&MessageState) -> Option<Timestamp>| {
        Column::Int(fresh.iter().map(|new| of(&new.state).map(Timestamp::millis)).collect())
    };
    let columns = vec![
        texts(|new| Some(new.key.0.as_str())),
        texts(|new| Some(new.key.1.as_str())),
        times(|state| state.sent_at),
        times(|state| state.backed_up_at),
        texts(|new| new.state.sender.as_ref().map(UserId::as_str)),
        texts(|new| new.state.kind.map(MessageType::name)),
        texts(|new| new.state.content.as_deref()),
        texts(|new| new.state.quoted.as_ref().map(MessageId::as_str)),
    ];
    tx.execute_rows(ADD, columns).await
}

/// Returns `true` for the failure to insert a message that is stored already.
fn is_known(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(DatabaseError::is_unique_violation)
}

/// Logs the events of the messages, in the order of their changes.
async fn log(tx: &mut Tx, fresh: &[FreshMessage], now: Timestamp) -> Result<(), StoreError> {
    let mut events: Vec<_> = fresh.iter().collect();
    events.sort_unstable_by_key(|new| new.nth);
    let kind = OutboxEventKind::of_message(false).name();
    let columns = vec![
        Column::Int(events.iter().map(|new| new.state.sent_at.map(Timestamp::millis)).collect()),
        Column::Text(events.iter().map(|new| Some(new.key.0.as_str())).collect()),
        Column::Text(events.iter().map(|new| Some(new.key.1.as_str())).collect()),
        Column::Text(vec![Some(kind)]),
        Column::Int(vec![Some(now.millis())]),
    ];
    tx.execute_rows(LOG, columns).await?;
    tx.note_logged();
    Ok(())
}
