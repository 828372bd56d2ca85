//! Events in the chats of tests: people who come and go, and messages.

use chatkeep_core::event::{ChannelKind, ChannelRef, PlatformKind};
use chatkeep_core::id::UserId;
use chatkeep_core::message::{Content, MessageChange, Received};
use chatkeep_core::time::Timestamp;
use chatkeep_store::{ChannelChange, PresenceEvidence, PresenceEvidenceKind};

use super::Group;

impl Group {
    /// Records that something happened in a chat now.
    pub(super) async fn happened(&self, channel: &str, kind: PresenceEvidenceKind) {
        let evidence = PresenceEvidence {
            channel: chat(channel),
            platform: PlatformKind::Line,
            bot: String::new(),
            at: self.clock.now(),
            kind,
        };
        self.store.members().record_presence(&[evidence], self.clock.now()).await.unwrap();
    }
}

/// Returns a chat whose kind is that of its id on LINE.
fn chat(channel: &str) -> ChannelRef {
    let kind = match channel.chars().next() {
        Some('U') => ChannelKind::User,
        Some('R') => ChannelKind::Room,
        _ => ChannelKind::Group,
    };
    ChannelRef { id: channel.into(), kind }
}

/// Returns a message of that content.
pub(super) fn sent(
    channel: &str,
    id: &str,
    sender: Option<&str>,
    at: Timestamp,
    content: &Content,
) -> ChannelChange {
    let received = Received {
        at,
        sender: sender.map(UserId::from),
        kind: content.kind(),
        content: serde_json::to_string(content).unwrap(),
        quoted: None,
        is_bot: false,
    };
    let change = MessageChange::Received(received);
    ChannelChange { channel: channel.into(), message: id.into(), change }
}
