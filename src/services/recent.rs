//! Newest messages of many channels, for lists of channels.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ReadAction, StoredMessage};
use chatkeep_view::pseudonyms::Masked;

use super::ServiceError;
use super::access::{ReadMessages, Scoped};
use super::channels::ChannelService;

impl ChannelService {
    /// Returns the time of the newest message that the caller may read in each of these channels of
    /// theirs; channels without any are left out.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn last_activity(
        &self,
        access: &Scoped<ReadMessages>,
        channels: &[ChannelId],
    ) -> Result<HashMap<ChannelId, Timestamp>, ServiceError> {
        let mut newest = self.newest(access, channels, 1).await?;
        let time = |(channel, messages): (_, Vec<StoredMessage>)| {
            Some((channel, messages.first()?.sent_at))
        };
        Ok(newest.drain().filter_map(time).collect())
    }

    /// Returns the newest messages that the caller may read in each of these channels of theirs,
    /// newest first, at most `limit` of each; channels without any are left out.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn recent(
        &self,
        access: &Scoped<ReadMessages>,
        channels: &[ChannelId],
        limit: u32,
    ) -> Result<HashMap<ChannelId, Vec<Masked<StoredMessage>>>, ServiceError> {
        let recent = self.newest(access, channels, limit).await?;
        access.record(recent.keys(), ReadAction::List);
        let mask = &access.caller.mask;
        Ok(recent.into_iter().map(|(id, messages)| (id, mask.show_all(messages))).collect())
    }

    async fn newest(
        &self,
        access: &Scoped<ReadMessages>,
        channels: &[ChannelId],
        limit: u32,
    ) -> Result<HashMap<ChannelId, Vec<StoredMessage>>, ServiceError> {
        let since = access.caller.not_before();
        Ok(self.store.messages().recent_messages(channels, since, limit).await?)
    }
}
