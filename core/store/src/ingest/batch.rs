//! Batch of changes in its transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::message::{BackupMode, Effect, MessageChange, MessageState, MessageType};
use chatkeep_core::time::Timestamp;

use super::deletion_guard::DeletionGuard;
use super::gaps::{Skips, close_gaps, open_gap};
use super::sql::{
    BulkKey, KEEPING_EARLIER_TEXTS, KNOWN_MESSAGES, PendingMedia, SAVE_MEDIA, SAVE_MESSAGES,
    pending, saved,
};
use super::unstored_events::retract_unstored;
use super::unsubscribed::begin_gaps;
use super::{ChannelChange, IngestOutcome, save_ledger};
use crate::activity::Counted;
use crate::change_log::log_messages;
use crate::db::Tx;
use crate::exports::outdate_exports;
use crate::ledger::Ledger;
use crate::logged_changes::changes_index;
use crate::media::erase_media;
use crate::messages::{VersionedRow, origin_of};
use crate::opt_outs::count_opted_out;
use crate::outbox_kind::OutboxEventKind;
use crate::outbox_log::{NewMessageEvent, NewOutboxEvent, log};
use crate::query::{query, query_as};
use crate::unstored::UnstoredMessage;
use crate::webhooks::delete_responses;
use crate::{ReplyOrigin, StoreError};

pub(super) type MessageKey = (ChannelId, MessageId);

/// Batch of changes in its transaction.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) ledger: Ledger,
    pub(super) states: HashMap<MessageKey, MessageState>,
    /// Origins of the stored replies of the bot among them.
    pub(super) origins: HashMap<MessageKey, ReplyOrigin>,
    /// Channels that keep earlier texts, among those of the loaded messages.
    pub(super) keeping_earlier_texts: HashSet<ChannelId>,
    pub(super) changed: BTreeSet<MessageKey>,
    /// Messages that [`Batch::insert_fresh`] has stored already, with the indices of their changes.
    pub(super) added: BTreeMap<MessageKey, usize>,
    pub(super) skips: BTreeMap<ChannelId, Skips>,
    pub(super) resumed: BTreeSet<ChannelId>,
    pub(super) deletion_guard: DeletionGuard,
    pub(super) events: Vec<PendingEvent>,
    /// Events of unsent messages that are not stored, for those with an event in the log.
    pub(super) unstored_unsends: Vec<PendingEvent>,
    /// Received messages of people who opted out, with the times of their sending.
    pub(super) opted_out: BTreeMap<MessageKey, Timestamp>,
    /// Channels without any subscription, with the times of sending of messages received there.
    pub(super) unsubscribed: BTreeSet<(ChannelId, Timestamp)>,
}

/// Event to log for a change.
#[derive(Debug)]
pub(super) struct PendingEvent {
    /// Index of the change in the batch: all are logged in their order, so that a reply follows its
    /// message.
    pub(super) nth: usize,
    pub(super) kind: OutboxEventKind,
    pub(super) key: MessageKey,
    pub(super) at: Timestamp,
    /// Properties of an unstored message to deliver.
    pub(super) unstored: Option<UnstoredMessage>,
}

impl PendingEvent {
    /// Returns `true` if search replicas learn of the change from this event.
    fn changes_index(&self) -> bool {
        self.unstored.is_none() && changes_index(self.kind.name())
    }

    fn row(&self) -> Result<NewMessageEvent<'_>, StoreError> {
        let (channel, message) = &self.key;
        let outbox_event = NewOutboxEvent {
            kind: self.kind.name(),
            at: self.at.millis(),
            c: Some(channel.as_str()),
            s: Some(message.as_str()),
        };
        let unstored = self.unstored.as_ref().map(serde_json::to_string).transpose()?;
        Ok(NewMessageEvent { outbox_event, unstored })
    }
}

impl Batch {
    /// Loads the stored states of the messages of these changes.
    pub(super) async fn load(
        &mut self,
        tx: &mut Tx,
        changes: impl Iterator<Item = &ChannelChange>,
    ) -> Result<(), StoreError> {
        let wanted: BTreeSet<_> =
            changes.map(|change| (change.channel.as_str(), change.message.as_str())).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let keys: Vec<_> = wanted.into_iter().map(|(c, m)| BulkKey { c, m: Some(m) }).collect();
        let keys = serde_json::to_string(&keys)?;
        let rows: Vec<VersionedRow> = tx.fetch_all(query_as(KNOWN_MESSAGES).bind(&keys)).await?;
        for row in rows {
            let VersionedRow { message, .. } = &row;
            let key = (message.channel_id.as_str().into(), message.message_id.as_str().into());
            if let Some(origin) = origin_of(message)? {
                self.origins.insert(MessageKey::clone(&key), origin);
            }
            self.states.insert(key, row.state()?);
        }
        // Under the locks of the channels: whoever switches it off waits for this batch.
        let keeping: Vec<(String,)> =
            tx.fetch_all(query_as(KEEPING_EARLIER_TEXTS).bind(&keys)).await?;
        self.keeping_earlier_texts = keeping.into_iter().map(|(id,)| id.into()).collect();
        Ok(())
    }

    /// Applies the `nth` change of the batch.
    pub(super) fn apply(
        &mut self,
        nth: usize,
        item: &ChannelChange,
        now: Timestamp,
    ) -> IngestOutcome {
        let key = (item.channel.clone(), item.message.clone());
        let kept = if self.deletion_guard.refuse(item) {
            IngestOutcome::Known
        } else if self.deletion_guard.opted_out(item) {
            self.refuse(item, &key)
        } else if self.ledger.subscribed(&item.channel) || self.needs_no_subscription(item, &key) {
            self.change(nth, item, &key, now)
        } else {
            IngestOutcome::NotBackedUp
        };
        self.record_unstored(nth, item, key, kept);
        kept
    }

    /// Returns `true` for a change that is right also without any subscription: what its author took
    /// back or replaced does not stay, and what was taken back does not come, should its message be
    /// delivered once somebody has subscribed. Nothing that anybody said is stored by it.
    fn needs_no_subscription(&self, item: &ChannelChange, key: &MessageKey) -> bool {
        let state = self.states.get(key);
        match item.change {
            MessageChange::Received(_) => {
                state.is_some_and(|state| state.sent_at.is_some() || state.skipped)
            }
            MessageChange::Edited { .. } => state.is_some_and(|state| state.sent_at.is_some()),
            MessageChange::Unsent { .. } => true,
        }
    }

    /// Stores nothing of a change whose author opted out; of a message only that one is missing.
    fn refuse(&mut self, item: &ChannelChange, key: &MessageKey) -> IngestOutcome {
        let MessageChange::Received(message) = &item.change else {
            return IngestOutcome::OptedOut;
        };
        if self.states.get(key).is_some_and(|state| state.sent_at.is_some() || state.skipped) {
            // Stored while they opted out, or not for another reason: that stays as it was.
            return IngestOutcome::Known;
        }
        if self.ledger.subscribed(&item.channel) {
            self.opted_out.insert(key.clone(), message.at);
        }
        IngestOutcome::OptedOut
    }

    fn change(
        &mut self,
        nth: usize,
        item: &ChannelChange,
        key: &MessageKey,
        now: Timestamp,
    ) -> IngestOutcome {
        let channel = &item.channel;
        let mode = BackupMode {
            paused: self.ledger.paused(channel),
            keeps_earlier_texts: self.keeping_earlier_texts.contains(channel),
        };
        let storing_time = self.ledger.storing_time(channel, now);
        let state = self.states.entry(key.clone()).or_default();
        let origin = self.origins.get(key);
        let before = Counted::of(state, origin);
        let effect = state.apply(&item.change, mode, storing_time);
        let stored_at = state.backed_up_at.unwrap_or(storing_time);
        let after = Counted::of(state, origin);
        self.ledger.charge_message(channel, stored_at, before.as_ref(), after.as_ref());
        let count = i64::from(after.is_some()) - i64::from(before.is_some());
        match effect {
            Effect::None => return IngestOutcome::Known,
            Effect::Changed if count > 0 => {
                self.resumed.insert(channel.clone());
            }
            Effect::Changed | Effect::EarlierText => {}
            Effect::Skipped => self.skip(item),
        }
        if effect == Effect::Changed {
            self.record_event(nth, key, &item.change, count);
        }
        self.changed.insert(key.clone());
        if effect == Effect::Skipped { IngestOutcome::Skipped } else { IngestOutcome::Changed }
    }

    /// Queues the event of a change. A change that nobody could see yet has none; whether anybody
    /// knows of an unsent message that is not stored, the log says.
    fn record_event(&mut self, nth: usize, key: &MessageKey, change: &MessageChange, count: i64) {
        let seen = self.states.get(key).is_some_and(|state| state.sent_at.is_some());
        let events = match change {
            MessageChange::Received(message) if count > 0 => {
                Some((OutboxEventKind::of_message(message.is_bot), message.at))
            }
            MessageChange::Edited { at, .. } if seen => Some((OutboxEventKind::MessageEdited, *at)),
            MessageChange::Unsent { at } => Some((OutboxEventKind::MessageUnsent, *at)),
            _ => None,
        };
        let events = events.map(|(kind, at)| PendingEvent {
            nth,
            kind,
            key: key.clone(),
            at,
            unstored: None,
        });
        let is_unstored = !seen && matches!(change, MessageChange::Unsent { .. });
        if is_unstored { self.unstored_unsends.extend(events) } else { self.events.extend(events) }
    }

    /// Queues the events of unsent messages that are not stored and have an event in the log.
    async fn queue_unstored_retractions(&mut self, tx: &mut Tx) -> Result<(), StoreError> {
        if self.unstored_unsends.is_empty() {
            return Ok(());
        }
        let keys = self.unstored_unsends.iter().map(|event| &event.key);
        let keys: Vec<_> =
            keys.map(|(c, m)| BulkKey { c: c.as_str(), m: Some(m.as_str()) }).collect();
        let keys = serde_json::to_string(&keys)?;
        let mut retracted = retract_unstored(tx, &keys).await?;
        for event in std::mem::take(&mut self.unstored_unsends) {
            if let Some(unstored) = retracted.remove(&event.key) {
                self.events.push(PendingEvent { unstored: Some(unstored), ..event });
            }
        }
        Ok(())
    }

    /// Queues the event of a received, unstored message, and notes that it is missing. The log
    /// takes no second event of it while it has the first one.
    fn record_unstored(
        &mut self,
        nth: usize,
        item: &ChannelChange,
        key: MessageKey,
        kept: IngestOutcome,
    ) {
        let MessageChange::Received(message) = &item.change else {
            return;
        };
        let is_gone = self.states.get(&key).is_some_and(|state| state.unsent_at.is_some());
        if kept == IngestOutcome::NotBackedUp && !is_gone {
            self.unsubscribed.insert((item.channel.clone(), message.at));
        }
        if let Some(unstored) = UnstoredMessage::of(message, kept) {
            let (kind, at) = (OutboxEventKind::of_message(message.is_bot), message.at);
            self.events.push(PendingEvent { nth, kind, key, at, unstored: Some(unstored) });
        }
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

    pub(super) async fn save(&mut self, tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
        self.forget_strays();
        self.forget_unsent();
        self.save_messages(tx).await?;
        count_opted_out(tx, &self.opted_out).await?;
        begin_gaps(tx, &self.unsubscribed).await?;
        outdate_exports(tx, self.changed_times()).await?;
        self.save_media(tx, now).await?;
        self.queue_unstored_retractions(tx).await?;
        let changed = self.events.iter().filter(|event| !event.kind.is_new_message());
        delete_responses(tx, changed.map(|event| &event.key)).await?;
        self.log_events(tx, now).await?;
        self.save_counters(tx, now).await
    }

    /// Saves the gaps and the ledger.
    pub(super) async fn save_counters(
        &self,
        tx: &mut Tx,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for (channel, skips) in &self.skips {
            open_gap(tx, channel, skips, now).await?;
        }
        save_ledger(tx, &self.ledger, now).await?;
        close_gaps(tx, &self.running(), now).await
    }

    async fn log_events(&mut self, tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
        self.events.sort_by_key(|event| event.nth);
        let events = self.events.iter().map(PendingEvent::row).collect::<Result<Vec<_>, _>>()?;
        log(tx, &events, now).await?;
        self.log_quiet_changes(tx, now).await
    }

    /// Returns the channels whose gaps are over: something was stored or, if messages were skipped,
    /// retractions behind them made room.
    fn running(&self) -> BTreeSet<ChannelId> {
        let resumed = self.resumed.iter().filter(|id| !self.skips.contains_key(id.as_str()));
        let unpaused = self.skips.keys().filter(|channel| !self.ledger.paused(channel));
        resumed.chain(unpaused).cloned().collect()
    }

    /// Logs changes without an event, for search replicas.
    async fn log_quiet_changes(&self, tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
        let events = self.events.iter().filter(|event| event.changes_index());
        let events: HashSet<_> = events.map(|event| &event.key).collect();
        let quiet =
            self.changed.iter().chain(self.added.keys()).filter(|key| !events.contains(key));
        log_messages(tx, quiet.map(|(channel, message)| (channel, message)), now).await
    }

    /// Drops edits in this batch of messages whose authors had opted out when they sent them.
    fn forget_strays(&mut self) {
        let (opted_out, states) = (&self.opted_out, &self.states);
        let is_stray = |key: &MessageKey| {
            opted_out.contains_key(key)
                && states.get(key).is_some_and(|state| state.unsent_at.is_none())
        };
        self.changed.retain(|key| !is_stray(key));
    }

    /// Drops the events of received, unstored messages that are unsent by now, in this batch or
    /// before: they would name the sender once more. Whoever knows of one is told of its unsend.
    fn forget_unsent(&mut self) {
        let states = &self.states;
        self.events.retain(|event| {
            event.unstored.is_none()
                || states.get(&event.key).is_none_or(|state| state.unsent_at.is_none())
        });
    }

    async fn save_messages(&self, tx: &mut Tx) -> Result<(), StoreError> {
        let rows: Vec<_> = self.changed().map(|(key, state)| saved(key, state)).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let rows = serde_json::to_string(&rows)?;
        tx.execute(query(SAVE_MESSAGES).bind(&rows)).await?;
        Ok(())
    }

    async fn save_media(&mut self, tx: &mut Tx, now: Timestamp) -> Result<(), StoreError> {
        let keys = self.changed.iter().chain(self.added.keys());
        let states = keys.filter_map(|key| self.states.get_key_value(key));
        let media: Vec<_> =
            states.filter(|(_, s)| s.kind.is_some_and(MessageType::is_media)).collect();
        let kept = media.iter().filter(|(_, state)| state.counts());
        let kept: Vec<_> = kept.map(|(key, state)| pending(key, state)).collect();
        save_pending(tx, &kept, now).await?;
        let gone = media.iter().filter(|(_, state)| state.unsent_at.is_some());
        let gone: Vec<_> =
            gone.map(|((c, m), _)| BulkKey { c: c.as_str(), m: Some(m.as_str()) }).collect();
        if !gone.is_empty() {
            erase_media(tx, &mut self.ledger, &gone).await?;
        }
        Ok(())
    }

    /// Returns the times of sending of messages whose stored content changed.
    fn changed_times(&self) -> impl Iterator<Item = (&ChannelId, Timestamp)> {
        let changed = self.events.iter().filter(|event| !event.kind.is_new_message());
        changed.filter_map(|event| {
            let sent_at = self.states.get(&event.key)?.sent_at?;
            Some((&event.key.0, sent_at))
        })
    }

    fn changed(&self) -> impl Iterator<Item = (&MessageKey, &MessageState)> {
        self.changed.iter().filter_map(|key| self.states.get_key_value(key))
    }
}

/// Saves files to be fetched.
pub(super) async fn save_pending(
    tx: &mut Tx,
    media: &[PendingMedia<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    if !media.is_empty() {
        let rows = serde_json::to_string(media)?;
        tx.execute(query(SAVE_MEDIA).bind(&rows).bind(now.millis())).await?;
    }
    Ok(())
}
