//! Start of the gaps without any subscription.
//!
//! A message is stored if somebody subscribes to its channel when it is handled: what nobody pays
//! for any more does not grow. So one that was sent before the last subscription was cancelled, and
//! is handled after that, is missing, and the gap begins where it was sent.

use std::collections::BTreeSet;

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use serde::Serialize;

use super::super::StoreError;
use super::super::db::Tx;
use crate::query::query;

/// One end for each subscribed time in which messages are missing, with the first of them. In the
/// same millisecond the end counts, as everywhere: it sorts behind.
const BEGIN_GAPS: &str = "
    WITH list AS MATERIALIZED (
        SELECT value ->> 'c' AS channel_id, CAST(value ->> 'at' AS BIGINT) AS sent_at
        FROM json_each($1)
    ), missing AS MATERIALIZED (
        SELECT list.channel_id, list.sent_at,
               (SELECT CASE WHEN p.kind = 'subscribed' THEN p.at END
                FROM coverage_changes p
                WHERE p.channel_id = list.channel_id AND p.at <= list.sent_at
                  AND p.kind IN ('subscribed', 'unsubscribed')
                ORDER BY p.at DESC, p.kind DESC LIMIT 1) AS since
        FROM list
    )
    INSERT INTO coverage_changes (channel_id, at, kind)
    SELECT channel_id, MIN(sent_at), 'unsubscribed' FROM missing
    WHERE since IS NOT NULL GROUP BY channel_id, since
    ON CONFLICT (channel_id, at, kind) DO NOTHING";

/// Message that was not stored.
#[derive(Serialize)]
struct Missing<'a> {
    c: &'a str,
    at: i64,
}

/// Begins gaps with messages, by channel and time of sending, that nobody subscribed to when they
/// were handled; those of a time that is a gap already change nothing.
pub(super) async fn begin_gaps(
    tx: &mut Tx,
    messages: &BTreeSet<(ChannelId, Timestamp)>,
) -> Result<(), StoreError> {
    if messages.is_empty() {
        return Ok(());
    }
    let missing = messages.iter().map(|(c, at)| Missing { c: c.as_str(), at: at.millis() });
    let rows = serde_json::to_string(&missing.collect::<Vec<_>>())?;
    tx.execute(query(BEGIN_GAPS).bind(&rows)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::BEGIN_GAPS;
    use crate::plan::plan;

    #[tokio::test]
    async fn one_change_is_looked_up_for_each_message() {
        let steps = plan(BEGIN_GAPS).await;
        let lookup = "SEARCH p USING PRIMARY KEY (channel_id=? AND at<?)";
        assert!(steps.iter().any(|step| step == lookup), "{steps:?}");
    }
}
