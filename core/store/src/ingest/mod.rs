//! Ingests messages: one transaction stores a batch of changes and updates every counter with them
//! (docs/architecture.md#rule-2 and docs/architecture.md#rule-3).

mod batch;
mod deletion_guard;
mod fresh;
mod gaps;
mod import;
mod import_events;
mod import_sql;
mod imported;
mod imported_edits;
mod imported_texts;
mod imports;
mod removal;
mod retention;
mod side_by_side;
mod sql;
mod stray_edits;
mod unknown;
mod unstored_events;
mod unsubscribed;

use std::collections::{BTreeMap, BTreeSet};

use async_recursion::async_recursion as boxed;
pub(super) use gaps::{Skips, close_gaps, open_gap};
pub use import_events::ImportedTimes;
pub use imported::{ImportOutcome, Imported, ImportedMedia, ImportedMessage, ImportedPerson};
pub(crate) use imports::is_undone;
pub use imports::{ImportId, ImportRecord, ImportState, NewImport};
pub use removal::Removed;
pub(super) use removal::{RemovalMode, bar_removed, remember_erased, remove, remove_some};
pub(super) use sql::BulkKey;
use sql::{
    ADD_NOTICE, ADD_TO_BASELINES, ADD_TO_CHANNELS, ADD_TO_USERS, ALL_MESSAGES, ANY_MESSAGE,
    COUNT_MESSAGES, Delta, KNOWN_MESSAGES, LOCK_SUBSCRIBERS,
};

use batch::Batch;
use deletion_guard::DeletionGuard;

use super::activity::save_activity;
use super::channels::channel_keys;
use super::db::{Sql, Tx};
use super::ledger::{Ledger, SubscriberRow};
use super::messages::{MessageRow, VersionedRow, state_of};
use super::outbox_kind::OutboxEventKind;
use super::outbox_log::{NewOutboxEvent, log};
use super::retractions::record_retractions;
use super::unknown_events::forget_unknown_of;
use super::usage_days::save_usage;
use super::{MessageState, MessageStore, StoreError, channel_locks};
use crate::query::{query, query_as};
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::MessageChange;
use chatkeep_core::plan::UsageStatus;
use chatkeep_core::time::Timestamp;

/// Change to one message of one channel.
#[derive(Clone, Debug)]
pub struct ChannelChange {
    /// Channel.
    pub channel: ChannelId,
    /// Message.
    pub message: MessageId,
    /// Change, with its time by the platform's clock.
    pub change: MessageChange,
}

/// Outcome of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IngestOutcome {
    /// Stored data changed.
    Changed,
    /// Already stored.
    Known,
    /// Backup of the channel is paused; the gap is recorded.
    Skipped,
    /// Nobody subscribes to the channel, and it is about nothing that is stored.
    NotBackedUp,
    /// Its author opted out of being stored; nothing of it is.
    OptedOut,
}

impl MessageStore<'_> {
    /// Returns the present states of these messages, in any order, without unknown ones.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn message_states(
        &self,
        keys: &BTreeSet<(ChannelId, MessageId)>,
    ) -> Result<Vec<(ChannelId, MessageId, MessageState)>, StoreError> {
        let keys: Vec<_> =
            keys.iter().map(|(c, m)| BulkKey { c: c.as_str(), m: Some(m.as_str()) }).collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<VersionedRow> =
            self.store.db.fetch_all(query_as(KNOWN_MESSAGES).bind(&keys)).await?;
        let state = |row: VersionedRow| {
            let VersionedRow { message: MessageRow { channel_id, message_id, .. }, .. } = &row;
            Ok((channel_id.as_str().into(), message_id.as_str().into(), row.state()?))
        };
        rows.into_iter().map(state).collect()
    }

    /// Returns the states of all messages by channel and id, after `after`, at most `limit`; without
    /// earlier texts, which are not searched.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn all_messages(
        &self,
        after: Option<&(ChannelId, MessageId)>,
        limit: u32,
    ) -> Result<Vec<(ChannelId, MessageId, MessageState)>, StoreError> {
        let (channel, message) = after.map_or(("", ""), |(c, m)| (c.as_str(), m.as_str()));
        let rows: Vec<MessageRow> = self
            .store
            .db
            .fetch_all(query_as(ALL_MESSAGES).bind(channel).bind(message).bind(i64::from(limit)))
            .await?;
        let state = |row: MessageRow| {
            let (channel, message) = (row.channel_id.clone(), row.message_id.clone());
            Ok((channel.into(), message.into(), state_of(row)?))
        };
        rows.into_iter().map(state).collect()
    }

    /// Counts the messages in all channels, tombstones included.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn count_messages(&self) -> Result<i64, StoreError> {
        let (count,): (i64,) = self.store.db.fetch_one(query_as(COUNT_MESSAGES)).await?;
        Ok(count)
    }

    /// Returns true if there is any message, tombstones included.
    ///
    /// # Errors
    /// Returns an error when the database fails.
    #[boxed]
    pub async fn any_message(&self) -> Result<bool, StoreError> {
        let (any,): (bool,) = self.store.db.fetch_one(query_as(ANY_MESSAGE)).await?;
        Ok(any)
    }

    /// Ingests a batch of changes: messages, media records, counters, usage notices and gaps together.
    /// Returns the outcome of each change, in order. Repeating a batch, or any part of it in any
    /// order, changes nothing more. On PostgreSQL the new messages are stored in a transaction of
    /// their own, before all others.
    ///
    /// # Errors
    /// Returns an error when the database fails; nothing of the batch is stored then, or only new
    /// messages.
    #[boxed]
    pub async fn ingest(
        &self,
        changes: &[ChannelChange],
        now: Timestamp,
    ) -> Result<Vec<IngestOutcome>, StoreError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let stored = side_by_side::ingest_new(&self.store.db, changes, now).await?;
        if stored.is_empty() {
            return self.ingest_in_order(changes, now).await;
        }
        let rest: Vec<_> = (0..changes.len()).filter(|nth| !stored.contains(nth)).collect();
        let mut kept = vec![IngestOutcome::Changed; changes.len()];
        let changes: Vec<_> = rest.iter().map(|nth| changes[*nth].clone()).collect();
        for (nth, outcome) in rest.iter().zip(self.ingest_in_order(&changes, now).await?) {
            kept[*nth] = outcome;
        }
        Ok(kept)
    }

    /// Ingests changes of any kind.
    async fn ingest_in_order(
        &self,
        changes: &[ChannelChange],
        now: Timestamp,
    ) -> Result<Vec<IngestOutcome>, StoreError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.store.db.begin_bulk().await?;
        let kept = ingest_in(&mut tx, changes, now).await?;
        tx.commit().await?;
        Ok(kept)
    }
}

/// The body of [`MessageStore::ingest`], for use inside a larger transaction.
pub(super) async fn ingest_in(
    tx: &mut Tx,
    changes: &[ChannelChange],
    now: Timestamp,
) -> Result<Vec<IngestOutcome>, StoreError> {
    let channels = changes.iter().map(|change| &change.channel).collect();
    let ledger = lock_ledger(tx, &channels).await?;
    let deletion_guard = DeletionGuard::of(tx, &channels, changes).await?;
    let mut batch = Batch { ledger, deletion_guard, ..Batch::default() };
    batch.insert_new(tx, changes, now).await?;
    let added: BTreeSet<_> = batch.added.values().copied().collect();
    let rest = changes.iter().enumerate().filter(|(nth, _)| !added.contains(nth));
    batch.load(tx, rest.map(|(_, change)| change)).await?;
    let keep = |(nth, change)| {
        if added.contains(&nth) { IngestOutcome::Changed } else { batch.apply(nth, change, now) }
    };
    let kept: Vec<_> = changes.iter().enumerate().map(keep).collect();
    batch.save(tx, now).await?;
    note_unsent(tx, changes, &kept).await?;
    Ok(kept)
}

/// Deletes the events of unknown types about unsent messages, and queues a search of the dead letters,
/// which are outside of the store, for retracted ones.
async fn note_unsent(
    tx: &mut Tx,
    changes: &[ChannelChange],
    kept: &[IngestOutcome],
) -> Result<(), StoreError> {
    let unsent = changes.iter().zip(kept).filter(|(item, kept)| {
        matches!(item.change, MessageChange::Unsent { .. }) && **kept != IngestOutcome::Known
    });
    let mut channels = BTreeSet::new();
    let mut all: BTreeMap<&ChannelId, Vec<BulkKey<'_>>> = BTreeMap::new();
    for (item, _) in unsent {
        channels.insert(&item.channel);
        let key = BulkKey { c: item.channel.as_str(), m: Some(item.message.as_str()) };
        all.entry(&item.channel).or_default().push(key);
    }
    for (channel, messages) in all {
        forget_unknown_of(tx, channel, &serde_json::to_string(&messages)?).await?;
    }
    record_retractions(tx, &channels).await
}

/// Locks the existing channels and all their subscribers.
pub(super) async fn lock_ledger(
    tx: &mut Tx,
    channels: &BTreeSet<&ChannelId>,
) -> Result<Ledger, StoreError> {
    let found = channel_locks::lock(tx, channels.iter().copied()).await?;
    read_ledger(tx, found, LOCK_SUBSCRIBERS).await
}

/// Reads the subscribers of channels with a statement that may lock them.
async fn read_ledger(
    tx: &mut Tx,
    channels: Vec<ChannelId>,
    of_subscribers: Sql,
) -> Result<Ledger, StoreError> {
    let keys = channel_keys(&channels)?;
    let subscribers: Vec<SubscriberRow> =
        tx.fetch_all(query_as(of_subscribers).bind(&keys)).await?;
    Ledger::new(channels, subscribers)
}

/// Writes the changes of the ledger: counters, baselines, usage, activity and crossings.
pub(super) async fn save_ledger(
    tx: &mut Tx,
    ledger: &Ledger,
    now: Timestamp,
) -> Result<(), StoreError> {
    let channels: Vec<_> = ledger
        .channel_deltas()
        .map(|(id, bytes, count)| {
            let at = ledger.storing_time(id, now).millis();
            Delta { c: Some(id.as_str()), u: None, bytes, count, at }
        })
        .collect();
    let baselines: Vec<_> = ledger
        .baseline_deltas()
        .map(|(c, u, bytes)| Delta {
            c: Some(c.as_str()),
            u: Some(u.as_str()),
            bytes,
            count: 0,
            at: 0,
        })
        .collect();
    let users: Vec<_> = ledger
        .user_deltas()
        .map(|(id, bytes)| Delta { c: None, u: Some(id.as_str()), bytes, count: 0, at: 0 })
        .collect();
    if !channels.is_empty() {
        let rows = serde_json::to_string(&channels)?;
        tx.execute(query(ADD_TO_CHANNELS).bind(&rows)).await?;
    }
    if !baselines.is_empty() {
        let rows = serde_json::to_string(&baselines)?;
        tx.execute(query(ADD_TO_BASELINES).bind(&rows)).await?;
    }
    if !users.is_empty() {
        let rows = serde_json::to_string(&users)?;
        tx.execute(query(ADD_TO_USERS).bind(&rows)).await?;
        save_usage(tx, &rows, now).await?;
    }
    save_activity(tx, ledger.activity()).await?;
    for (user, before, after) in ledger.crossings() {
        add_notice(tx, user, after, now).await?;
        if before == UsageStatus::Exceeded {
            gaps::resume_all_of(tx, user, now).await?;
        }
    }
    Ok(())
}

/// Records that a user's usage crossed a threshold.
pub(super) async fn add_notice(
    tx: &mut Tx,
    user: &UserId,
    status: UsageStatus,
    now: Timestamp,
) -> Result<(), StoreError> {
    let kind = OutboxEventKind::of_usage(status);
    let (user, status) = (user.as_str(), status.name());
    tx.execute(query(ADD_NOTICE).bind(user).bind(status).bind(now.millis())).await?;
    let events = kind.map(|kind| NewOutboxEvent {
        kind: kind.name(),
        at: now.millis(),
        c: None,
        s: Some(user),
    });
    log(tx, events.as_slice(), now).await
}
