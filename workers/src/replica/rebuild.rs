//! Rebuild of the index from the store, beside the current one and without a pause.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_index::search::{IndexChange, Rebuild, Touched};
use tracing::info;

use super::changes::changes_to;
use super::pages::{ChannelPages, StorePages};
use super::{LogPosition, Replica, ReplicaError, ReplicaWork, SAVE};

impl Replica {
    /// Rebuilds the index and replaces the current one, which follows the log meanwhile.
    pub(super) async fn rebuild(&self) -> Result<(), ReplicaError> {
        info!("rebuilding the search index beside the one in use");
        let total =
            u64::try_from(self.store.messages().count_messages().await?).unwrap_or_default();
        let index = self.index.clone();
        let options = self.writer.options();
        let start = move || Rebuild::start(&index, options);
        let mut rebuild = tokio::task::spawn_blocking(start).await??;
        // Read after the writer began to record its changes: nothing falls between the two.
        let position = LogPosition::start(&self.store.outbox().log_state().await?).to_text();
        let mut pages = StorePages::new(&self.store);
        let mut done = 0_u64;
        while let Some(page) = pages.next().await? {
            let read = page.len() as u64;
            let save = done / SAVE != (done + read) / SAVE;
            done += read;
            rebuild = apply(rebuild, page, save.then(|| position.clone())).await?;
            self.state.send_modify(|state| state.work = Some(ReplicaWork { done, total }));
        }
        loop {
            let position = position.clone();
            let swap = move || -> Result<_, ReplicaError> {
                let swapped = rebuild.swap(&position)?;
                let missed = if swapped { Vec::new() } else { rebuild.missed_changes()? };
                Ok((rebuild, swapped, missed))
            };
            let (swapping, swapped, missed) = tokio::task::spawn_blocking(swap).await??;
            if swapped {
                info!(messages = done, "the search index was rebuilt");
                return Ok(());
            }
            rebuild = self.make_up_for(swapping, missed).await?;
        }
    }

    /// Applies the changes that the current index got meanwhile to the new one, by the store's
    /// state.
    async fn make_up_for(
        &self,
        mut rebuild: Rebuild,
        missed: Vec<Touched>,
    ) -> Result<Rebuild, ReplicaError> {
        let mut messages: BTreeSet<(ChannelId, MessageId)> = BTreeSet::new();
        for touched in missed {
            let channel = ChannelId::new(touched.channel_id);
            if let Some(message) = touched.message_id {
                messages.insert((channel, MessageId::new(message)));
                continue;
            }
            let mut pages = ChannelPages::new(&self.store, channel);
            while let Some(page) = pages.next().await? {
                rebuild = apply(rebuild, page, None).await?;
            }
        }
        apply(rebuild, changes_to(&self.store, &messages).await?, None).await
    }
}

async fn apply(
    mut rebuild: Rebuild,
    changes: Vec<IndexChange>,
    commit: Option<String>,
) -> Result<Rebuild, ReplicaError> {
    let apply = move || -> Result<_, ReplicaError> {
        rebuild.apply(&changes)?;
        if let Some(position) = commit {
            rebuild.commit(&position)?;
        }
        Ok(rebuild)
    };
    tokio::task::spawn_blocking(apply).await?
}
