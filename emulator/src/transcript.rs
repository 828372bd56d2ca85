//! What a chat shows: messages of people and of the bot in order, and what changed last.

use serde::Serialize;
use serde_json::Value;

use super::deliver::Attempt;
use super::log::{Call, Violation};
use super::world::{Chat, User};

/// Who wrote something.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Author {
    /// A person.
    User(User),
    /// The bot.
    Bot,
    /// The chat itself: somebody came or went.
    Chat,
}

/// One line of a chat.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The chat it stands in.
    pub chat_id: String,
    /// When, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Who wrote it.
    pub author: Author,
    /// LINE's type of message; for lines of the chat itself `join`, `leave`, `memberJoined`,
    /// `memberLeft`, `follow` or `unfollow`.
    pub kind: String,
    /// The message's id; `None` for lines of the chat itself.
    pub message_id: Option<String>,
    /// Its text, or the names of those who came or went. Gone once unsent.
    pub text: Option<String>,
    /// The message object as it was sent. Null once unsent.
    pub message: Value,
    /// When it was last edited.
    pub edited_at: Option<i64>,
    /// When it was unsent.
    pub unsent_at: Option<i64>,
    /// Of the bot's replies: the id of the webhook event whose reply token it used.
    pub answers: Option<String>,
}

impl Entry {
    /// Whether the bot wrote it.
    pub fn is_bot(&self) -> bool {
        self.author == Author::Bot
    }
}

/// Something that happened, told to whoever subscribed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "camelCase")]
pub enum Change {
    /// A new line in a chat.
    Posted(Entry),
    /// A line was edited or unsent.
    Altered(Entry),
    /// A chat was made, or its members or the bot's place in it changed.
    Chat(Chat),
    /// A webhook was sent to the service (or could not be).
    Attempt(Attempt),
    /// The service called the API.
    Call(Call),
    /// The service broke a rule of the API.
    Violation(Violation),
}
