//! Mapping of a message's state in the store to a change of the index.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId, UserId};
use chatkeep_core::message::{Content, MessageState};
use chatkeep_core::time::Timestamp;
use chatkeep_index::search::{IndexChange, IndexDoc};
use chatkeep_store::{Store, StoreError};
use serde_json::error::Category;
use tracing::error;

/// Message whose stored content cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "the stored content of message {message} in channel {channel} cannot be read: {category:?} at \
     byte {column}"
)]
pub(super) struct UnreadableContent {
    pub(super) channel: ChannelId,
    pub(super) message: MessageId,
    // Category and position suffice: the text of the cause could quote the message.
    category: Category,
    column: usize,
}

/// Returns the changes that bring the index up to the store's state of these messages. Messages
/// that the store no longer has are erased, as are those whose content cannot be read.
///
/// # Errors
/// Returns an error when the database fails.
#[boxed]
pub async fn changes_to(
    store: &Store,
    wanted: &BTreeSet<(ChannelId, MessageId)>,
) -> Result<Vec<IndexChange>, StoreError> {
    Ok(read_changes_to(store, wanted).await?.into_iter().map(or_erased).collect())
}

/// Returns the changes as [`changes_to`] does, and the messages that cannot be read by themselves.
pub(super) async fn read_changes_to(
    store: &Store,
    wanted: &BTreeSet<(ChannelId, MessageId)>,
) -> Result<Vec<Result<IndexChange, UnreadableContent>>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let known = store.messages().message_states(wanted).await?;
    let found: BTreeSet<_> =
        known.iter().map(|(channel, message, _)| (channel.clone(), message.clone())).collect();
    let gone = wanted.difference(&found).cloned();
    let changes =
        known.into_iter().map(|(channel, message, state)| change_of(channel, message, state));
    Ok(changes.chain(gone.map(|(channel, message)| Ok(erase(channel, message)))).collect())
}

/// Returns the change for a message's state.
pub(super) fn change_of(
    channel: ChannelId,
    message: MessageId,
    state: MessageState,
) -> Result<IndexChange, UnreadableContent> {
    let content = state.content.as_deref().filter(|_| state.counts());
    let content = match content.map(serde_json::from_str::<Content>).transpose() {
        Ok(content) => content,
        Err(error) => {
            let (category, column) = (error.classify(), error.column());
            return Err(UnreadableContent { channel, message, category, column });
        }
    };
    let (Some(content), Some(sent_at)) = (content, state.sent_at) else {
        return Ok(erase(channel, message));
    };
    Ok(put_message(channel, message, state.sender, sent_at, &content))
}

/// Returns the change that puts a message with its content into the index.
pub fn put_message(
    channel: ChannelId,
    message: MessageId,
    sender: Option<UserId>,
    sent_at: Timestamp,
    content: &Content,
) -> IndexChange {
    IndexChange::Put(IndexDoc {
        channel_id: channel.into_string(),
        message_id: message.into_string(),
        sender_id: sender.map(UserId::into_string),
        kind: content.kind().name().to_owned(),
        sent_at: sent_at.millis(),
        text: content.searchable().unwrap_or_default().into_owned(),
    })
}

/// Erases a message that cannot be read: an index with all others is worth more than none. The
/// comparison with the store reports it.
pub(super) fn or_erased(change: Result<IndexChange, UnreadableContent>) -> IndexChange {
    change.unwrap_or_else(|unreadable| {
        error!(
            channel = %unreadable.channel,
            message = %unreadable.message,
            reason = %unreadable,
            "a message cannot be indexed, so searches do not find it"
        );
        erase(unreadable.channel, unreadable.message)
    })
}

fn erase(channel: ChannelId, message: MessageId) -> IndexChange {
    IndexChange::Erase { channel_id: channel.into_string(), message_id: message.into_string() }
}
