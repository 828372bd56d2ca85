//! Fast path for the bulk of backup: storing messages that are not known yet.
//!
//! While every subscriber has room for the whole batch, the order of its messages does not matter,
//! so they are inserted without a read first. Those that turn out to be known already are left to
//! the careful path.

use std::collections::{BTreeSet, HashSet};

use chatkeep_core::message::MessageChange;
use chatkeep_core::time::Timestamp;

use super::super::db::Tx;
use super::super::outbox_kind::OutboxEventKind;
use super::super::{MessageState, StoreError};
use super::ChannelChange;
use super::batch::{Batch, MessageKey, PendingEvent};
use super::sql::{ADD_MESSAGES, saved};
use crate::activity::Counted;
use crate::query::query_as;

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
    pub(super) async fn insert_fresh<'a>(
        &mut self,
        tx: &mut Tx,
        changes: impl Iterator<Item = (usize, &'a ChannelChange)>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let fresh = self.fresh(changes, now);
        if fresh.is_empty() {
            return Ok(());
        }
        let rows: Vec<_> = fresh.iter().map(|(_, key, state)| saved(key, state)).collect();
        let rows = serde_json::to_string(&rows)?;
        let added: Vec<(String, String)> = tx.fetch_all(query_as(ADD_MESSAGES).bind(&rows)).await?;
        let added: HashSet<MessageKey> =
            added.into_iter().map(|(c, m)| (c.into(), m.into())).collect();
        for (nth, key, state) in fresh.into_iter().filter(|(_, key, _)| added.contains(key)) {
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
        Ok(())
    }

    /// Charges the messages that were stored.
    pub(super) fn charge_added(&mut self, now: Timestamp) {
        for key in self.added.keys() {
            let counted = self.states.get(key).and_then(|state| Counted::of(state, None));
            let at = self.ledger.storing_time(&key.0, now);
            self.ledger.charge_message(&key.0, at, None, counted.as_ref());
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
    fn fresh<'a>(
        &self,
        changes: impl Iterator<Item = (usize, &'a ChannelChange)>,
        now: Timestamp,
    ) -> Vec<(usize, MessageKey, MessageState)> {
        let mut seen = BTreeSet::new();
        let mut fresh = Vec::new();
        for (nth, change) in changes {
            let received = matches!(change.change, MessageChange::Received(_));
            let (channel, message) = (&change.channel, &change.message);
            let wanted = received
                && self.ledger.subscribed(channel)
                && !self.deletion_guard.refuse(change)
                && !self.deletion_guard.opted_out(change);
            if wanted && seen.insert((channel, message)) {
                let mut state = MessageState::default();
                let at = self.ledger.storing_time(channel, now);
                state.apply(&change.change, false, at);
                fresh.push((nth, (channel.clone(), message.clone()), state));
            }
        }
        fresh.sort_by(|(_, one, _), (_, other, _)| one.cmp(other));
        fresh
    }
}
