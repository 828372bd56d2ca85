//! Graves: dead letters hold events as they came, texts included. Those of messages that were taken
//! back meanwhile are dropped (contract section 5, "Unsend").

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chatkeep_core::bus::{Bus, BusError, DeadLetter};
use chatkeep_core::event::EventKind;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::store::Store;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::backup::decode_event;
use crate::outcome::Outcome;

/// How often dead letters are looked through.
const LOOK: Duration = Duration::from_mins(1);
/// Dead letters looked through in one round, oldest first.
const LETTERS: usize = 5_000;

/// Looks after dead letters.
#[derive(Debug)]
pub struct Graves {
    /// Knows what was taken back.
    pub store: Store,
    /// Has the dead letters.
    pub bus: Bus,
}

impl Graves {
    /// Looks until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        let mut looks = tokio::time::interval(LOOK);
        while stop.run_until_cancelled(looks.tick()).await.is_some() {
            match self.clear().await {
                Ok(0) => {}
                Ok(letters) => info!(letters, "dead letters of messages taken back are dropped"),
                Err(outcome) => warn!(?outcome, "cannot look through the dead letters"),
            }
        }
    }

    /// Drops the dead letters of messages that were taken back, and says how many.
    ///
    /// # Errors
    /// [`Outcome::Wait`] or [`Outcome::Retry`] when bus or store fail.
    pub async fn clear(&self) -> Result<usize, Outcome> {
        let letters = self.bus.dead_letters(LETTERS).await?;
        let mut by_message: BTreeMap<(ChannelId, MessageId), Vec<String>> = BTreeMap::new();
        for letter in &letters {
            for message in messages_of(letter) {
                by_message.entry(message).or_default().push(letter.id.clone());
            }
        }
        let messages: BTreeSet<_> = by_message.keys().cloned().collect();
        let mut dropped = 0;
        for (channel, message, state) in self.store.message_states(&messages).await? {
            let letters = by_message.remove(&(channel, message)).unwrap_or_default();
            if state.unsent_at.is_some() {
                dropped += self.drop_all(&letters).await?;
            }
        }
        Ok(dropped)
    }

    async fn drop_all(&self, letters: &[String]) -> Result<usize, BusError> {
        let mut dropped = 0;
        for id in letters {
            dropped += usize::from(self.bus.drop_dead_letter(id).await?);
        }
        Ok(dropped)
    }
}

/// The message that a dead letter tells the content of, in every channel that it may be kept in: a
/// person's chat with one of several bots is a channel of its own.
fn messages_of(letter: &DeadLetter) -> Vec<(ChannelId, MessageId)> {
    let Ok(event) = decode_event(&letter.payload) else {
        return Vec::new();
    };
    let (EventKind::Message(message) | EventKind::Edited(message)) = event.kind else {
        return Vec::new();
    };
    let channels = event.channel.into_iter().flat_map(|channel| {
        let chat = channel.id.chat_with(&event.bot);
        [channel.id, chat]
    });
    channels.map(|channel| (channel, message.id.clone())).collect()
}
