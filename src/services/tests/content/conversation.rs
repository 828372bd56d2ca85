//! Conversations that tests store and read back, and what they look for in refusals.

use std::fmt::Debug;

use chatkeep_core::id::MessageId;
use chatkeep_core::message::{Content, MessageChange};
use chatkeep_core::time::Timestamp;
use chatkeep_store::ChannelChange;

use super::super::scene::sent;
use super::super::{GROUP, Group, OWNER};
use crate::access::{AtLeast, ChannelAccess, HasScope};
use crate::{Caller, Defect, ServiceError};

/// Returns the point in time that a text names.
pub(super) fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// Returns a change of a message of the group.
pub(super) fn change(id: &str, change: MessageChange) -> ChannelChange {
    ChannelChange { channel: GROUP.into(), message: id.into(), change }
}

/// Returns a message of the group with that content.
pub(super) fn message(
    id: &str,
    sender: Option<&str>,
    at: Timestamp,
    content: &Content,
) -> ChannelChange {
    sent(GROUP, id, sender, at, content)
}

/// Returns a text of the owner.
pub(super) fn text(id: &str, at: Timestamp, text: &str) -> ChannelChange {
    message(id, Some(OWNER), at, &Content::text(text))
}

/// Returns an edit of a message.
pub(super) fn edited(id: &str, at: Timestamp, text: &str) -> ChannelChange {
    let content = serde_json::to_string(&Content::text(text)).unwrap();
    change(id, MessageChange::Edited { at, by: None, content })
}

/// Returns the retraction of a message.
pub(super) fn unsent(id: &str, at: Timestamp) -> ChannelChange {
    change(id, MessageChange::Unsent { at })
}

/// Stores changes of messages.
pub(super) async fn store(group: &Group, changes: &[ChannelChange]) {
    group.store.messages().ingest(changes, group.clock.now()).await.unwrap();
}

/// Returns a caller's access to the group.
pub(super) async fn access<R: AtLeast, S: HasScope>(
    group: &Group,
    caller: Caller,
) -> ChannelAccess<R, S> {
    group.access.channel(caller, GROUP.into()).await.unwrap()
}

/// Returns ids as texts.
pub(super) fn texts<'a>(ids: impl IntoIterator<Item = &'a MessageId>) -> Vec<&'a str> {
    ids.into_iter().map(MessageId::as_str).collect()
}

/// Returns the field and the defect of a refusal.
#[track_caller]
pub(super) fn refusal<T: Debug>(result: Result<T, ServiceError>) -> (String, Defect) {
    match result {
        Err(ServiceError::Invalid { field: Some(field), defect, .. }) => {
            (field.text().into_owned(), defect)
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the sentence of a refusal.
#[track_caller]
pub(super) fn sentence<T: Debug>(result: Result<T, ServiceError>) -> String {
    match result {
        Err(ServiceError::Invalid { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}
