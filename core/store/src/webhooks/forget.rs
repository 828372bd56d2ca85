//! Deletes stored webhook responses, which may repeat a message's content, with the message.

use chatkeep_core::id::{ChannelId, MessageId};

use super::super::StoreError;
use super::super::db::Tx;
use super::super::ingest::BulkKey;
use crate::query::query;

const FORGET: &str = "
    UPDATE webhook_deliveries SET answer = NULL
    WHERE answer IS NOT NULL AND (channel_id, subject_id) IN (
        SELECT value ->> 'c', value ->> 'm' FROM json_each($1))";
const FORGET_IN: &str = "
    UPDATE webhook_deliveries SET answer = NULL
    WHERE answer IS NOT NULL AND channel_id = $1
      AND subject_id IN (SELECT value ->> 'm' FROM json_each($2))";

/// Deletes responses that may repeat the content of these messages from before they were changed or
/// retracted.
pub(crate) async fn delete_responses<'a>(
    tx: &mut Tx,
    changed: impl Iterator<Item = &'a (ChannelId, MessageId)>,
) -> Result<(), StoreError> {
    let keys: Vec<_> =
        changed.map(|(c, m)| BulkKey { c: c.as_str(), m: Some(m.as_str()) }).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let keys = serde_json::to_string(&keys)?;
    tx.execute(query(FORGET).bind(&keys)).await?;
    Ok(())
}

/// Deletes the responses for messages of one channel, given as a JSON list.
pub(crate) async fn delete_responses_in(
    tx: &mut Tx,
    channel: &ChannelId,
    messages: &str,
) -> Result<(), StoreError> {
    tx.execute(query(FORGET_IN).bind(channel.as_str()).bind(messages)).await?;
    Ok(())
}
