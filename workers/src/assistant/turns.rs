//! The order of replies in a channel: a reply waits for those to earlier events, so that answers to
//! questions that come together stand in the order of the questions.
//!
//! It holds for the events that one process has at the same time. Others may be with another process,
//! and nothing waits for long: an order is not worth an answer.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chatkeep_core::event::Event;
use chatkeep_core::id::{ChannelId, EventId};
use chatkeep_core::time::Timestamp;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::gate::EventItem;

/// Maximum time for which a reply waits for those before it.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum age, beside an event, of earlier ones that it waits for: who was kept waiting for longer is
/// not answered in order anyway.
const TOGETHER: Duration = Duration::from_secs(10);

/// Place of an event among those of its channel.
type Place = (Timestamp, EventId);

/// Events that are to be handled. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ReplyTurns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    channels: Mutex<HashMap<ChannelId, BTreeSet<Place>>>,
    ended: Notify,
}

/// Event that is to be handled, in the order of its channel until it is dropped.
#[derive(Debug)]
pub struct QueuedEvent {
    pub(super) event: Event,
    turns: ReplyTurns,
}

impl ReplyTurns {
    /// Queues an event that was taken from the bus.
    pub(super) fn queue(&self, event: Event) -> QueuedEvent {
        let queued = QueuedEvent { event, turns: self.clone() };
        if let Some(channel) = queued.channel() {
            let place = queued.place();
            self.with(|channels| channels.entry(channel.clone()).or_default().insert(place));
        }
        queued
    }

    fn with<T>(&self, act: impl FnOnce(&mut HashMap<ChannelId, BTreeSet<Place>>) -> T) -> T {
        act(&mut self.0.channels.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl QueuedEvent {
    /// Waits until no earlier event of the channel is to be handled, for [`TIMEOUT`] at most.
    pub(super) async fn turn(&self) {
        let first = async {
            loop {
                let ended = self.turns.0.ended.notified();
                if self.is_first() {
                    return;
                }
                ended.await;
            }
        };
        // Elapsed: the one before takes too long.
        let _ = timeout(TIMEOUT, first).await;
    }

    fn is_first(&self) -> bool {
        let Some(channel) = self.channel() else { return true };
        let place = self.place();
        let oldest = (place.0.minus(TOGETHER), EventId::new(""));
        self.turns.with(|channels| {
            let places = channels.get(channel);
            places.is_none_or(|places| places.range(oldest..place).next().is_none())
        })
    }

    fn channel(&self) -> Option<&ChannelId> {
        self.event.channel.as_ref().map(|channel| &channel.id)
    }

    fn place(&self) -> Place {
        (self.event.at, self.event.key())
    }
}

impl EventItem for QueuedEvent {
    fn event(&self) -> &Event {
        &self.event
    }

    fn with_event(&self, event: Event) -> Self {
        self.turns.queue(event)
    }
}

impl Drop for QueuedEvent {
    fn drop(&mut self) {
        let Some(channel) = self.channel() else { return };
        let place = self.place();
        self.turns.with(|channels| {
            if let Some(places) = channels.get_mut(channel) {
                places.remove(&place);
                if places.is_empty() {
                    channels.remove(channel);
                }
            }
        });
        self.turns.0.ended.notify_waiters();
    }
}
