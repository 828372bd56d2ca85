//! Chat events: as they travel on the bus ([`Envelope`]) and as the workers read them ([`Event`]).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::id::{ChannelId, EventId, MessageId, UserId};
use crate::message::Content;
use crate::named;
use crate::time::Timestamp;

/// Supported chat platforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlatformKind {
    /// LINE.
    Line,
}

named! {
    pub PlatformKind {
        Line = "line",
    }
}

/// A platform event on the bus: the platform's own JSON with just the fields beside it that routing
/// needs. The platform's adapter decodes it into an [`Event`] when it is handled, so an event that
/// this version does not understand is still there for the next one.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Version of this format: 1.
    pub v: u8,
    /// The platform's event id, or one derived from the event's bytes where it has none.
    pub id: EventId,
    /// Platform that sent it.
    pub platform: PlatformKind,
    /// The configured bot that received it.
    pub bot: String,
    /// Chat that it belongs to, if it names one.
    pub channel: Option<ChannelId>,
    /// Time at which the ingress received it, in milliseconds since the epoch.
    pub received_at: i64,
    /// The event as the platform wrote it.
    pub raw: Box<RawValue>,
}

impl Envelope {
    /// The current version.
    pub const VERSION: u8 = 1;

    /// Returns its id on the bus, in logs and in dead letters: the platform's id, qualified by bot.
    pub fn bus_id(&self) -> String {
        key_of(self.platform, &self.bot, &self.id)
    }
}

/// Returns an event id qualified by platform and bot: any bot may use the event ids of another. A
/// bot's name holds no colon, so no two events share a key.
fn key_of(platform: PlatformKind, bot: &str, id: &EventId) -> String {
    format!("{}:{bot}:{id}", platform.name())
}

/// Kind of chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelKind {
    /// A group.
    Group,
    /// A room: a chat of several people that has no name.
    Room,
    /// A 1:1 chat of a person with the bot.
    User,
}

named! {
    pub ChannelKind {
        Group = "group",
        Room = "room",
        User = "user",
    }
}

/// A chat and its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChannelRef {
    /// The chat.
    pub id: ChannelId,
    /// Its kind.
    pub kind: ChannelKind,
}

/// A token that allows one reply to an event. Never shown: `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplyToken(String);

impl ReplyToken {
    /// Wraps a token of the platform.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// Returns the token, for the platform's client only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ReplyToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplyToken(…)")
    }
}

/// Origin of an event, as far as it is known without decoding it: for events that are stored
/// outside of the message tables, and whose content is deleted when its message is unsent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventOrigin {
    /// Channel in which it happened.
    pub channel: ChannelId,
    /// Id of a 1:1 chat while another bot has the plain one ([`ChannelId::chat_with`]).
    pub chat: ChannelId,
    /// Message whose content it holds.
    pub message: Option<MessageId>,
    /// User who caused it.
    pub author: Option<UserId>,
    /// Time of the event, by the platform's clock.
    pub at: Timestamp,
}

/// A chat event in domain terms.
#[derive(Clone, Debug)]
pub struct Event {
    /// The event id.
    pub id: EventId,
    /// Platform that sent it.
    pub platform: PlatformKind,
    /// The configured bot that received it.
    pub bot: String,
    /// Time of the event, by the platform's clock.
    pub at: Timestamp,
    /// Time at which the ingress received it, by chatkeep's clock.
    pub received_at: Timestamp,
    /// Chat in which it happened, if any.
    pub channel: Option<ChannelRef>,
    /// User who caused it, if the platform names them.
    pub sender: Option<UserId>,
    /// Token for a reply to it.
    pub reply_token: Option<ReplyToken>,
    /// `true` if the platform had sent it before: the reply token lives by this delivery.
    pub redelivered: bool,
    /// `false` while another bot handles this chat (LINE's `standby` mode).
    pub active: bool,
    /// Kind of the event, with its data.
    pub kind: EventKind,
    /// JSON of the platform, stored for events of unknown type.
    pub raw: Box<RawValue>,
}

impl Event {
    /// Returns its identity in the store, for claims and deduplication: the same as
    /// [`Envelope::bus_id`].
    pub fn key(&self) -> EventId {
        EventId::new(key_of(self.platform, &self.bot, &self.id))
    }
}

/// Kind of a chat event, with its data.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// A message was sent.
    Message(IncomingMessage),
    /// A message was edited. The edit with the largest time wins.
    Edited(IncomingMessage),
    /// A message was unsent (retracted).
    Unsent(MessageId),
    /// The bot joined the chat (or a person befriended it).
    BotJoined,
    /// The bot left or was removed (or a person blocked it).
    BotLeft,
    /// Members joined the chat.
    MembersJoined(Vec<UserId>),
    /// Members left the chat.
    MembersLeft(Vec<UserId>),
    /// Any other event.
    Other {
        /// The platform's name of its type.
        name: String,
        /// Message that it is about, as far as that can be read.
        message: Option<MessageId>,
    },
}

/// A message as received.
#[derive(Clone, Debug)]
pub struct IncomingMessage {
    /// Its id.
    pub id: MessageId,
    /// Content of the message.
    pub content: Content,
    /// Message that it quotes.
    pub quoted: Option<MessageId>,
}

#[cfg(test)]
#[path = "event_edge_tests.rs"]
mod edge_tests;
