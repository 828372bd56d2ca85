//! Deletes with a message what deliveries have of it: responses, which may repeat its content, and the
//! properties of one that is not stored.

use chatkeep_core::id::{ChannelId, MessageId};

use super::super::StoreError;
use super::super::db::Tx;
use super::super::ingest::BulkKey;
use super::fan_out::wait_for_fan_out;
use crate::query::query;

const FORGET: &str = "
    UPDATE webhook_deliveries SET answer = NULL
    WHERE answer IS NOT NULL AND (channel_id, subject_id) IN (
        SELECT value ->> 'c', value ->> 'm' FROM json_each($1))";
const FORGET_IN: &str = "
    UPDATE webhook_deliveries SET answer = NULL
    WHERE answer IS NOT NULL AND channel_id = $1
      AND subject_id IN (SELECT value ->> 'm' FROM json_each($2))";

/// Copies of the events about unstored messages; of an unsend the copy names nobody, and is to be
/// delivered.
const RETRACT: &str = "
    UPDATE webhook_deliveries SET unstored = NULL
    WHERE unstored IS NOT NULL AND type <> 'message.unsent' AND (channel_id, subject_id) IN (
        SELECT value ->> 'c', value ->> 'm' FROM json_each($1))";

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

/// Deletes what deliveries have of unstored messages, given by a JSON list of keys; those that are not
/// made yet will be dropped.
pub(crate) async fn retract_deliveries(tx: &mut Tx, keys: &str) -> Result<(), StoreError> {
    wait_for_fan_out(tx).await?;
    tx.execute(query(RETRACT).bind(keys)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::RETRACT;
    use crate::plan::plan;

    #[tokio::test]
    async fn other_deliveries_are_not_examined() {
        let steps = plan(RETRACT).await.join("\n");
        assert!(steps.contains("webhook_deliveries_unstored (channel_id=?"), "{steps}");
    }
}
