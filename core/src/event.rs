//! Chat events: as they travel on the bus ([`Envelope`]) and as the workers read them ([`Event`]).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bus::{Outgoing, Stream};
use crate::id::{ChannelId, EventId, MessageId, UserId, shard_of};
use crate::message::Content;
use crate::time::Timestamp;

/// The chat platforms chatkeep speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlatformKind {
    /// LINE.
    Line,
}

impl PlatformKind {
    /// Its name in subjects, metrics and the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
        }
    }
}

/// What travels on the bus: the platform's own JSON with just enough beside it to route it. The
/// platform's adapter turns it into an [`Event`] where it is handled, so an event that this
/// version does not understand is still there for the next one.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Version of this form: 1.
    pub v: u8,
    /// The platform's event id, or one derived from the event's bytes where it has none.
    pub id: EventId,
    /// Where it came from.
    pub platform: PlatformKind,
    /// The configured bot that received it.
    pub bot: String,
    /// The chat it belongs to, where it names one.
    pub channel: Option<ChannelId>,
    /// When the ingress took it, in milliseconds since the epoch.
    pub received_at: i64,
    /// The event as the platform wrote it.
    pub raw: Box<RawValue>,
}

impl Envelope {
    /// The current version.
    pub const VERSION: u8 = 1;

    /// Its id on the bus, in logs and in dead letters: the platform's, told apart by bot.
    pub fn bus_id(&self) -> String {
        key_of(self.platform, &self.bot, &self.id)
    }

    /// The message to publish for it.
    ///
    /// # Errors
    /// Never in practice: an envelope is always valid JSON.
    pub fn to_outgoing(&self) -> Result<Outgoing, serde_json::Error> {
        let key = self.channel.as_ref().map_or(self.id.as_str(), ChannelId::as_str);
        let subject =
            format!("{}.{}.{}", Stream::Events.prefix(), self.platform.name(), shard_of(key));
        Ok(Outgoing { subject, id: self.bus_id(), payload: serde_json::to_vec(self)?.into() })
    }
}

/// An event id told apart by platform and bot: any bot may use the event ids of another. A bot's
/// name holds no colon, so no two events share a key.
fn key_of(platform: PlatformKind, bot: &str, id: &EventId) -> String {
    format!("{}:{bot}:{id}", platform.name())
}

/// The kind of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    /// A group.
    Group,
    /// A room: a chat of several people without a name.
    Room,
    /// A person's own chat with the bot.
    User,
}

impl ChannelKind {
    /// Its name on every surface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Room => "room",
            Self::User => "user",
        }
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "group" => Some(Self::Group),
            "room" => Some(Self::Room),
            "user" => Some(Self::User),
            _ => None,
        }
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

/// A token that lets the bot answer one event once. Never shown: `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplyToken(String);

impl ReplyToken {
    /// Takes the token as the platform gave it.
    pub fn new(token: impl Into<String>) -> Self {
        Self(token.into())
    }

    /// The token, for the platform's client only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ReplyToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplyToken(…)")
    }
}

/// What an event is about, as far as it can be told without decoding it: for events that wait
/// outside of the store, and whose content goes when it is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The channel that it happened in.
    pub channel: ChannelId,
    /// The id of a 1:1 chat for while another bot has the plain one ([`ChannelId::chat_with`]).
    pub chat: ChannelId,
    /// The message whose content it holds.
    pub message: Option<MessageId>,
    /// Who did it.
    pub author: Option<UserId>,
    /// When it happened, by the platform's clock.
    pub at: Timestamp,
}

/// A chat event in the domain's words.
#[derive(Clone, Debug)]
pub struct Event {
    /// The event id.
    pub id: EventId,
    /// Where it came from.
    pub platform: PlatformKind,
    /// The configured bot that received it.
    pub bot: String,
    /// When it happened, by the platform's clock.
    pub at: Timestamp,
    /// When the ingress took it, by our clock.
    pub received_at: Timestamp,
    /// The chat it happened in, where there is one.
    pub channel: Option<ChannelRef>,
    /// Who did it, where the platform tells.
    pub sender: Option<UserId>,
    /// For answering it.
    pub reply_token: Option<ReplyToken>,
    /// False when another bot answers this chat now (LINE's `standby` mode).
    pub active: bool,
    /// What happened.
    pub kind: EventKind,
    /// The platform's JSON, kept for events of unknown type.
    pub raw: Box<RawValue>,
}

impl Event {
    /// Its identity in the store, for claims and against repetition: the same as
    /// [`Envelope::bus_id`].
    pub fn key(&self) -> EventId {
        EventId::new(key_of(self.platform, &self.bot, &self.id))
    }
}

/// What happened in a chat.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// Somebody said something.
    Message(IncomingMessage),
    /// Somebody changed what they said. The one with the largest time holds.
    Edited(IncomingMessage),
    /// Somebody took back what they said.
    Unsent(MessageId),
    /// The bot came into the chat (or a person befriended it).
    BotJoined,
    /// The bot left or was removed (or a person blocked it).
    BotLeft,
    /// People came into the chat.
    MembersJoined(Vec<UserId>),
    /// People left the chat.
    MembersLeft(Vec<UserId>),
    /// Anything else; the platform's name of it.
    Other(String),
}

/// A message as it came.
#[derive(Clone, Debug)]
pub struct IncomingMessage {
    /// Its id.
    pub id: MessageId,
    /// What it says.
    pub content: Content,
    /// The message it quotes.
    pub quoted: Option<MessageId>,
}
