//! Messages that saved searches are compared with, by the matching of a search.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::heavy::SAVED_SEARCHES;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_index::search::{IndexDoc, MatchBatch, Query};

use super::{ParsedQuery, SearchError, unavailable};

/// Messages with an index of their own. Cheap to clone.
#[derive(Clone)]
pub struct MessageBatch {
    index: Arc<MatchBatch>,
    keys: Arc<[(ChannelId, MessageId)]>,
}

/// A query for a [`MessageBatch`], with the users of the names in it. The default finds
/// nothing, for it has no channels.
#[derive(Clone, Debug, Default)]
pub struct BatchQuery {
    query: Query,
    /// Channels that the asker may read and wants to search.
    pub channels: Vec<ChannelId>,
}

impl fmt::Debug for MessageBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageBatch").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl ParsedQuery {
    /// Returns the query for these channels; names in `from:` mean `people`, others are ids.
    pub fn within(
        &self,
        channels: Vec<ChannelId>,
        people: &BTreeMap<String, Vec<UserId>>,
    ) -> BatchQuery {
        BatchQuery { query: self.resolved(people), channels }
    }

    /// Returns the query without what depends on names and time zones. It finds everything that the
    /// query finds, perhaps more.
    pub fn roughly(&self, channels: Vec<ChannelId>) -> BatchQuery {
        let mut query = self.query.clone();
        drop(std::mem::take(&mut query.from));
        (query.after, query.before) = (None, None);
        BatchQuery { query, channels }
    }
}

impl MessageBatch {
    /// Indexes these messages.
    ///
    /// # Errors
    /// [`SearchError::Unavailable`] if they cannot be indexed.
    #[boxed]
    pub async fn of(messages: Vec<IndexDoc>) -> Result<Self, SearchError> {
        let indexed = SAVED_SEARCHES.run(move || {
            let key = |doc: &IndexDoc| {
                let channel = ChannelId::from(doc.channel_id.as_str());
                (channel, MessageId::from(doc.message_id.as_str()))
            };
            let keys = messages.iter().map(key).collect();
            MatchBatch::new(&messages).map(|index| Self { index: Arc::new(index), keys })
        });
        indexed.await.map_err(|error| unavailable(&error))
    }

    /// Returns the messages that each of these queries finds, in the order of the batch. A query
    /// that fails has an error of its own.
    #[boxed]
    pub async fn hits(&self, queries: Vec<BatchQuery>) -> Vec<Result<Vec<usize>, SearchError>> {
        let index = Arc::clone(&self.index);
        let found = SAVED_SEARCHES.run(move || {
            let find = |asked: &BatchQuery| {
                let channels: Vec<_> = asked.channels.iter().map(ChannelId::as_str).collect();
                index.matching(&asked.query, &channels).map_err(|error| unavailable(&error))
            };
            queries.iter().map(find).collect()
        });
        found.await
    }

    /// Returns the message at that place.
    pub fn key(&self, place: usize) -> &(ChannelId, MessageId) {
        &self.keys[place]
    }
}
