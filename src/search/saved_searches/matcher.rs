//! Comparison of a batch of messages with queries of users, as a search by each of them would.

use std::collections::{BTreeMap, HashMap};

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_store::{Store, StoreError};
use chrono_tz::Tz;

use super::CompareError;
use crate::{BatchQuery, MessageBatch, ParsedQuery, SearchError, SenderNames};

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

/// Names of whoever may have written the messages of a batch, by the channels of a query: most
/// queries of one user have the same.
type NamesOfBatch = HashMap<Vec<ChannelId>, SenderNames>;

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
        let (mut exact, mut names) = (Vec::new(), NamesOfBatch::new());
        for (nth, (parsed, asked)) in parsed.iter().zip(queries).enumerate() {
            let Some(parsed) = parsed.as_ref().filter(|_| !found[nth].is_empty()) else { continue };
            if let Some(query) = self.exact(parsed, asked, &mut names).await? {
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
        names: &mut NamesOfBatch,
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
        let people = self.people(parsed, asked, names).await?;
        Ok(Some(parsed.within(asked.within.to_vec(), &people)))
    }

    /// Returns the zone in which a search of that channel alone reads times.
    async fn zone(&self, channel: &ChannelId) -> Result<Tz, StoreError> {
        let channel = self.store.channels().channel(channel).await?;
        Ok(channel.map_or(self.time_zone, |channel| channel.zone(self.time_zone)))
    }

    /// Returns the users of the names in a query, among whoever may have written in these channels.
    /// Names of the user's other people change nothing: they wrote nothing here.
    async fn people(
        &self,
        parsed: &ParsedQuery,
        asked: &UserQuery<'_>,
        names: &mut NamesOfBatch,
    ) -> Result<BTreeMap<String, Vec<UserId>>, StoreError> {
        if parsed.names().is_empty() {
            return Ok(BTreeMap::new());
        }
        // Readers of pseudonyms have no saved searches.
        if let Some(known) = names.get(asked.within) {
            return Ok(parsed.named_people(known, asked.user));
        }
        let known = SenderNames::of(&self.store, asked.within).await?;
        let people = parsed.named_people(&known, asked.user);
        names.insert(asked.within.to_vec(), known);
        Ok(people)
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
    use chatkeep_core::config::Database;
    use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
    use chatkeep_core::profile::Profile;
    use chatkeep_core::time::Timestamp;
    use chatkeep_store::{PresenceEvidence, PresenceEvidenceKind};

    use super::*;

    #[test]
    fn only_a_refused_query_finds_nothing() {
        let refused = SearchError::Query("no".to_owned());
        assert_eq!(places(Err(refused)), Ok(Vec::new()));
        let away = SearchError::Unavailable("full".to_owned());
        assert_eq!(places(Err(away.clone())), Err(away));
        assert_eq!(places(Ok(vec![3])), Ok(vec![3]));
    }

    #[tokio::test]
    async fn names_are_read_once_for_a_batch_and_its_channels() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&Database::Sqlite, folder.path(), 2).await.unwrap();
        let at = Timestamp::from_millis;
        let joined = |channel: &str, user: &str| PresenceEvidence {
            channel: ChannelRef { id: channel.into(), kind: ChannelKind::Group },
            platform: PlatformKind::Line,
            bot: "main".to_owned(),
            at: at(1),
            kind: PresenceEvidenceKind::Present(user.into()),
        };
        let members = [joined("C1", "U1"), joined("C2", "U2")];
        store.members().record_presence(&members, at(1)).await.unwrap();
        let called = async |name: &str, time: i64| {
            let profile =
                Profile { display_name: name.to_owned(), picture_url: None, language: None };
            let profiles = ["U1", "U2"].map(|user| (UserId::from(user), Some(profile.clone())));
            store.members().save_profiles(&profiles.into(), at(time)).await.unwrap();
        };
        called("Ann", 2).await;
        let matcher = SearchMatcher::new(store.clone(), Tz::UTC);
        let parsed = matcher.parse("from:ann").unwrap();
        let mut names = NamesOfBatch::new();
        let ann = |user: &str| BTreeMap::from([("ann".to_owned(), vec![UserId::from(user)])]);
        let (one, other) = (["C1".into()], ["C2".into()]);
        let user = UserId::from("U3");
        let of = |within| UserQuery { user: &user, query: "from:ann", channels: None, within };
        let (one, other) = (of(&one), of(&other));
        assert_eq!(matcher.people(&parsed, &one, &mut names).await.unwrap(), ann("U1"));
        assert_eq!(matcher.people(&parsed, &other, &mut names).await.unwrap(), ann("U2"));
        called("Zoe", 3).await;
        assert_eq!(matcher.people(&parsed, &one, &mut names).await.unwrap(), ann("U1"), "known");
        let mut next = NamesOfBatch::new();
        assert_eq!(matcher.people(&parsed, &one, &mut next).await.unwrap(), BTreeMap::new());
        let me = matcher.parse("from:me").unwrap();
        let owner = BTreeMap::from([("me".to_owned(), vec![user.clone()])]);
        assert_eq!(matcher.people(&me, &one, &mut next).await.unwrap(), owner);
    }
}
