//! Checks the activity counters against messages and files.

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::super::StoreError;
use super::super::db::Tx;
use super::{Check, Difference};
use crate::activity::{DELETE_COUNTERS, DIFFERENCES, RECOUNT};
use crate::query::{query, query_as};

/// Maximum number of reported differences of a channel.
const MOST: i64 = 100;

#[derive(Debug, sqlx_macros::FromRow)]
struct DifferenceRow {
    counter: String,
    at: i64,
    item: String,
    messages: i64,
    bytes: i64,
    true_messages: i64,
    true_bytes: i64,
}

pub(super) async fn audit(tx: &mut Tx, channel: &ChannelId) -> Result<Vec<Difference>, StoreError> {
    let rows: Vec<DifferenceRow> =
        tx.fetch_all(query_as(DIFFERENCES).bind(channel.as_str()).bind(MOST)).await?;
    let words = |messages, bytes| format!("{messages} messages, {bytes} bytes");
    let difference = |row: DifferenceRow| {
        let mut place = format!("{channel} {}", row.counter);
        if row.counter != "type" {
            place = format!("{place} {}", Timestamp::from_millis(row.at));
        }
        if !row.item.is_empty() {
            place = format!("{place} {}", row.item);
        }
        let recorded = words(row.messages, row.bytes);
        Difference::new(Check::Activity, place, recorded, words(row.true_messages, row.true_bytes))
    };
    Ok(rows.into_iter().map(difference).collect())
}

/// Recounts the counters; the channel has to be locked.
pub(super) async fn mend(tx: &mut Tx, channel: &ChannelId) -> Result<(), StoreError> {
    tx.execute(query(DELETE_COUNTERS).bind(channel.as_str())).await?;
    tx.execute(query(RECOUNT).bind(channel.as_str())).await?;
    Ok(())
}
