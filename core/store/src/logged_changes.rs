//! Changes read from the event log, for search replicas.

use std::collections::{BTreeMap, BTreeSet};

use chatkeep_core::id::{ChannelId, MessageId};
use serde::{Deserialize, Serialize};

use super::bookmark::Bookmark;
use super::change_log::{CHANNEL, MESSAGES};
use super::outbox_kind::OutboxEventKind;
use super::{OutboxPosition, StoreError};

/// Page of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedChanges {
    /// Changed messages.
    pub messages: BTreeSet<(ChannelId, MessageId)>,
    /// Those of them that were received, sent or edited, not imported or removed, with the position
    /// of the last such event.
    pub news: BTreeMap<(ChannelId, MessageId), OutboxPosition>,
    /// Channels to index anew.
    pub channels: BTreeSet<ChannelId>,
    /// Start of the next page.
    pub next: Bookmark,
    /// `true` if there may be more already.
    pub more: bool,
}

/// Row of the event log, as search replicas read it.
#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct LoggedRow {
    pub(super) tx: i64,
    pub(super) seq: i64,
    pub(super) r#type: String,
    pub(super) channel_id: Option<String>,
    pub(super) subject_id: Option<String>,
    pub(super) message_ids: Option<String>,
    pub(super) unstored: Option<String>,
}

/// Changed message in a row of the event log, by its id.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LoggedMessage<'a> {
    pub(super) m: std::borrow::Cow<'a, str>,
}

impl LoggedChanges {
    pub(super) fn take(&mut self, row: &LoggedRow) -> Result<(), StoreError> {
        let corrupt = || StoreError::Corrupt {
            table: "outbox_events",
            column: "message_ids",
            row: format!("{}/{}", row.tx, row.seq),
        };
        let Some(channel) = row.channel_id.as_deref().map(ChannelId::from) else {
            return Ok(());
        };
        match row.r#type.as_str() {
            MESSAGES => {
                let ids = row.message_ids.as_deref().ok_or_else(corrupt)?;
                let keys: Vec<LoggedMessage<'_>> =
                    serde_json::from_str(ids).map_err(|_| corrupt())?;
                let messages = keys.into_iter().map(|key| MessageId::new(key.m));
                self.messages.extend(messages.map(|message| (channel.clone(), message)));
            }
            CHANNEL => drop(self.channels.insert(channel)),
            // An unstored message has no searchable content.
            other if changes_index(other) && row.unstored.is_none() => {
                let Some(message) = row.subject_id.as_deref().map(MessageId::from) else {
                    return Ok(());
                };
                if is_news(other) {
                    let place = OutboxPosition(row.tx, row.seq);
                    self.news.insert((channel.clone(), message.clone()), place);
                }
                self.messages.insert((channel, message));
            }
            _ => return Ok(()),
        }
        Ok(())
    }
}

/// Returns `true` for events that bring a message, or a new text of one.
fn is_news(kind: &str) -> bool {
    let kinds = [
        OutboxEventKind::MessageReceived,
        OutboxEventKind::MessageSent,
        OutboxEventKind::MessageEdited,
    ];
    kinds.iter().any(|known| known.name() == kind)
}

/// Returns `true` for events whose subject must be read again. Every other change of a message is
/// logged by [`log_messages`].
pub(super) fn changes_index(kind: &str) -> bool {
    let kinds = [
        OutboxEventKind::MessageReceived,
        OutboxEventKind::MessageSent,
        OutboxEventKind::MessageEdited,
        OutboxEventKind::MessageUnsent,
    ];
    kinds.iter().any(|known| known.name() == kind)
}
