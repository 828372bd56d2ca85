//! Comparison of a batch of messages with queries of users, as a search by each of them would.

use std::collections::BTreeMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_store::{Store, StoreError};
use chrono_tz::Tz;

use super::CompareError;
use crate::{BatchQuery, MessageBatch, ParsedQuery, REACH, SearchError};

/// Query of a user.
#[derive(Clone, Copy, Debug)]
pub struct UserQuery<'a> {
    /// User who searches.
    pub user: &'a UserId,
    /// Query as typed.
    pub query: &'a str,
    /// Channels that the user wants to search; `None` for all that they may read.
    pub channels: Option<&'a [ChannelId]>,
    /// Those of them that the user may read and that the batch has messages of.
    pub within: &'a [ChannelId],
}

/// Matcher of queries with batches of messages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SearchMatcher {
    store: Store,
    /// The service's zone.
    time_zone: Tz,
}

impl SearchMatcher {
    /// Creates a matcher; days in queries of several channels are days of `time_zone`.
    pub const fn new(store: Store, time_zone: Tz) -> Self {
        Self { store, time_zone }
    }

    /// Returns the store of the messages.
    pub(super) const fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the places of the messages that each query finds.
    ///
    /// Names and time zones are looked up only for queries that could find something.
    ///
    /// # Errors
    /// Returns an error when the store or a comparison fails. A query that a search refuses finds
    /// nothing.
    #[boxed]
    pub async fn matches(
        &self,
        batch: &MessageBatch,
        queries: &[UserQuery<'_>],
    ) -> Result<Vec<Vec<usize>>, CompareError> {
        // What an earlier version took may be no query for this one: then a search fails, too.
        let parsed: Vec<_> = queries.iter().map(|asked| self.parse(asked.query).ok()).collect();
        let rough = parsed.iter().zip(queries).map(|(parsed, asked)| match parsed {
            Some(parsed) => parsed.roughly(asked.within.to_vec()),
            None => BatchQuery::default(),
        });
        let rough = batch.hits(rough.collect()).await;
        let mut found = rough.into_iter().map(places).collect::<Result<Vec<_>, _>>()?;
        let mut exact = Vec::new();
        for (nth, (parsed, asked)) in parsed.iter().zip(queries).enumerate() {
            let Some(parsed) = parsed.as_ref().filter(|_| !found[nth].is_empty()) else { continue };
            if let Some(query) = self.exact(parsed, asked).await? {
                exact.push((nth, query));
            }
        }
        let (at, exact): (Vec<_>, Vec<_>) = exact.into_iter().unzip();
        for (nth, hits) in at.into_iter().zip(batch.hits(exact).await) {
            found[nth] = places(hits)?;
        }
        Ok(found)
    }

    fn parse(&self, query: &str) -> Result<ParsedQuery, SearchError> {
        ParsedQuery::parse(query, self.time_zone)
    }

    /// Returns the query with the meaning of its names and times; `None` when it has neither.
    async fn exact(
        &self,
        parsed: &ParsedQuery,
        asked: &UserQuery<'_>,
    ) -> Result<Option<BatchQuery>, StoreError> {
        if parsed.times() == (None, None) && parsed.names().is_empty() {
            return Ok(None);
        }
        let zoned = match asked.channels {
            Some([channel]) => {
                let zone = self.zone(channel).await?;
                parsed.clone().in_zone(zone).ok()
            }
            _ => None,
        };
        let parsed = zoned.as_ref().unwrap_or(parsed);
        let people = self.people(parsed, asked).await?;
        Ok(Some(parsed.within(asked.within.to_vec(), &people)))
    }

    /// Returns the zone in which a search of that channel alone reads times.
    async fn zone(&self, channel: &ChannelId) -> Result<Tz, StoreError> {
        let channel = self.store.channels().channel(channel).await?;
        Ok(channel.map_or(self.time_zone, |channel| channel.zone(self.time_zone)))
    }

    /// Returns the users of the names in a query, among all whom its user may know there.
    async fn people(
        &self,
        parsed: &ParsedQuery,
        asked: &UserQuery<'_>,
    ) -> Result<BTreeMap<String, Vec<UserId>>, StoreError> {
        if parsed.names().is_empty() {
            return Ok(BTreeMap::new());
        }
        let channels = self.store.channels().names_of(asked.user, asked.channels, REACH).await?;
        let channels: Vec<_> = channels.into_iter().map(|channel| channel.id).collect();
        // Readers of pseudonyms have no saved searches.
        Ok(parsed.named_people(&self.store, asked.user, &channels).await?.people)
    }
}

/// Returns the places that a query found; none if a search refuses the query.
fn places(found: Result<Vec<usize>, SearchError>) -> Result<Vec<usize>, SearchError> {
    match found {
        Err(SearchError::Query(_)) => Ok(Vec::new()),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refused_query_finds_nothing() {
        let refused = SearchError::Query("no".to_owned());
        assert_eq!(places(Err(refused)), Ok(Vec::new()));
        let away = SearchError::Unavailable("full".to_owned());
        assert_eq!(places(Err(away.clone())), Err(away));
        assert_eq!(places(Ok(vec![3])), Ok(vec![3]));
    }
}
