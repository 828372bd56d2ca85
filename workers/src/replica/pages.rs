//! The store's messages page by page, as changes of the index.

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_index::search::IndexChange;
use chatkeep_store::{Store, StoreError};

use super::PAGE;
use super::changes::{change_of, or_erased};

/// Pages of all messages of the store.
pub(super) struct StorePages<'a> {
    store: &'a Store,
    after: Option<(ChannelId, MessageId)>,
}

impl<'a> StorePages<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, after: None }
    }

    /// Returns the next page; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<IndexChange>>, StoreError> {
        let page = self.store.messages().all_messages(self.after.as_ref(), PAGE).await?;
        let Some((channel, message, _)) = page.last() else {
            return Ok(None);
        };
        self.after = Some((channel.clone(), message.clone()));
        Ok(Some(page.into_iter().map(|(c, m, state)| or_erased(change_of(c, m, state))).collect()))
    }
}

/// Pages of one channel, replacing the index' content of it: the first page begins with erasing
/// that, and nothing of it is visible before the commit.
pub(super) struct ChannelPages<'a> {
    store: &'a Store,
    channel: ChannelId,
    after: Option<MessageId>,
    ended: bool,
}

impl<'a> ChannelPages<'a> {
    pub(super) fn new(store: &'a Store, channel: ChannelId) -> Self {
        Self { store, channel, after: None, ended: false }
    }

    /// Returns the next page; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<IndexChange>>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let after = self.after.clone().unwrap_or_else(|| MessageId::new(""));
        let page =
            self.store.messages().all_messages(Some(&(self.channel.clone(), after)), PAGE).await?;
        let read = page.len();
        let own: Vec<_> = page.into_iter().take_while(|(of, _, _)| *of == self.channel).collect();
        self.ended = own.len() < read || read == 0;
        let channel_id = self.channel.as_str().to_owned();
        let forget = self.after.is_none().then_some(IndexChange::EraseChannel { channel_id });
        self.after = own.last().map(|(_, message, _)| message.clone()).or(self.after.take());
        let own = own.into_iter().map(|(c, m, state)| or_erased(change_of(c, m, state)));
        Ok(Some(forget.into_iter().chain(own).collect()))
    }
}
