//! Storing new messages beside other transactions on PostgreSQL, where most of the work of a batch is
//! to insert their rows and events, which nobody has to wait for.
//!
//! The channels are [shared](channel_locks) first: whoever erases, unsends or subscribes locks them
//! alone, and waits or is waited for. Rows are inserted in the order of their keys. Only then the counters of channels and
//! users are locked, as everybody locks them; a quota that others have nearly filled meanwhile takes
//! all of it back. SQLite has one writer at a time anyway.

use std::collections::{BTreeSet, HashMap};

use chatkeep_core::message::MessageChange;
use chatkeep_core::time::Timestamp;

use super::batch::Batch;
use super::deletion_guard::DeletionGuard;
use super::sql::{LOCK_SUBSCRIBERS, READ_SUBSCRIBERS};
use super::{ChannelChange, read_ledger};
use crate::db::{Db, Pools};
use crate::{StoreError, channel_locks};

/// Minimum number of messages that are stored side by side: the second pair of statements is not
/// worth it for fewer.
const WORTHWHILE: usize = 8;

/// Stores the new messages among changes that nothing else in the batch is about, and returns the
/// indices of their changes; of none when there are few of them, when a quota could fill up, or when
/// the bot wrote one of them: a reply keeps its place behind its message.
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
    let channels: BTreeSet<_> = alone.iter().map(|(_, change)| &change.channel).collect();
    let mut tx = db.begin().await?;
    let shared = channel_locks::share(&mut tx, channels.iter().copied()).await?;
    let ledger = read_ledger(&mut tx, shared, READ_SUBSCRIBERS).await?;
    let deletion_guard = DeletionGuard::of(&mut tx, &channels, changes).await?;
    let mut batch = Batch { ledger, deletion_guard, ..Batch::default() };
    if batch.has_room(changes) {
        batch.insert_fresh(&mut tx, alone.into_iter(), now).await?;
    }
    if batch.added.is_empty() {
        drop(tx);
        return Ok(BTreeSet::new());
    }
    batch.save_added(&mut tx, now).await?;
    let added = batch.added.keys().map(|(channel, _)| channel.clone()).collect::<BTreeSet<_>>();
    let locked = channel_locks::lock_counters(&mut tx, &added).await?;
    batch.ledger = read_ledger(&mut tx, locked, LOCK_SUBSCRIBERS).await?;
    if !batch.has_room(changes) {
        drop(tx);
        return Ok(BTreeSet::new());
    }
    batch.charge_added(now);
    batch.save_counters(&mut tx, now).await?;
    tx.commit().await?;
    Ok(batch.added.into_values().collect())
}

fn is_own(change: &ChannelChange) -> bool {
    matches!(&change.change, MessageChange::Received(message) if message.is_bot)
}

/// Returns the received messages that no other change of the batch is about, with their indices.
fn received_alone(changes: &[ChannelChange]) -> Vec<(usize, &ChannelChange)> {
    let mut times = HashMap::new();
    for change in changes {
        *times.entry((&change.channel, &change.message)).or_insert(0) += 1;
    }
    let alone = |(_, change): &(usize, &ChannelChange)| {
        matches!(change.change, MessageChange::Received(_))
            && times.get(&(&change.channel, &change.message)) == Some(&1)
    };
    changes.iter().enumerate().filter(alone).collect()
}
