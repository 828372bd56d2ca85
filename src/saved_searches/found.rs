//! Events of saved searches by the present state: those whose message the search still finds.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chatkeep_core::id::{ChannelId, MessageId, SavedSearchId};
use chatkeep_store::{EventRef, OutboxEventKind, SavedSearch};

use super::CompareError;
use super::matcher::{SearchMatcher, UserQuery};
use super::present::PresentMessages;
use crate::search::MessageBatch;
use crate::view::EventSearch;

/// Saved searches by the messages that they find.
pub(crate) type FoundSearches = HashMap<(SavedSearchId, ChannelId, MessageId), EventSearch>;

/// The messages of events, by saved search.
type Told = BTreeMap<SavedSearchId, BTreeSet<(ChannelId, MessageId)>>;

/// Returns the saved search of an event, its channel and its message; `None` for other events.
pub(crate) fn found_by(told: &EventRef) -> Option<(SavedSearchId, ChannelId, MessageId)> {
    told.kind.filter(|kind| *kind == OutboxEventKind::SearchMatched)?;
    let search = SavedSearchId::from(told.detail.as_deref()?);
    Some((search, told.channel.clone()?, MessageId::from(told.subject.as_deref()?)))
}

impl SearchMatcher {
    /// Returns the saved searches of these events, with the messages that they find now: what was
    /// edited, retracted or deleted meanwhile may not be among them.
    ///
    /// # Errors
    /// Returns an error when the store or the comparison fails: then nobody knows what they find.
    pub(crate) async fn found(&self, told: &[EventRef]) -> Result<FoundSearches, CompareError> {
        let mut by_search = Told::new();
        for (search, channel, message) in told.iter().filter_map(found_by) {
            by_search.entry(search).or_default().insert((channel, message));
        }
        if by_search.is_empty() {
            return Ok(FoundSearches::new());
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
        let mut found = FoundSearches::new();
        for (search, places) in searches.into_iter().zip(places) {
            let shown = EventSearch { saved_search_id: search.id.clone(), name: search.name };
            for (channel, message) in places.into_iter().map(|place| batch.key(place)) {
                let key = (search.id.clone(), channel.clone(), message.clone());
                found.insert(key, shown.clone());
            }
        }
        Ok(found)
    }

    /// Indexes the messages of events.
    async fn batch_of(&self, told: &Told) -> Result<MessageBatch, CompareError> {
        let keys: BTreeSet<_> = told.values().flatten().cloned().collect();
        let present = PresentMessages::of(self.store(), &keys).await?;
        Ok(MessageBatch::of(present.stored).await?)
    }
}

/// Returns the channels of the events of a saved search that it searches.
fn within(search: &SavedSearch, told: &Told) -> Vec<ChannelId> {
    let channels = told.get(&search.id).into_iter().flatten().map(|(channel, _)| channel);
    let searched =
        |channel: &&ChannelId| search.channels.as_ref().is_none_or(|only| only.contains(channel));
    let channels: BTreeSet<_> = channels.filter(searched).cloned().collect();
    channels.into_iter().collect()
}
