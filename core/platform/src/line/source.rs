//! Source of a LINE event: its chat, and who caused it.

use chatkeep_core::id::UntrustedId;
use serde::Deserialize;

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
}

impl Source {
    /// Reads the source of an event with these fields, each of its ids by itself.
    pub(super) fn of(event: &Fields<'_>) -> Option<Self> {
        let source = event.object("source")?;
        let [group, room, user] = ["groupId", "roomId", "userId"].map(|name| source.get(name));
        Some(Self { group, room, user })
    }

    /// Returns the id of the chat: the group, else the room, else the person.
    pub(super) fn chat(&self) -> Option<UntrustedId> {
        self.group.as_ref().or(self.room.as_ref()).or(self.user.as_ref()).cloned()
    }
}
