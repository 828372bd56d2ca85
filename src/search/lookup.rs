//! Resolution of names before a search, and lookup of the found messages after it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use chatkeep_core::heavy::{CALLERS, LIGHT};
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::Content;
use chatkeep_index::fold;
use chatkeep_store::{Store, StoreError, StoredMessage};
use chatkeep_view::pseudonyms::{Mask, Masked};

use super::{Hit, ParsedQuery, Snippet};

/// A found message, with its snippet.
#[derive(Debug)]
pub struct SearchResult {
    /// The message.
    pub message: Masked<StoredMessage>,
    /// Relevance score; 0 when sorted by time.
    pub score: f32,
    /// `true` if it does not hold all of the query.
    pub related: bool,
    /// Snippet around the matches.
    pub snippet: Snippet,
}

/// People named in a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPeople {
    /// Users of each name.
    pub people: BTreeMap<String, Vec<UserId>>,
    /// Names that match neither a person nor an id.
    pub unknown: Vec<String>,
}

impl ParsedQuery {
    /// Resolves the names in `from:` for a reader who sees people as they are.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    #[boxed]
    pub async fn named_people(
        &self,
        store: &Store,
        channels: &[ChannelId],
    ) -> Result<QueryPeople, StoreError> {
        self.people((store, &Mask::none()), channels).await
    }

    /// Resolves the names in `from:`: people of these channels, and those whose messages were
    /// imported into them, by their names, whatever the case and width of the letters.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    #[boxed]
    pub async fn people(
        &self,
        (store, mask): (&Store, &Mask),
        channels: &[ChannelId],
    ) -> Result<QueryPeople, StoreError> {
        let names = self.names();
        if names.is_empty() {
            return Ok(QueryPeople::default());
        }
        let known = store.members().names_in(channels).await?;
        let shown = |(user, name)| {
            let name = mask.name(&user, name);
            (user, name)
        };
        let known = known.into_iter().map(shown).collect();
        let names: Vec<_> = names.into_iter().map(|name| (name.to_owned(), fold(name))).collect();
        // As many names as there are people are folded, once each.
        Ok(CALLERS.run(move || resolved(names, known)).await)
    }

    /// Returns the hits with their messages, snippets of at most `max` characters. Messages that
    /// the store no longer has are left out.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    #[boxed]
    pub async fn look_up(
        &self,
        (store, mask): (&Store, &Mask),
        hits: Vec<Hit>,
        max: usize,
    ) -> Result<Vec<SearchResult>, StoreError> {
        let keys: Vec<_> =
            hits.iter().map(|hit| (hit.channel.clone(), hit.message.clone())).collect();
        let messages = store.messages().chosen_messages(&keys).await?;
        let mut messages: HashMap<(ChannelId, MessageId), StoredMessage> = messages
            .into_iter()
            .map(|message| ((message.channel.clone(), message.id.clone()), message))
            .collect();
        let (generator, mask) = (self.snippet_generator(), mask.clone());
        let bytes: usize = messages.values().map(|message| searchable(message).len()).sum();
        let show = move || {
            let found = |hit: Hit| {
                let message = mask.show(messages.remove(&(hit.channel, hit.message))?);
                message.content.as_ref()?;
                let snippet = generator.snippet(&searchable(&message), max);
                Some(SearchResult { message, score: hit.score, related: hit.related, snippet })
            };
            hits.into_iter().filter_map(found).collect()
        };
        // Folding and scanning a page of long messages takes a while.
        Ok(if bytes <= LIGHT { show() } else { CALLERS.run(show).await })
    }
}

/// Returns the text of a message that searches look at; empty where there is none.
fn searchable(message: &StoredMessage) -> Cow<'_, str> {
    message.content.as_ref().and_then(Content::searchable).unwrap_or_default()
}

fn resolved(names: Vec<(String, String)>, known: Vec<(UserId, Option<String>)>) -> QueryPeople {
    let mut wanted: HashMap<String, Vec<UserId>> =
        names.iter().map(|(_, folded)| (folded.clone(), Vec::new())).collect();
    let mut ids = HashSet::new();
    for (user, name) in known {
        if let Some(users) = name.and_then(|name| wanted.get_mut(&fold(&name))) {
            users.push(user.clone());
        }
        ids.insert(user);
    }
    let mut people = QueryPeople::default();
    for (name, folded) in names {
        match wanted.get(&folded) {
            Some(users) if !users.is_empty() => {
                people.people.insert(name, users.clone());
            }
            _ if ids.contains(name.as_str()) => {}
            _ => people.unknown.push(name),
        }
    }
    people
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_people_and_nobody_is_told() {
        let known = vec![
            ("U1".into(), Some("Ann".to_owned())),
            ("U2".into(), Some("ＡＮＮ".to_owned())),
            ("import:aa".into(), Some("小美".to_owned())),
            ("U3".into(), None),
        ];
        let names = ["ann", "小美", "U3", "Aiko"].map(|name| (name.to_owned(), fold(name)));
        let found = resolved(names.to_vec(), known);
        let expected = [
            ("ann".to_owned(), vec!["U1".into(), "U2".into()]),
            ("小美".to_owned(), vec!["import:aa".into()]),
        ];
        assert_eq!(found.people, BTreeMap::from(expected));
        assert_eq!(found.unknown, ["Aiko"]);
    }
}
