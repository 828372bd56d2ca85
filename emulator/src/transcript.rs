//! Transcript of a chat: messages of people and of the bot in order, with their last change.

use serde::Serialize;
use serde_json::Value;

use super::deliver::Attempt;
use super::log::{Call, Violation};
use super::world::{Chat, User};

/// Author of an entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Author {
    /// A person.
    User(User),
    /// The bot.
    Bot,
    /// The chat itself: joining and leaving.
    Chat,
}

/// One line of a chat.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Chat of the entry.
    pub chat_id: String,
    /// Time in milliseconds since the Unix epoch.
    pub at: i64,
    /// Author.
    pub author: Author,
    /// LINE's type of message; for lines of the chat itself `join`, `leave`, `memberJoined`,
    /// `memberLeft`, `follow` or `unfollow`.
    pub kind: String,
    /// The message's id; `None` for lines of the chat itself.
    pub message_id: Option<String>,
    /// Text, or the names of those who joined or left. Deleted by an unsend.
    pub text: Option<String>,
    /// The message object as it was sent. Null once unsent.
    pub message: Value,
    /// Time of the last edit.
    pub edited_at: Option<i64>,
    /// Time of the unsend.
    pub unsent_at: Option<i64>,
    /// For replies of the bot: ID of the webhook event whose reply token was used.
    pub answers: Option<String>,
}

impl Entry {
    /// Returns true for entries of the bot.
    pub fn is_bot(&self) -> bool {
        self.author == Author::Bot
    }
}

/// Change that subscribers receive.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "camelCase")]
pub enum Change {
    /// A new line in a chat.
    Posted(Entry),
    /// A line was edited or unsent.
    Altered(Entry),
    /// A chat was created, or its members or the bot's membership changed.
    Chat(Chat),
    /// A webhook was sent to the service (or could not be).
    Attempt(Attempt),
    /// The service called the API.
    Call(Call),
    /// The service broke a rule of the API.
    Violation(Violation),
}
