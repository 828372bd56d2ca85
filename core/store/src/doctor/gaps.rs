//! Quota gaps: one is open only while backup is paused, none ends before it begins, and none
//! overlaps another one.

use chatkeep_core::id::ChannelId;

use super::super::StoreError;
use super::super::db::Tx;
use super::super::ledger::{Ledger, SubscriberRow};
use super::super::subscriptions::SUBSCRIBERS;
use super::{Check, Difference};
use crate::query::{query, query_as};

const GAPS: &str = "
    SELECT from_at, to_at, reason, skipped FROM gaps
    WHERE channel_id = $1 ORDER BY reason, from_at";

/// A gap that ends before it begins ends where it begins.
const TURN: &str = "
    UPDATE gaps SET to_at = from_at WHERE channel_id = $1 AND to_at <> 0 AND to_at < from_at";
const CLEAR: &str = "DELETE FROM gaps WHERE channel_id = $1";
const ADD: &str = "
    INSERT INTO gaps (channel_id, from_at, to_at, reason, skipped) VALUES ($1, $2, $3, $4, $5)";

/// Recorded gap.
#[derive(Clone, Debug, PartialEq, Eq, sqlx_macros::FromRow)]
struct Recorded {
    from_at: i64,
    /// 0 while it lasts.
    to_at: i64,
    reason: String,
    skipped: i64,
}

impl Recorded {
    /// Returns the end: the last time there is while it lasts.
    const fn end(&self) -> i64 {
        if self.to_at == 0 { i64::MAX } else { self.to_at }
    }

    /// Returns whether a gap that begins later overlaps this one.
    fn overlaps(&self, later: &Self) -> bool {
        self.reason == later.reason && later.from_at < self.end()
    }
}

pub(super) async fn audit(tx: &mut Tx, channel: &ChannelId) -> Result<Vec<Difference>, StoreError> {
    let c = channel.as_str();
    let gaps: Vec<Recorded> = tx.fetch_all(query_as(GAPS).bind(c)).await?;
    if gaps.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<SubscriberRow> = tx.fetch_all(query_as(SUBSCRIBERS).bind(c)).await?;
    let paused = Ledger::new([channel.clone()], rows)?.paused(channel);
    let mut found = Vec::new();
    for (nth, gap) in gaps.iter().enumerate() {
        let recorded =
            if gap.to_at == 0 { "open".to_owned() } else { format!("until {}", gap.to_at) };
        let truth = if gap.to_at != 0 && gap.to_at < gap.from_at {
            "not before it begins"
        } else if gap.to_at == 0 && !paused {
            "backup runs"
        } else if gaps[..nth].iter().any(|earlier| earlier.overlaps(gap)) {
            "part of an earlier one"
        } else {
            continue;
        };
        let place = format!("{c} {} from {}", gap.reason, gap.from_at);
        found.push(Difference::new(Check::Gap, place, recorded, truth));
    }
    Ok(found)
}

/// Repairs gaps that are wrong by themselves. The end of an open gap is not decided here.
pub(super) async fn mend(tx: &mut Tx, channel: &ChannelId) -> Result<(), StoreError> {
    let c = channel.as_str();
    tx.execute(query(TURN).bind(c)).await?;
    let gaps: Vec<Recorded> = tx.fetch_all(query_as(GAPS).bind(c)).await?;
    let joined = join(&gaps);
    if joined == gaps {
        return Ok(());
    }
    tx.execute(query(CLEAR).bind(c)).await?;
    for gap in joined {
        let (from, to) = (gap.from_at, gap.to_at);
        let add = query(ADD).bind(c).bind(from).bind(to).bind(&gap.reason).bind(gap.skipped);
        tx.execute(add).await?;
    }
    Ok(())
}

/// Joins gaps that overlap into one that covers the same time. They are given, and returned, in
/// order.
fn join(gaps: &[Recorded]) -> Vec<Recorded> {
    let mut joined: Vec<Recorded> = Vec::with_capacity(gaps.len());
    for gap in gaps {
        match joined.last_mut() {
            Some(last) if last.overlaps(gap) => {
                last.skipped += gap.skipped;
                if last.end() < gap.end() {
                    last.to_at = gap.to_at;
                }
            }
            _ => joined.push(gap.clone()),
        }
    }
    joined
}
