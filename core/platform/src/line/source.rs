//! Source of a LINE event: its chat, and who caused it.

use chatkeep_core::event::ChannelKind;
use chatkeep_core::id::{ChannelId, UntrustedId};
use serde::Deserialize;
use serde_json::Value;

use super::lenient::Fields;

/// Source as LINE writes it.
#[derive(Default, Deserialize)]
pub(super) struct Source {
    #[serde(rename = "groupId")]
    pub(super) group: Option<UntrustedId>,
    #[serde(rename = "roomId")]
    pub(super) room: Option<UntrustedId>,
    #[serde(rename = "userId")]
    pub(super) user: Option<UntrustedId>,
    /// `group`, `room` or `user`; absent from old senders, and of a person in a list.
    #[serde(rename = "type")]
    pub(super) kind: Option<Value>,
}

/// Chat that a source names.
pub(super) struct Chat<'a> {
    /// Field of its id.
    pub(super) field: &'static str,
    pub(super) id: &'a UntrustedId,
    pub(super) kind: ChannelKind,
}

impl Source {
    /// Reads the source of an event with these fields, each of its ids by itself.
    pub(super) fn of(event: &Fields<'_>) -> Option<Self> {
        let source = event.object("source")?;
        let [group, room, user] = ["groupId", "roomId", "userId"].map(|name| source.get(name));
        let kind = source.get("type").filter(|kind: &Value| !kind.is_null());
        Some(Self { group, room, user, kind })
    }

    /// Returns the chat with the field of its id: the group, else the room, else the person, whose
    /// id names a chat only where the source is the 1:1 chat. A source of any other type is a chat
    /// of a kind that this version does not know.
    pub(super) fn chat(&self) -> Option<Chat<'_>> {
        let chat = |field, id, kind| Some(Chat { field, id, kind });
        match (&self.group, &self.room, &self.user) {
            (Some(id), _, _) => chat("source.groupId", id, ChannelKind::Group),
            (None, Some(id), _) => chat("source.roomId", id, ChannelKind::Room),
            (None, None, Some(id)) if self.kind.as_ref().is_none_or(|kind| kind == "user") => {
                chat("source.userId", id, ChannelKind::User)
            }
            (None, None, _) => None,
        }
    }

    /// Returns the id of the chat, if it is one.
    pub(super) fn chat_id(&self) -> Option<ChannelId> {
        self.chat()?.id.clone().checked().ok()
    }
}
