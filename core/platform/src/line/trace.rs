//! Origin of a LINE event, read with minimal decoding: also of an event that cannot be decoded, and
//! whose content has to be deleted when its message is unsent.

use chatkeep_core::event::{Envelope, EventOrigin};
use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::time::Timestamp;
use serde_json::Value;

/// Event types without user content.
const WITHOUT_CONTENT: [&str; 7] =
    ["unsend", "follow", "unfollow", "join", "leave", "memberJoined", "memberLeft"];

/// Returns the origin of the event; `None` if it holds no user content, or belongs to no chat.
pub(crate) fn trace(envelope: &Envelope) -> Option<EventOrigin> {
    let channel = envelope.channel.clone()?;
    let raw: Value = serde_json::from_str(envelope.raw.get()).unwrap_or_default();
    if raw["type"].as_str().is_some_and(|kind| WITHOUT_CONTENT.contains(&kind)) {
        return None;
    }
    let at = raw["timestamp"].as_i64().unwrap_or(envelope.received_at);
    Some(EventOrigin {
        chat: channel.chat_with(&envelope.bot),
        channel,
        message: raw["message"]["id"].as_str().map(MessageId::from),
        author: raw["source"]["userId"].as_str().map(UserId::from),
        at: Timestamp::from_millis(at),
    })
}
