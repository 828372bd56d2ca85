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
    /// Stores the fresh messages among the changes. Returns for each change whether it was done.
    pub(super) async fn insert_new(
        &mut self,
        tx: &mut Tx,
        changes: &[ChannelChange],
        now: Timestamp,
    ) -> Result<Vec<bool>, StoreError> {
        let mut done = vec![false; changes.len()];
        let fresh = self.fresh(changes, now);
        if fresh.is_empty() {
            return Ok(done);
        }
        let rows: Vec<_> = fresh.iter().map(|(_, key, state)| saved(key, state)).collect();
        let rows = serde_json::to_string(&rows)?;
        let added: Vec<(String, String)> = tx.fetch_all(query_as(ADD_MESSAGES).bind(&rows)).await?;
        let added: HashSet<MessageKey> =
            added.into_iter().map(|(c, m)| (c.into(), m.into())).collect();
        for (index, key, state) in fresh {
            if added.contains(&key) {
                done[index] = true;
                let at = self.ledger.storing_time(&key.0, now);
                let counted = Counted::of(&state, None);
                self.ledger.charge_message(&key.0, at, None, counted.as_ref());
                let sent_at = state.sent_at.unwrap_or(now);
                let kind = OutboxEventKind::of_message(state.is_bot);
                let key_told = key.clone();
                self.events.push(PendingEvent {
                    nth: index,
                    kind,
                    key: key_told,
                    at: sent_at,
                    unstored: None,
                });
                self.resumed.insert(key.0.clone());
                self.states.insert(key.clone(), state);
                self.added.insert(key);
            }
        }
        Ok(done)
    }

    /// Returns the first change of each just received message, as it is to be stored; none when a
    /// quota could fill up on the way.
    fn fresh(
        &self,
        changes: &[ChannelChange],
        now: Timestamp,
    ) -> Vec<(usize, MessageKey, MessageState)> {
        let content = |change: &ChannelChange| match &change.change {
            MessageChange::Received(message) => message.content.len(),
            MessageChange::Edited { content, .. } => content.len(),
            MessageChange::Unsent { .. } => 0,
        };
        let bytes = changes.iter().map(content).sum::<usize>();
        if !self.ledger.has_room(i64::try_from(bytes).unwrap_or(i64::MAX)) {
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        let mut fresh = Vec::with_capacity(changes.len());
        for (index, change) in changes.iter().enumerate() {
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
                fresh.push((index, (channel.clone(), message.clone()), state));
            }
        }
        fresh
    }
}
