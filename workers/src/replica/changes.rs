//! Mapping of a message's state in the store to a change of the index.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::{Content, MessageState};
use chatkeep_index::search::{IndexChange, IndexDoc};
use chatkeep_store::{Store, StoreError};

/// Returns the changes that bring the index up to the store's state of these messages. Messages
/// that the store no longer has are erased.
///
/// # Errors
/// Returns an error when the database fails.
#[boxed]
pub async fn changes_to(
    store: &Store,
    wanted: &BTreeSet<(ChannelId, MessageId)>,
) -> Result<Vec<IndexChange>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let known = store.messages().message_states(wanted).await?;
    let found: BTreeSet<_> =
        known.iter().map(|(channel, message, _)| (channel.clone(), message.clone())).collect();
    let gone = wanted.difference(&found).cloned();
    let changes =
        known.into_iter().map(|(channel, message, state)| change_of(channel, message, state));
    Ok(changes.chain(gone.map(|(channel, message)| erase(channel, message))).collect())
}

/// Returns the change for a message's state.
pub(super) fn change_of(
    channel: ChannelId,
    message: MessageId,
    state: MessageState,
) -> IndexChange {
    let content = state.content.as_deref().filter(|_| state.counts());
    let content = content.and_then(|json| serde_json::from_str::<Content>(json).ok());
    let (Some(content), Some(sent_at)) = (content, state.sent_at) else {
        return erase(channel, message);
    };
    IndexChange::Put(IndexDoc {
        channel_id: channel.into_string(),
        message_id: message.into_string(),
        sender_id: state.sender.map(UserId::into_string),
        kind: content.kind().name().to_owned(),
        sent_at: sent_at.millis(),
        text: content.searchable().unwrap_or_default().into_owned(),
    })
}

fn erase(channel: ChannelId, message: MessageId) -> IndexChange {
    IndexChange::Erase { channel_id: channel.into_string(), message_id: message.into_string() }
}
