//! Quota gaps: times in which backup of a channel was paused, with the skipped messages. Those of a
//! channel never overlap, and an open one is its last.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::time::Timestamp;

use tracing::warn;

use super::super::StoreError;
use super::super::db::Tx;
use super::super::outbox_kind::OutboxEventKind;
use super::super::outbox_log::{NewOutboxEvent, log};
use super::sql::{BulkKey, CLOSE_GAPS, CLOSE_GAPS_OF, OPEN_GAP, TAKE_GAPS, WIDEN_GAP};
use crate::query::{query, query_as};

/// Messages skipped while backup of a channel was paused.
#[derive(Debug)]
pub(crate) struct Skips {
    /// Time at which the first of them was sent.
    pub(crate) from: Timestamp,
    /// Number of messages.
    pub(crate) count: i64,
}

/// Row of a quota gap.
#[derive(Clone, Copy, Debug, sqlx_macros::FromRow)]
struct GapRow {
    from_at: i64,
    /// 0 while it lasts.
    to_at: i64,
    skipped: i64,
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

/// Records that backup of a channel was paused, and the skipped messages: in the open gap if there
/// is one, else in a new one. Whatever these messages take from the backlog, gaps that would
/// overlap become one, which covers the same time. Call it before gaps are closed for room that
/// the same transaction makes.
pub(crate) async fn open_gap(
    tx: &mut Tx,
    channel: &ChannelId,
    skips: &Skips,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (c, from, count) = (channel.as_str(), skips.from.millis(), skips.count);
    if tx.execute(query(WIDEN_GAP).bind(c).bind(count).bind(from)).await? > 0 {
        return Ok(());
    }
    let taken: Vec<GapRow> = tx.fetch_all(query_as(TAKE_GAPS).bind(c).bind(from)).await?;
    let first = taken.iter().map(|gap| gap.from_at).fold(from, i64::min);
    let skipped = count + taken.iter().map(|gap| gap.skipped).sum::<i64>();
    tx.execute(query(OPEN_GAP).bind(c).bind(first).bind(skipped)).await?;
    if taken.iter().any(|gap| gap.to_at == 0) {
        return Ok(());
    }
    let kind = OutboxEventKind::BackupPaused.name();
    let paused = NewOutboxEvent { kind, at: from, c: Some(c), s: None };
    log(tx, &[paused], now).await?;
    warn!(
        channel = c,
        "backup of a channel is paused: the quota of every subscriber is used up (chatkeep user \
         set-plan)"
    );
    Ok(())
}
