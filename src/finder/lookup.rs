//! Around a search: whom names mean before it, and the messages that were found after it.

use std::collections::{BTreeMap, HashMap};

use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::store::{Store, StoreError, StoredMessage};
use chatkeep_index::fold;

use super::{Asked, Hit, Snippet};

/// A message that was found, with what was found in it.
#[derive(Debug)]
pub struct FoundMessage {
    /// The message.
    pub message: StoredMessage,
    /// How well it fits; 0 when sorted by time.
    pub score: f32,
    /// The part of it around what was found.
    pub snippet: Snippet,
}

impl Asked {
    /// Whom the names in `from:` mean: people of these channels by their names, whatever the case
    /// and width of the letters.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn people(
        &self,
        store: &Store,
        channels: &[ChannelId],
    ) -> Result<BTreeMap<String, Vec<UserId>>, StoreError> {
        let mut people: BTreeMap<String, Vec<UserId>> = BTreeMap::new();
        let names = self.names();
        if names.is_empty() {
            return Ok(people);
        }
        let known = store.names_in(channels).await?;
        for name in names {
            let wanted = fold(name);
            let of_name = known.iter().filter(|(_, known)| fold(known) == wanted);
            let users: Vec<_> = of_name.map(|(user, _)| user.clone()).collect();
            if !users.is_empty() {
                people.insert(name.to_owned(), users);
            }
        }
        Ok(people)
    }

    /// The hits with their messages, snippets of at most `max` characters. What the store no
    /// longer has is left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn look_up(
        &self,
        store: &Store,
        hits: Vec<Hit>,
        max: usize,
    ) -> Result<Vec<FoundMessage>, StoreError> {
        let keys: Vec<_> =
            hits.iter().map(|hit| (hit.channel.clone(), hit.message.clone())).collect();
        let messages = store.chosen_messages(&keys).await?;
        let mut messages: HashMap<(ChannelId, MessageId), StoredMessage> = messages
            .into_iter()
            .map(|message| ((message.channel.clone(), message.id.clone()), message))
            .collect();
        let found = |hit: Hit| {
            let message = messages.remove(&(hit.channel, hit.message))?;
            let text = message.content.as_ref()?.searchable().unwrap_or_default();
            let snippet = self.snippet(&text, max);
            Some(FoundMessage { message, score: hit.score, snippet })
        };
        Ok(hits.into_iter().filter_map(found).collect())
    }
}
