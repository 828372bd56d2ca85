//! Quota gaps: times in which backup of a channel was paused, with the skipped messages.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use super::super::StoreError;
use super::super::db::Tx;
use super::super::outbox::{NewOutboxEvent, log};
use super::super::outbox_kind::OutboxEventKind;
use super::sql::{BulkKey, CLOSE_GAPS, CLOSE_GAPS_OF, OPEN_GAP, WIDEN_GAP};
use crate::query::{query, query_as};

#[derive(Debug)]
pub(crate) struct Skips {
    pub(crate) from: Timestamp,
    pub(crate) count: i64,
}

/// Ends the quota gaps of channels with resumed backup.
pub(crate) async fn close_gaps(
    tx: &mut Tx,
    channels: &BTreeSet<ChannelId>,
    now: Timestamp,
) -> Result<(), StoreError> {
    if channels.is_empty() {
        return Ok(());
    }
    let keys: Vec<_> = channels.iter().map(|id| BulkKey { c: id.as_str(), m: None }).collect();
    let keys = serde_json::to_string(&keys)?;
    let closed: Vec<(String,)> =
        tx.fetch_all(query_as(CLOSE_GAPS).bind(&keys).bind(now.millis())).await?;
    tell_resumed(tx, &closed, now).await
}

/// Ends the quota gaps of all channels of a user who has room again: with room for one subscriber,
/// backup runs. A change to a channel's gaps requires its subscribers' locks, and this user's is
/// held.
pub(super) async fn resume_all_of(
    tx: &mut Tx,
    user: &UserId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let closed: Vec<(String,)> =
        tx.fetch_all(query_as(CLOSE_GAPS_OF).bind(user.as_str()).bind(now.millis())).await?;
    tell_resumed(tx, &closed, now).await
}

async fn tell_resumed(
    tx: &mut Tx,
    channels: &[(String,)],
    now: Timestamp,
) -> Result<(), StoreError> {
    let resumed = channels.iter().map(|(channel,)| NewOutboxEvent {
        kind: OutboxEventKind::BackupResumed.name(),
        at: now.millis(),
        c: Some(channel),
        s: None,
    });
    log(tx, &resumed.collect::<Vec<_>>(), now).await
}

/// Records that backup of a channel was paused, and the skipped messages.
pub(crate) async fn open_gap(
    tx: &mut Tx,
    channel: &ChannelId,
    skips: &Skips,
    now: Timestamp,
) -> Result<(), StoreError> {
    let widened = tx.execute(query(WIDEN_GAP).bind(channel.as_str()).bind(skips.count)).await?;
    if widened == 0 {
        let (from, count) = (skips.from.millis(), skips.count);
        tx.execute(query(OPEN_GAP).bind(channel.as_str()).bind(from).bind(count)).await?;
        let kind = OutboxEventKind::BackupPaused.name();
        let paused = NewOutboxEvent { kind, at: from, c: Some(channel.as_str()), s: None };
        log(tx, &[paused], now).await?;
    }
    Ok(())
}
