//! Messages as the search index has them now.

use std::collections::BTreeSet;

use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_index::search::{IndexChange, IndexDoc};
use chatkeep_store::{Store, StoreError};
use chatkeep_workers::replica::changes_to;

/// Messages by what the index would have of them.
#[derive(Debug, Default)]
pub(super) struct PresentMessages {
    /// Those that are stored.
    pub(super) stored: Vec<IndexDoc>,
    /// Those that are not, or of which nothing is left.
    pub(super) gone: Vec<(ChannelId, MessageId)>,
}

impl PresentMessages {
    /// Reads these messages.
    pub(super) async fn of(
        store: &Store,
        messages: &BTreeSet<(ChannelId, MessageId)>,
    ) -> Result<Self, StoreError> {
        let mut present = Self::default();
        for change in changes_to(store, messages).await? {
            match change {
                IndexChange::Put(doc) => present.stored.push(doc),
                IndexChange::Erase { channel_id, message_id } => {
                    present.gone.push((channel_id.into(), message_id.into()));
                }
                IndexChange::EraseChannel { .. } => {}
            }
        }
        Ok(present)
    }
}
