//! Fast path for the bulk of backup: storing messages that are not known yet.
//!
//! While every subscriber has room for the whole batch, the order of its messages does not matter,
//! so they are inserted without a read first. Those that turn out to be known already are left to
//! the careful path.

use std::collections::HashSet;

use chatkeep_core::message::{BackupMode, MessageChange};
use chatkeep_core::time::Timestamp;

use super::super::db::Tx;
use super::super::outbox_kind::OutboxEventKind;
use super::super::{MessageState, StoreError};
use super::ChannelChange;
use super::batch::{Batch, MessageKey, PendingEvent};
use super::sql::{ADD_MESSAGES, saved};
use crate::activity::Counted;
use crate::query::query_as;

/// Just received message, as it is to be stored.
#[derive(Debug)]
pub(super) struct FreshMessage {
    /// Index of its change in the batch.
    pub(super) nth: usize,
    pub(super) key: MessageKey,
    pub(super) state: MessageState,
}

impl Batch {
    /// Stores the fresh messages among the changes, and charges them.
    pub(super) async fn insert_new(
        &mut self,
        tx: &mut Tx,
        changes: &[ChannelChange],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if !self.has_room(changes) {
            return Ok(());
        }
        self.insert_fresh(tx, changes.iter().enumerate(), now).await?;
        self.charge_added(now);
        Ok(())
    }

    /// Stores the fresh messages among numbered changes of which all have room, without charging them.
    async fn insert_fresh<'a>(
        &mut self,
        tx: &mut Tx,
        changes: impl Iterator<Item = (usize, &'a ChannelChange)>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let fresh = self.fresh(changes, now);
        if fresh.is_empty() {
            return Ok(());
        }
        let rows: Vec<_> = fresh.iter().map(|new| saved(&new.key, &new.state)).collect();
        let rows = serde_json::to_string(&rows)?;
        let added: Vec<(String, String)> = tx.fetch_all(query_as(ADD_MESSAGES).bind(&rows)).await?;
        let added: HashSet<MessageKey> =
            added.into_iter().map(|(c, m)| (c.into(), m.into())).collect();
        self.note_added(fresh.into_iter().filter(|new| added.contains(&new.key)), now);
        Ok(())
    }

    fn note_added(&mut self, added: impl Iterator<Item = FreshMessage>, now: Timestamp) {
        for FreshMessage { nth, key, state } in added {
            self.events.push(PendingEvent {
                nth,
                kind: OutboxEventKind::of_message(state.is_bot),
                key: key.clone(),
                at: state.sent_at.unwrap_or(now),
                unstored: None,
            });
            self.resumed.insert(key.0.clone());
            self.states.insert(key.clone(), state);
            self.added.insert(key, nth);
        }
    }

    /// Charges the messages that were stored.
    fn charge_added(&mut self, now: Timestamp) {
        for key in self.added.keys() {
            let counted = self.states.get(key).and_then(|state| Counted::of(state, None));
            let at = self.ledger.storing_time(&key.0, now);
            self.ledger.charge_message(&key.0, at, None, counted.as_ref());
        }
    }

    /// Charges stored messages of one channel.
    pub(super) fn charge_fresh(&mut self, messages: &[FreshMessage], now: Timestamp) {
        let Some(FreshMessage { key: (channel, _), .. }) = messages.first() else { return };
        let at = self.ledger.storing_time(channel, now);
        for message in messages {
            let counted = Counted::of(&message.state, None);
            self.ledger.charge_message(channel, at, None, counted.as_ref());
        }
    }

    /// Returns `false` when a quota could fill up with these changes.
    pub(super) fn has_room<'a>(
        &self,
        changes: impl IntoIterator<Item = &'a ChannelChange>,
    ) -> bool {
        let content = |change: &ChannelChange| match &change.change {
            MessageChange::Received(message) => message.content.len(),
            MessageChange::Edited { content, .. } => content.len(),
            MessageChange::Unsent { .. } => 0,
        };
        let bytes = changes.into_iter().map(content).sum::<usize>();
        self.ledger.has_room(i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    /// Returns the first change of each just received message, as it is to be stored, by key: rows
    /// beside each other in the table are inserted one after another, and in one order by all.
    pub(super) fn fresh<'a>(
        &self,
        changes: impl Iterator<Item = (usize, &'a ChannelChange)>,
        now: Timestamp,
    ) -> Vec<FreshMessage> {
        let wanted = changes.filter(|(_, change)| {
            matches!(change.change, MessageChange::Received(_))
                && self.ledger.subscribed(&change.channel)
                && !self.deletion_guard.refuse(change)
                && !self.deletion_guard.opted_out(change)
        });
        let mut fresh: Vec<_> = wanted
            .map(|(nth, change)| {
                let mut state = MessageState::default();
                let at = self.ledger.storing_time(&change.channel, now);
                state.apply(&change.change, BackupMode::default(), at);
                FreshMessage { nth, key: (change.channel.clone(), change.message.clone()), state }
            })
            .collect();
        // Stable: of the same message the first change stays the first.
        fresh.sort_by(|one, other| one.key.cmp(&other.key));
        fresh.dedup_by(|later, first| later.key == first.key);
        fresh
    }
}
