//! Keeping messages: one transaction stores a batch of changes and moves every counter with them
//! (architecture, rules 2 and 3).

mod bars;
mod fresh;
mod gaps;
mod import;
mod import_sql;
mod removal;
mod retention;
mod sql;
mod stray;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sqlx::{query, query_as};

pub(super) use gaps::{Skips, close_gaps, open_gap};
pub use import::{Imported, ImportedMedia, ImportedMessage, ImportedPerson};
pub use removal::Removed;
pub(super) use sql::Key;
use sql::{
    ADD_NOTICE, ADD_TO_BASELINES, ADD_TO_CHANNELS, ADD_TO_USERS, ALL_MESSAGES, COUNT_MESSAGES,
    Delta, KNOWN_MESSAGES, LOCK_CHANNELS, LOCK_SUBSCRIBERS, SAVE_MEDIA, SAVE_MESSAGES, pending,
    saved,
};

use bars::Bars;

use super::db::{Db, Tx, exec, read, run};
use super::happening_kind::HappeningKind;
use super::happenings::{NewHappening, log};
use super::ledger::{Ledger, SubscriberRow};
use super::media::erase_media;
use super::messages::{MessageRow, state_of};
use super::webhooks::forget_answers;
use super::{MessageState, Store, StoreError};
use crate::id::{ChannelId, MessageId, UserId};
use crate::message::{Effect, MessageChange, MessageType};
use crate::plan::UsageStatus;
use crate::time::Timestamp;

/// A change to one message of one channel.
#[derive(Clone, Debug)]
pub struct ChannelChange {
    /// The channel.
    pub channel: ChannelId,
    /// The message.
    pub message: MessageId,
    /// What happened to it, and when by the platform's clock.
    pub change: MessageChange,
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It changed what is kept.
    Changed,
    /// It was known already.
    Known,
    /// Backup of the channel is paused; the gap is recorded.
    Skipped,
    /// Nobody subscribes to the channel.
    NotBackedUp,
}

type MessageKey = (ChannelId, MessageId);

/// One batch on its way through the transaction.
#[derive(Debug, Default)]
struct Batch {
    ledger: Ledger,
    states: HashMap<MessageKey, MessageState>,
    changed: BTreeSet<MessageKey>,
    /// Messages that [`Batch::add_fresh`] has stored already.
    added: BTreeSet<MessageKey>,
    skips: BTreeMap<ChannelId, Skips>,
    resumed: BTreeSet<ChannelId>,
    bars: Bars,
    told: Vec<(HappeningKind, MessageKey, Timestamp)>,
}

impl Store {
    /// The present states of these messages, in any order; those not known at all are left out.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn message_states(
        &self,
        keys: &BTreeSet<(ChannelId, MessageId)>,
    ) -> Result<Vec<(ChannelId, MessageId, MessageState)>, StoreError> {
        let keys: Vec<_> =
            keys.iter().map(|(c, m)| Key { c: c.as_str(), m: Some(m.as_str()) }).collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<MessageRow> = match &self.db {
            Db::Sqlite { read, .. } => {
                query_as(KNOWN_MESSAGES.sqlite).bind(&keys).fetch_all(read).await?
            }
            Db::Postgres(pool) => {
                query_as(KNOWN_MESSAGES.postgres).bind(&keys).fetch_all(pool).await?
            }
        };
        rows.into_iter().map(keyed_state).collect()
    }

    /// The states of all messages by channel and id, from after `after`, at most `limit`.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn all_messages(
        &self,
        after: Option<&(ChannelId, MessageId)>,
        limit: u32,
    ) -> Result<Vec<(ChannelId, MessageId, MessageState)>, StoreError> {
        let (channel, message) = after.map_or(("", ""), |(c, m)| (c.as_str(), m.as_str()));
        let rows: Vec<MessageRow> = read!(self, c => query_as(ALL_MESSAGES)
            .bind(channel).bind(message).bind(i64::from(limit)).fetch_all(c))?;
        rows.into_iter().map(keyed_state).collect()
    }

    /// How many messages there are in all channels, tombstones included.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn count_messages(&self) -> Result<i64, StoreError> {
        let (count,): (i64,) = read!(self, c => query_as(COUNT_MESSAGES).fetch_one(c))?;
        Ok(count)
    }

    /// Keeps a batch of changes in one transaction: messages, media records, counters, usage
    /// notices and gaps together. Says for each change what became of it, in order. Repeating a
    /// batch, or any part of it in any order, changes nothing more.
    ///
    /// # Errors
    /// When the database fails; nothing of the batch is kept then.
    pub async fn keep(
        &self,
        changes: &[ChannelChange],
        now: Timestamp,
    ) -> Result<Vec<Kept>, StoreError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = self.db.begin().await?;
        let kept = keep_in(&mut tx, changes, now).await?;
        tx.commit().await?;
        Ok(kept)
    }
}

fn keyed_state(row: MessageRow) -> Result<(ChannelId, MessageId, MessageState), StoreError> {
    let (channel, message) = (row.channel_id.clone(), row.message_id.clone());
    Ok((channel.into(), message.into(), state_of(row)?))
}

/// The body of [`Store::keep`], for use inside a larger transaction.
pub(super) async fn keep_in(
    tx: &mut Tx,
    changes: &[ChannelChange],
    now: Timestamp,
) -> Result<Vec<Kept>, StoreError> {
    let channels = changes.iter().map(|change| &change.channel).collect();
    let ledger = lock_ledger(tx, &channels).await?;
    let bars = Bars::of(tx, &channels).await?;
    let mut batch = Batch { ledger, bars, ..Batch::default() };
    let added = batch.add_fresh(tx, changes, now).await?;
    let rest = changes.iter().zip(&added).filter(|(_, added)| !**added);
    batch.load(tx, rest.map(|(change, _)| change)).await?;
    let keep = |(change, added): (&ChannelChange, bool)| {
        if added { Kept::Changed } else { batch.apply(change, now) }
    };
    let kept = changes.iter().zip(added).map(keep).collect();
    batch.save(tx, now).await?;
    Ok(kept)
}

fn takes_back(item: &ChannelChange) -> bool {
    matches!(item.change, MessageChange::Unsent { .. })
}

/// Locks the channels that exist and everybody who subscribes to them.
pub(super) async fn lock_ledger(
    tx: &mut Tx,
    channels: &BTreeSet<&ChannelId>,
) -> Result<Ledger, StoreError> {
    let keys: Vec<_> = channels.iter().map(|id| Key { c: id.as_str(), m: None }).collect();
    let keys = serde_json::to_string(&keys)?;
    let locked: Vec<(String,)> =
        run!(tx, LOCK_CHANNELS, |sql, c| query_as(sql).bind(&keys).fetch_all(c))?;
    let subscribers: Vec<SubscriberRow> =
        run!(tx, LOCK_SUBSCRIBERS, |sql, c| query_as(sql).bind(&keys).fetch_all(c))?;
    Ledger::new(locked.into_iter().map(|(id,)| ChannelId::new(id)), subscribers)
}

impl Batch {
    /// Reads what is known of the messages that these changes are about.
    async fn load(
        &mut self,
        tx: &mut Tx,
        changes: impl Iterator<Item = &ChannelChange>,
    ) -> Result<(), StoreError> {
        let wanted: BTreeSet<_> = changes
            .filter(|change| self.ledger.subscribed(&change.channel) || takes_back(change))
            .map(|change| (change.channel.as_str(), change.message.as_str()))
            .collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let keys: Vec<_> = wanted.into_iter().map(|(c, m)| Key { c, m: Some(m) }).collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<MessageRow> =
            run!(tx, KNOWN_MESSAGES, |sql, c| query_as(sql).bind(&keys).fetch_all(c))?;
        for row in rows {
            let key = (row.channel_id.as_str().into(), row.message_id.as_str().into());
            self.states.insert(key, state_of(row)?);
        }
        Ok(())
    }

    fn apply(&mut self, item: &ChannelChange, now: Timestamp) -> Kept {
        let channel = &item.channel;
        let key = (channel.clone(), item.message.clone());
        // What is kept is erased when it is taken back, also when nobody subscribes any more.
        let erases = takes_back(item) && self.states.contains_key(&key);
        if !self.ledger.subscribed(channel) && !erases {
            return Kept::NotBackedUp;
        }
        if self.bars.refuse(item) {
            return Kept::Known;
        }
        let paused = self.ledger.paused(channel);
        let storing_time = self.ledger.storing_time(channel, now);
        let state = self.states.entry(key.clone()).or_default();
        let (bytes, counted) = (state.bytes(), state.counts());
        let effect = state.apply(&item.change, paused, storing_time);
        let stored_at = state.backed_up_at.unwrap_or(storing_time);
        let count = i64::from(state.counts()) - i64::from(counted);
        self.ledger.charge(channel, stored_at, state.bytes() - bytes, count);
        match effect {
            Effect::None => return Kept::Known,
            Effect::Changed if count > 0 => {
                self.resumed.insert(channel.clone());
            }
            Effect::Changed => {}
            Effect::Skipped => self.skip(item),
        }
        if effect == Effect::Changed {
            self.tell(&key, &item.change, count);
        }
        self.changed.insert(key);
        if effect == Effect::Skipped { Kept::Skipped } else { Kept::Changed }
    }

    /// Notes what to tell of a change. What nobody could see yet is not told.
    fn tell(&mut self, key: &MessageKey, change: &MessageChange, count: i64) {
        let seen = self.states.get(key).is_some_and(|state| state.sent_at.is_some());
        let told = match change {
            MessageChange::Received(message) if count > 0 => {
                Some((HappeningKind::MessageReceived, message.at))
            }
            MessageChange::Edited { at, .. } if seen => Some((HappeningKind::MessageEdited, *at)),
            MessageChange::Unsent { at } if seen => Some((HappeningKind::MessageUnsent, *at)),
            _ => None,
        };
        self.told.extend(told.map(|(kind, at)| (kind, key.clone(), at)));
    }

    fn skip(&mut self, item: &ChannelChange) {
        let at = match &item.change {
            MessageChange::Received(message) => message.at,
            MessageChange::Edited { at, .. } | MessageChange::Unsent { at } => *at,
        };
        let skips = self.skips.entry(item.channel.clone()).or_insert(Skips { from: at, count: 0 });
        skips.from = skips.from.min(at);
        skips.count += 1;
    }

    async fn save(&mut self, tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
        self.save_messages(tx).await?;
        self.save_media(tx, now).await?;
        save_ledger(tx, &self.ledger, now).await?;
        close_gaps(tx, &self.resumed, now).await?;
        for (channel, skips) in &self.skips {
            open_gap(tx, channel, skips, now).await?;
        }
        // What was taken back behind what was skipped may have made room.
        let running = self.skips.keys().filter(|channel| !self.ledger.paused(channel));
        close_gaps(tx, &running.cloned().collect(), now).await?;
        forget_answers(tx, &self.told).await?;
        let told = self.told.iter().map(|(kind, (channel, message), at)| NewHappening {
            kind: kind.name(),
            at: at.millis(),
            c: Some(channel.as_str()),
            s: Some(message.as_str()),
        });
        log(tx, &told.collect::<Vec<_>>(), now).await
    }

    async fn save_messages(&self, tx: &mut Tx) -> Result<(), StoreError> {
        let rows: Vec<_> = self.changed().map(|(key, state)| saved(key, state)).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let rows = serde_json::to_string(&rows)?;
        exec!(tx, query(SAVE_MESSAGES).bind(&rows))?;
        Ok(())
    }

    async fn save_media(&mut self, tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
        let keys = self.changed.iter().chain(&self.added);
        let states = keys.filter_map(|key| self.states.get_key_value(key));
        let media: Vec<_> =
            states.filter(|(_, s)| s.kind.is_some_and(MessageType::is_media)).collect();
        let kept = media.iter().filter(|(_, state)| state.counts());
        let kept: Vec<_> = kept.map(|(key, state)| pending(key, state)).collect();
        if !kept.is_empty() {
            let rows = serde_json::to_string(&kept)?;
            exec!(tx, query(SAVE_MEDIA).bind(&rows).bind(now.millis()))?;
        }
        let gone = media.iter().filter(|(_, state)| state.unsent_at.is_some());
        let gone: Vec<_> =
            gone.map(|((c, m), _)| Key { c: c.as_str(), m: Some(m.as_str()) }).collect();
        if !gone.is_empty() {
            erase_media(tx, &mut self.ledger, &gone).await?;
        }
        Ok(())
    }

    fn changed(&self) -> impl Iterator<Item = (&MessageKey, &MessageState)> {
        self.changed.iter().filter_map(|key| self.states.get_key_value(key))
    }
}

/// Writes what the ledger changed: counters, baselines, usage and crossings.
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
        exec!(tx, query(ADD_TO_CHANNELS).bind(&rows))?;
    }
    if !baselines.is_empty() {
        let rows = serde_json::to_string(&baselines)?;
        exec!(tx, query(ADD_TO_BASELINES).bind(&rows))?;
    }
    if !users.is_empty() {
        let rows = serde_json::to_string(&users)?;
        exec!(tx, query(ADD_TO_USERS).bind(&rows))?;
    }
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
    let kind = HappeningKind::of_usage(status);
    let (user, status) = (user.as_str(), status.name());
    exec!(tx, query(ADD_NOTICE).bind(user).bind(status).bind(now.millis()))?;
    let told = kind.map(|kind| NewHappening {
        kind: kind.name(),
        at: now.millis(),
        c: None,
        s: Some(user),
    });
    log(tx, told.as_slice(), now).await
}
