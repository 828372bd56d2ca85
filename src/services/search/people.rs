//! People whom the names in a query mean.

use chatkeep_search::{QueryPeople, QuerySenders};

use super::{MessageSearch, Reach, SearchFailure, SearchQuery};
use crate::members::ChannelSenders;

impl MessageSearch {
    /// Resolves the names in `from:` among those whom the reader may be told of; any other name is
    /// nobody's. An operator may be told of everybody.
    pub(super) async fn people(
        &self,
        reach: &Reach,
        query: &SearchQuery,
    ) -> Result<QueryPeople, SearchFailure> {
        let Reach { reader, channels, parsed, .. } = reach;
        if parsed.names().is_empty() {
            return Ok(QueryPeople::default());
        }
        let ChannelSenders { people, bots } = if let Some(reader) = reader {
            self.members.senders(reader, channels).await?
        } else {
            let members = self.store.members();
            let people = members.names_in(channels).await?;
            ChannelSenders { people, bots: members.bots_in(channels).await? }
        };
        let (bot_name, me) =
            (query.bot_name.clone(), reader.as_ref().map(|reader| reader.user.clone()));
        Ok(parsed.people(QuerySenders { people, bots, bot_name, me }).await)
    }
}
