//! People and bots whom a caller may be told of in channels, for whatever resolves or suggests a name:
//! anybody else is as somebody who does not exist.

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::role::Scope;
use chatkeep_store::StoreError;
use chatkeep_view::sanitize::is_visible;

use super::super::ServiceError;
use super::super::access::Caller;
use super::MemberService;

/// People and bots who may have written in channels, with their names where these are known.
#[derive(Debug)]
pub struct ChannelSenders {
    /// People whom the caller may be told of.
    pub people: Vec<(UserId, Option<String>)>,
    /// Bots with messages there.
    pub bots: Vec<(UserId, Option<String>)>,
}

impl MemberService {
    /// Returns the ids and names of the people whom a caller may be told of in these channels: those of
    /// whose messages they may read one, and with the scope `read:members` also everybody who is or
    /// was there. A name of which nothing can be seen is none.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn names(
        &self,
        caller: &Caller,
        channels: &[ChannelId],
    ) -> Result<Vec<(UserId, Option<String>)>, ServiceError> {
        let names = self.tellable(caller, channels).await?;
        let shown = |(user, name)| {
            let name = caller.mask.name(&user, name);
            (user, name.filter(|name| is_visible(name)))
        };
        Ok(names.into_iter().map(shown).collect())
    }

    /// Returns those people with their own names. Whatever the caller's bounds, it is one statement: who
    /// reads everything pays nothing for the others.
    async fn tellable(
        &self,
        caller: &Caller,
        channels: &[ChannelId],
    ) -> Result<Vec<(UserId, Option<String>)>, StoreError> {
        let members = self.store.members();
        match (caller.bounds.has(Scope::ReadMembers), caller.not_before()) {
            (true, None) => members.names_in(channels).await,
            (true, Some(since)) => members.names_since(channels, since).await,
            (false, since) => members.authors_in(channels, since).await,
        }
    }

    /// Returns the ids and names of whoever may have written in these channels: of the people as
    /// [`names`](Self::names) does, and of the bots.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn senders(
        &self,
        caller: &Caller,
        channels: &[ChannelId],
    ) -> Result<ChannelSenders, ServiceError> {
        let bots = self.store.members().bots_in(channels).await?;
        let shown = |(user, name)| {
            let name = caller.mask.name(&user, name);
            (user, name)
        };
        let bots = bots.into_iter().map(shown).collect();
        Ok(ChannelSenders { people: self.names(caller, channels).await?, bots })
    }
}
