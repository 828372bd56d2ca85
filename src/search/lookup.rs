//! Resolution of names before a search, and lookup of the found messages after it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::heavy::{CALLERS, LIGHT};
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::Content;
use chatkeep_store::{Store, StoreError, StoredMessage};
use chatkeep_view::pseudonyms::{Mask, Masked};

use super::names::{Named, distance, folded};
use super::{Hit, ParsedQuery, Snippet};

/// Maximum number of names that are told for one that nobody has.
const NEAR: usize = 5;

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

impl SearchResult {
    /// Returns the snippet, or what readers see of a message without searchable text: the keywords of
    /// a sticker, say. Empty where there is neither.
    pub fn legible_snippet(&self) -> Cow<'_, str> {
        if !self.snippet.text.is_empty() {
            return Cow::from(&self.snippet.text);
        }
        let legible = self.message.content.as_ref().and_then(Content::legible);
        legible.unwrap_or_default().into()
    }
}

/// People named in a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPeople {
    /// Users of each name.
    pub people: BTreeMap<String, Vec<UserId>>,
    /// Names that match neither a sender nor an id.
    pub unknown: Vec<UnknownName>,
}

/// Name that nobody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The name as typed.
    pub name: String,
    /// Senders whose names are close to it, the closest first.
    pub near: Vec<(UserId, String)>,
}

/// People and bots that a name in a query may mean, as the reader of the search sees them.
#[derive(Clone, Debug)]
pub struct QuerySenders {
    /// People whom the reader may be told of.
    pub people: Named<UserId>,
    /// Bots that wrote in the channels.
    pub bots: Named<UserId>,
    /// Name of every bot where the results are shown, beside its own.
    pub bot_name: Option<String>,
    /// User whom `me` names, whatever others are called.
    pub me: Option<UserId>,
}

/// Names of whoever may have written in some channels. Clones share them.
#[derive(Clone, Debug)]
pub struct SenderNames(Arc<HashMap<String, BTreeSet<UserId>>>);

impl SenderNames {
    /// Reads the names of people of these channels, of those whose messages were imported into them,
    /// and of the bots that wrote there.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    #[boxed]
    pub async fn of(store: &Store, channels: &[ChannelId]) -> Result<Self, StoreError> {
        let mut senders = store.members().names_in(channels).await?;
        senders.extend(store.members().bots_in(channels).await?);
        let fold = move || {
            let mut known: HashMap<String, BTreeSet<UserId>> = HashMap::new();
            for (user, name) in senders {
                let name = name.map(|name| folded(&name)).filter(|name| !name.is_empty());
                if let Some(name) = name {
                    known.entry(name).or_default().insert(user);
                }
            }
            known
        };
        Ok(Self(Arc::new(CALLERS.run(fold).await)))
    }

    /// Returns the users of a name, which is compared as texts are searched.
    fn users(&self, name: &str) -> Option<Vec<UserId>> {
        Some(self.0.get(&folded(name))?.iter().cloned().collect())
    }
}

impl ParsedQuery {
    /// Resolves the names in `from:` for that user, who sees people as they are. Names that nobody
    /// has are left out.
    pub fn named_people(
        &self,
        known: &SenderNames,
        user: &UserId,
    ) -> BTreeMap<String, Vec<UserId>> {
        let users = |name: &str| {
            let users = if is_me(name) { vec![user.clone()] } else { known.users(name)? };
            Some((name.to_owned(), users))
        };
        self.names().into_iter().filter_map(users).collect()
    }

    /// Resolves the names in `from:` among these senders, whose names are compared as texts are
    /// searched.
    #[boxed]
    pub async fn people(&self, senders: QuerySenders) -> QueryPeople {
        let names: Vec<_> = self.names().into_iter().map(str::to_owned).collect();
        // As many names as there are people are folded, once each.
        CALLERS.run(move || resolved(names, senders)).await
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

/// Returns whether a name in `from:` means whoever asks.
fn is_me(name: &str) -> bool {
    name.eq_ignore_ascii_case("me")
}

fn resolved(names: Vec<String>, senders: QuerySenders) -> QueryPeople {
    let QuerySenders { people, bots, bot_name, me } = senders;
    let ids: HashSet<UserId> = people.iter().chain(&bots).map(|(user, _)| user.clone()).collect();
    let called = bot_name.map(|name| bots.iter().map(move |(bot, _)| (bot.clone(), name.clone())));
    let called: Vec<_> = called.into_iter().flatten().collect();
    let known = people.into_iter().chain(bots).filter_map(|(user, name)| Some((user, name?)));
    let known: Vec<_> = known
        .chain(called)
        .map(|(user, name)| (folded(&name), user, name))
        .filter(|(folded, ..)| !folded.is_empty())
        .collect();
    let mut found = QueryPeople::default();
    for name in names {
        if let Some(me) = me.as_ref().filter(|_| is_me(&name)) {
            found.people.insert(name, vec![me.clone()]);
            continue;
        }
        let wanted = folded(&name);
        let same = known.iter().filter(|(folded, ..)| *folded == wanted);
        let same: BTreeSet<UserId> = same.map(|(_, user, _)| user.clone()).collect();
        if !same.is_empty() {
            found.people.insert(name, same.into_iter().collect());
        } else if !ids.contains(name.as_str()) {
            let near = near(&wanted, &known);
            found.unknown.push(UnknownName { name, near });
        }
    }
    found
}

/// Returns those whose names are close to the wanted one.
fn near(wanted: &str, named: &[(String, UserId, String)]) -> Vec<(UserId, String)> {
    let mut near: Vec<_> = named
        .iter()
        .filter_map(|(folded, user, name)| Some((distance(wanted, folded)?, user, name)))
        .collect();
    near.sort();
    let near = near.into_iter().take(NEAR);
    near.map(|(_, user, name)| (user.clone(), name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn senders() -> QuerySenders {
        let named = |id: &str, name: &str| (id.into(), Some(name.to_owned()));
        QuerySenders {
            people: vec![
                named("U1", "Ann"),
                named("U2", "ＡＮＮ"),
                named("import:aa", "小美"),
                ("U3".into(), None),
                named("U4", "陳怡君"),
                named("U5", "José"),
                named("U6", "Liam O'Connell"),
                named("U7", "Bot"),
            ],
            bots: vec![named("U9", "Chatkeep")],
            bot_name: Some("Bot".to_owned()),
            me: Some("U5".into()),
        }
    }

    fn find(names: &[&str]) -> QueryPeople {
        resolved(names.iter().map(|name| (*name).to_owned()).collect(), senders())
    }

    #[test]
    fn names_mean_people_and_bots() {
        for (name, users) in [
            ("ann", vec!["U1", "U2"]),
            ("小美", vec!["import:aa"]),
            ("陈怡君", vec!["U4"]),
            ("Jose", vec!["U5"]),
            ("chatkeep", vec!["U9"]),
            ("bot", vec!["U7", "U9"]),
            ("Me", vec!["U5"]),
        ] {
            let users = users.into_iter().map(UserId::from).collect();
            assert_eq!(find(&[name]).people, BTreeMap::from([(name.to_owned(), users)]));
        }
        assert_eq!(find(&["U3", "U9"]), QueryPeople::default(), "ids of people and bots");
        let unnamed = QuerySenders { bot_name: None, ..senders() };
        let found = resolved(vec!["Bot".to_owned()], unnamed);
        assert_eq!(found.people["Bot"], ["U7".into()]);
    }

    #[test]
    fn of_names_that_nobody_has_those_close_to_them_are_told() {
        let found = find(&["Aiko", "Liam", "美"]);
        let near = |name: &str| {
            let found = found.unknown.iter().find(|unknown| unknown.name == name).unwrap();
            found.near.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(near("Aiko"), [""; 0]);
        assert_eq!(near("Liam"), ["Liam O'Connell"]);
        assert_eq!(near("美"), ["小美"]);
    }
}
