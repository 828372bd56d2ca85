//! Quota gaps: one is open only while backup is paused, there is at most one, and none ends before
//! it begins.

use chatkeep_core::id::ChannelId;

use super::super::StoreError;
use super::super::db::Tx;
use super::super::ledger::{Ledger, SubscriberRow};
use super::super::subscriptions::SUBSCRIBERS;
use super::{Check, Difference};
use crate::query::{query, query_as};

const GAPS: &str = "
    SELECT from_at, to_at, reason FROM gaps
    WHERE channel_id = $1 AND (to_at = 0 OR to_at < from_at) ORDER BY reason, from_at";

/// A gap that ends before it begins ends where it begins.
const TURN: &str = "
    UPDATE gaps SET to_at = from_at WHERE channel_id = $1 AND to_at <> 0 AND to_at < from_at";
/// Of several open gaps the latest stays open, and the others end where the next one begins.
const CLOSE: &str = "
    UPDATE gaps SET to_at = (SELECT MIN(g.from_at) FROM gaps g
                             WHERE g.channel_id = gaps.channel_id AND g.reason = gaps.reason
                               AND g.from_at > gaps.from_at)
    WHERE channel_id = $1 AND to_at = 0
      AND EXISTS (SELECT 1 FROM gaps g
                  WHERE g.channel_id = gaps.channel_id AND g.reason = gaps.reason
                    AND g.from_at > gaps.from_at AND g.to_at = 0)";

pub(super) async fn audit(tx: &mut Tx, channel: &ChannelId) -> Result<Vec<Difference>, StoreError> {
    let c = channel.as_str();
    let gaps: Vec<(i64, i64, String)> = tx.fetch_all(query_as(GAPS).bind(c)).await?;
    if gaps.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<SubscriberRow> = tx.fetch_all(query_as(SUBSCRIBERS).bind(c)).await?;
    let paused = Ledger::new([channel.clone()], rows)?.paused(channel);
    let mut found = Vec::new();
    let mut open = None;
    for (from, to, reason) in gaps {
        let place = format!("{c} {reason} from {from}");
        if to != 0 {
            found.push(Difference::new(
                Check::Gap,
                place,
                format!("until {to}"),
                "not before it begins",
            ));
        } else if !paused {
            found.push(Difference::new(Check::Gap, place, "open", "backup runs"));
        } else if open.replace(reason.clone()) == Some(reason) {
            found.push(Difference::new(Check::Gap, place, "open", "another one is open already"));
        }
    }
    Ok(found)
}

/// Repairs gaps that are wrong by themselves. The end of an open gap is not decided here.
pub(super) async fn mend(tx: &mut Tx, channel: &ChannelId) -> Result<(), StoreError> {
    tx.execute(query(TURN).bind(channel.as_str())).await?;
    tx.execute(query(CLOSE).bind(channel.as_str())).await?;
    Ok(())
}
