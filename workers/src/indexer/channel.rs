//! A whole channel in the index anew: in the place of whatever the index has of it, and at once.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::store::{Store, StoreError};
use chatkeep_index::search::IndexChange;
use tracing::warn;

use super::{Indexer, IndexerError, PAGE, Then, change_of};

/// A channel as the store has it, page by page; the first one begins with forgetting it.
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

    /// The next page, until nothing is left.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<IndexChange>>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let after = self.after.clone().unwrap_or_else(|| MessageId::new(""));
        let page = self.store.all_messages(Some(&(self.channel.clone(), after)), PAGE).await?;
        let read = page.len();
        let own: Vec<_> = page.into_iter().take_while(|(of, _, _)| *of == self.channel).collect();
        self.ended = own.len() < read || read == 0;
        let channel_id = self.channel.as_str().to_owned();
        let forget = self.after.is_none().then_some(IndexChange::EraseChannel { channel_id });
        self.after = own.last().map(|(_, message, _)| message.clone()).or(self.after.take());
        let own =
            own.into_iter().map(|(channel, message, state)| change_of(channel, message, state));
        Ok(Some(forget.into_iter().chain(own).collect()))
    }
}

/// Those who wait for channels to be indexed anew.
#[derive(Default)]
pub(super) struct Watched {
    /// Ids of one channel, and how many messages it turned out to have.
    channels: Vec<(Vec<String>, u64)>,
}

impl Watched {
    /// Those channels can be found now. Whether somebody hears of it is not worth a failure.
    pub(super) async fn ended(self, store: &Store) {
        for (ids, messages) in self.channels {
            if let Err(error) = store.reindexed(&ids, messages, true).await {
                warn!(%error, "cannot tell that a channel was indexed anew");
            }
        }
    }
}

impl Indexer {
    /// Writes these channels anew without committing them, and tells those who wait for it how far
    /// that is.
    pub(super) async fn write_channels(
        &self,
        channels: BTreeSet<ChannelId>,
    ) -> Result<Watched, IndexerError> {
        let mut watched = Watched::default();
        for channel in channels {
            // Whoever asks from now on may mean more than what is read here.
            let ids = self.store.open_reindexings(&channel).await?;
            let (mut pages, mut read) = (ChannelPages::new(&self.store, channel), 0);
            while let Some(changes) = pages.next().await? {
                read += messages(&changes);
                self.write(changes, Then::Wait).await?;
                self.store.reindexed(&ids, read, false).await?;
            }
            watched.channels.push((ids, read));
        }
        Ok(watched)
    }
}

/// How many of the changes are about a message, and not the whole channel.
fn messages(changes: &[IndexChange]) -> u64 {
    let whole = |change: &&IndexChange| matches!(change, IndexChange::EraseChannel { .. });
    let count = changes.len() - changes.iter().filter(whole).count();
    u64::try_from(count).unwrap_or(u64::MAX)
}
