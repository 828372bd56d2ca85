//! Events of saved searches by the present state: those whose message the search still finds.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, SavedSearchId};
use chatkeep_store::{
    EventRef, OutboxEventKind, OutboxPosition, SavedSearch, SearchEvent, SearchEventState,
};
use chatkeep_view::EventSearch;

use super::CompareError;
use super::matcher::{SearchMatcher, UserQuery};
use super::present::PresentMessages;
use crate::MessageBatch;

/// Saved searches by the messages that they find.
#[derive(Default)]
pub struct FoundSearches {
    /// Those that are found.
    found: HashMap<Hit, Arc<FoundSearch>>,
    /// Events in whose place newer ones report their hits.
    superseded: HashSet<SearchEvent>,
}

/// Saved search that finds a message.
#[derive(Clone)]
pub struct FoundSearch {
    /// Part of it that an event shows.
    pub shown: EventSearch,
    /// Channels that it searches; `None` for every channel of its user. Readers who do not see all of
    /// them are not told of it.
    pub channels: Option<Vec<ChannelId>>,
}

/// Hit of a saved search that an event reports.
#[derive(Clone, Copy)]
pub enum ReportedHit<'a> {
    /// Nothing: it is of another kind.
    NoSearch,
    /// Hit of this saved search.
    Found(&'a FoundSearch),
    /// A hit that the saved search does not find any more, or that a newer event reports.
    NotFound,
}

/// Purpose for which events are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendering {
    /// They are delivered: what is left out now is not delivered later, unless it is reported anew.
    Delivery,
    /// They are shown to somebody who looks at them.
    Display,
}

type Hit = (SavedSearchId, ChannelId, MessageId);

/// The messages of events, by saved search.
type MatchesBySearch = BTreeMap<SavedSearchId, BTreeSet<(ChannelId, MessageId)>>;

impl FoundSearches {
    /// Returns the hit of a saved search that an event reports.
    pub fn of(&self, event_ref: &EventRef) -> ReportedHit<'_> {
        let Some(event) = search_event(event_ref) else { return ReportedHit::NoSearch };
        if self.superseded.contains(&event) {
            return ReportedHit::NotFound;
        }
        self.found
            .get(&hit_of(event))
            .map_or(ReportedHit::NotFound, |found| ReportedHit::Found(found))
    }
}

/// Returns the hit of a saved search that an event reports; `None` for other events.
fn search_event(event_ref: &EventRef) -> Option<SearchEvent> {
    event_ref.kind.filter(|kind| *kind == OutboxEventKind::SearchMatched)?;
    Some(SearchEvent {
        search: SavedSearchId::from(event_ref.detail.as_deref()?),
        channel: event_ref.channel.clone()?,
        message: MessageId::from(event_ref.subject.as_deref()?),
        seq: OutboxPosition::of_event(&event_ref.id)?.1,
    })
}

fn hit_of(event: SearchEvent) -> Hit {
    (event.search, event.channel, event.message)
}

impl SearchMatcher {
    /// Returns the saved searches of these events, with the messages that they find now: what was
    /// edited, retracted or deleted meanwhile may not be among them.
    ///
    /// # Errors
    /// Returns an error when the store or the comparison fails: then nobody knows what they find.
    #[boxed]
    pub async fn found(
        &self,
        event_refs: &[EventRef],
        rendering: Rendering,
    ) -> Result<FoundSearches, CompareError> {
        let events: Vec<_> = event_refs.iter().filter_map(search_event).collect();
        if events.is_empty() {
            return Ok(FoundSearches::default());
        }
        let mut found = self.find(&events).await?;
        // Read after the messages: an event that is reported anew meanwhile is left out here.
        let states = self.store().saved_searches().event_states(&events).await?;
        let (mut superseded, mut left_out) = (HashSet::new(), Vec::new());
        for (event, state) in events.into_iter().zip(states) {
            let is_found = found.contains_key(&hit_of(event.clone()));
            match state {
                SearchEventState::Superseded => {
                    superseded.insert(event);
                }
                SearchEventState::Current if !is_found => left_out.push(event),
                SearchEventState::Current | SearchEventState::PassedOver => {}
            }
        }
        if rendering == Rendering::Delivery && !left_out.is_empty() {
            self.store().saved_searches().pass_over(&left_out).await?;
            // An edit after this is compared after the note; one before it is seen now.
            found.extend(self.find(&left_out).await?);
        }
        Ok(FoundSearches { found, superseded })
    }

    /// Returns the hits of these events that are found now.
    async fn find(
        &self,
        events: &[SearchEvent],
    ) -> Result<HashMap<Hit, Arc<FoundSearch>>, CompareError> {
        let mut by_search = MatchesBySearch::new();
        for (search, channel, message) in events.iter().cloned().map(hit_of) {
            by_search.entry(search).or_default().insert((channel, message));
        }
        let ids: Vec<_> = by_search.keys().cloned().collect();
        let searches = self.store().saved_searches().chosen_searches(&ids).await?;
        let batch = self.batch_of(&by_search).await?;
        let within: Vec<_> = searches.iter().map(|search| within(search, &by_search)).collect();
        let queries = searches.iter().zip(&within).map(|(search, within)| UserQuery {
            user: &search.user,
            query: &search.query,
            channels: search.channels.as_deref(),
            within,
        });
        let places = self.matches(&batch, &queries.collect::<Vec<_>>()).await?;
        let mut found = HashMap::new();
        for (search, places) in searches.into_iter().zip(places) {
            let shown = EventSearch { saved_search_id: search.id.clone(), name: search.name };
            let one = Arc::new(FoundSearch { shown, channels: search.channels });
            for (channel, message) in places.into_iter().map(|place| batch.key(place)) {
                let key = (search.id.clone(), channel.clone(), message.clone());
                found.insert(key, Arc::clone(&one));
            }
        }
        Ok(found)
    }

    /// Indexes the messages of events.
    async fn batch_of(&self, matches: &MatchesBySearch) -> Result<MessageBatch, CompareError> {
        let keys: BTreeSet<_> = matches.values().flatten().cloned().collect();
        let present = PresentMessages::of(self.store(), &keys).await?;
        Ok(MessageBatch::of(present.stored).await?)
    }
}

/// Returns the channels of the events of a saved search that it searches.
fn within(search: &SavedSearch, matches: &MatchesBySearch) -> Vec<ChannelId> {
    let channels = matches.get(&search.id).into_iter().flatten().map(|(channel, _)| channel);
    let searched =
        |channel: &&ChannelId| search.channels.as_ref().is_none_or(|only| only.contains(channel));
    let channels: BTreeSet<_> = channels.filter(searched).cloned().collect();
    channels.into_iter().collect()
}
