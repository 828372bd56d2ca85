//! Subjects of events in their present state, read at once for all events of a page.

use std::collections::{BTreeSet, HashMap, HashSet};

use chatkeep_core::event::EventOrigin;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::time::Timestamp;
use chatkeep_search::saved_searches::{FoundSearches, Rendering};
use chatkeep_store::{EventRef, Member, OutboxEventKind, Store, StoreError, UnstoredMessage, User};
use chatkeep_view::MessageView;
use chatkeep_view::pseudonyms::Mask;

use super::{EventRenderer, RenderError};

/// Subject of an event.
pub(super) enum EventSubject<'a> {
    /// None, or only a channel.
    Nothing,
    /// A user.
    User(UserId),
    /// A person in a channel.
    Member(ChannelId, UserId),
    /// A stored message.
    Message(ChannelId, MessageId),
    /// A message that is not stored.
    Unstored(&'a ChannelId, MessageId, &'a UnstoredMessage),
}

impl<'a> EventSubject<'a> {
    pub(super) fn of(kind: OutboxEventKind, event_ref: &'a EventRef) -> Self {
        match (&event_ref.channel, event_ref.subject.as_deref(), &event_ref.unstored) {
            (_, None, _) => Self::Nothing,
            (None, Some(user), _) => Self::User(user.into()),
            (Some(channel), Some(id), Some(unstored)) => {
                Self::Unstored(channel, id.into(), unstored)
            }
            (Some(channel), Some(id), None) if kind.is_about_message() => {
                Self::Message(channel.clone(), id.into())
            }
            (Some(channel), Some(user), None) => Self::Member(channel.clone(), user.into()),
        }
    }
}

/// Keys of the subjects of some events.
#[derive(Default)]
struct Keys {
    users: BTreeSet<UserId>,
    members: BTreeSet<(ChannelId, UserId)>,
    messages: Vec<(ChannelId, MessageId)>,
    /// Origins of the messages that are not stored, with the ids of their events.
    unstored: Vec<(String, EventOrigin)>,
}

impl Keys {
    fn of(event_refs: &[EventRef]) -> Self {
        let mut keys = Self::default();
        for event_ref in event_refs {
            let Some(kind) = event_ref.kind else { continue };
            match EventSubject::of(kind, event_ref) {
                // Its webhook is all that it names.
                EventSubject::User(_) if kind == OutboxEventKind::EndpointDisabled => {}
                // It names nobody.
                EventSubject::Unstored(..) if kind == OutboxEventKind::MessageUnsent => {}
                EventSubject::Nothing => {}
                EventSubject::User(user) => drop(keys.users.insert(user)),
                EventSubject::Member(channel, user) => drop(keys.members.insert((channel, user))),
                EventSubject::Message(channel, id) => keys.messages.push((channel, id)),
                EventSubject::Unstored(channel, id, unstored) => {
                    keys.users.extend(unstored.sender.clone());
                    let origin = EventOrigin {
                        channel: channel.clone(),
                        chat: channel.clone(),
                        message: Some(id),
                        author: unstored.sender.clone(),
                        at: event_ref.at,
                    };
                    keys.unstored.push((event_ref.id.clone(), origin));
                }
            }
        }
        keys
    }
}

/// Subjects of some events, in their present state.
pub(super) struct Subjects {
    pub(super) users: HashMap<UserId, User>,
    pub(super) members: HashMap<(ChannelId, UserId), Member>,
    pub(super) messages: HashMap<(ChannelId, MessageId), MessageView>,
    pub(super) searches: FoundSearches,
    /// Ids of the events about messages that were not stored and are retracted.
    pub(super) retracted: HashSet<String>,
}

impl EventRenderer {
    pub(super) async fn subjects_of(
        &self,
        event_refs: &[EventRef],
        mask: &Mask,
        rendering: Rendering,
    ) -> Result<Subjects, RenderError> {
        // No saved searches are reported to readers of pseudonyms.
        let searches = if mask.is_on() {
            FoundSearches::default()
        } else {
            self.matcher.found(event_refs, rendering).await?
        };
        let (store, keys) = (&self.store, Keys::of(event_refs));
        let users: Vec<_> = keys.users.into_iter().collect();
        let members: Vec<_> = keys.members.into_iter().collect();
        Ok(Subjects {
            users: store.accounts().chosen_users(&users).await?,
            members: store.members().chosen_members(&members).await?,
            messages: self.messages_of(&keys.messages, mask).await?,
            searches,
            retracted: retracted(store, &keys.unstored, self.clock.now()).await?,
        })
    }

    async fn messages_of(
        &self,
        keys: &[(ChannelId, MessageId)],
        mask: &Mask,
    ) -> Result<HashMap<(ChannelId, MessageId), MessageView>, StoreError> {
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let messages = self.store.messages().chosen_messages(keys).await?;
        let keyed = messages.into_iter().map(|message| {
            let key = (message.channel.clone(), message.id.clone());
            (key, MessageView::new(mask.show(message), &self.links))
        });
        Ok(keyed.collect())
    }
}

/// Returns the ids of the events about messages that were retracted, or whose senders were erased.
async fn retracted(
    store: &Store,
    unstored: &[(String, EventOrigin)],
    now: Timestamp,
) -> Result<HashSet<String>, StoreError> {
    let origins: Vec<_> = unstored.iter().map(|(_, origin)| origin).collect();
    let taken_back = store.messages().taken_back(&origins, now).await?;
    Ok(taken_back.into_iter().filter_map(|at| Some(unstored.get(at)?.0.clone())).collect())
}
