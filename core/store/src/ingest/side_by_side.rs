//! Storing new messages beside other transactions on PostgreSQL, where most of the work of a batch is
//! to insert their rows and events, which nobody has to wait for.
//!
//! The channels are [shared](channel_locks) first: whoever erases, unsends or subscribes locks them
//! alone, and waits or is waited for. Rows are inserted in the order of their keys. Only then the
//! counters of channels and users are locked, as everybody locks them; a quota that others have
//! nearly filled meanwhile takes all of it back. SQLite has one writer at a time anyway.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::MessageChange;
use chatkeep_core::time::Timestamp;

use super::batch::Batch;
use super::deletion_guard::DeletionGuard;
use super::sql::{LOCK_SUBSCRIBERS, READ_SUBSCRIBERS};
use super::{ChannelChange, read_ledger, unknown};
use crate::db::{Db, Pools};
use crate::{StoreError, channel_locks};

/// Minimum number of messages that are stored side by side: the second pair of statements is not
/// worth it for fewer.
const WORTHWHILE: usize = 8;

/// Stores the new messages among changes that nothing else in the batch is about, and returns the
/// indices of their changes; of none when there are few of them, when a quota could fill up, when one of
/// them is stored already, or when the bot wrote one of them: a reply keeps its place behind its
/// message.
pub(super) async fn ingest_new(
    db: &Db,
    changes: &[ChannelChange],
    now: Timestamp,
) -> Result<BTreeSet<usize>, StoreError> {
    if !matches!(db.pools, Pools::Postgres(_)) || changes.iter().any(is_own) {
        return Ok(BTreeSet::new());
    }
    let alone = received_alone(changes);
    if alone.len() < WORTHWHILE.max(changes.len() / 2) {
        return Ok(BTreeSet::new());
    }
    let of_channels = alone.chunk_by(|(_, one), (_, next)| one.channel == next.channel);
    let channels: BTreeSet<_> = of_channels.map(|changes| &changes[0].1.channel).collect();
    let mut tx = db.begin().await?;
    let shared = channel_locks::share(&mut tx, channels.iter().copied()).await?;
    let ledger = read_ledger(&mut tx, shared, READ_SUBSCRIBERS).await?;
    let deletion_guard = DeletionGuard::of(&mut tx, &channels, changes).await?;
    let mut batch = Batch { ledger, deletion_guard, ..Batch::default() };
    if !batch.has_room(changes) {
        return Ok(BTreeSet::new());
    }
    let fresh = batch.fresh(alone.into_iter(), now);
    if fresh.is_empty() || !unknown::store(&mut tx, &fresh, now).await? {
        return Ok(BTreeSet::new());
    }
    let of_channels = || fresh.chunk_by(|one, next| one.key.0 == next.key.0);
    batch.resumed = of_channels().map(|messages| messages[0].key.0.clone()).collect();
    let locked = channel_locks::lock_counters(&mut tx, &batch.resumed).await?;
    batch.ledger = read_ledger(&mut tx, locked, LOCK_SUBSCRIBERS).await?;
    if !batch.has_room(changes) {
        return Ok(BTreeSet::new());
    }
    of_channels().for_each(|messages| batch.charge_fresh(messages, now));
    batch.save_counters(&mut tx, now).await?;
    tx.commit().await?;
    Ok(fresh.into_iter().map(|new| new.nth).collect())
}

fn is_own(change: &ChannelChange) -> bool {
    matches!(&change.change, MessageChange::Received(message) if message.is_bot)
}

/// Returns the received messages that no other change of the batch is about, by key, with their
/// indices.
fn received_alone(changes: &[ChannelChange]) -> Vec<(usize, &ChannelChange)> {
    fn key(change: &ChannelChange) -> (&ChannelId, &MessageId) {
        (&change.channel, &change.message)
    }
    let mut all: Vec<_> = changes.iter().enumerate().collect();
    all.sort_unstable_by_key(|(_, change)| key(change));
    let of_messages = all.chunk_by(|(_, one), (_, next)| key(one) == key(next));
    let alone = of_messages.filter_map(|changes| match changes {
        [one] if matches!(one.1.change, MessageChange::Received(_)) => Some(*one),
        _ => None,
    });
    alone.collect()
}
