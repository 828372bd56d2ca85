//! What people and the platform can do, and why something cannot be done.

use serde_json::{Map, Value};

use super::post::{Media, Post, Text};

/// Something that happens in LINE.
///
/// Chats, users and messages are named by their ids. Where the bot is not in the chat it happens
/// all the same, but no event tells of it.
#[derive(Clone, Debug)]
pub enum Action {
    /// The bot is invited to a group or room.
    BotJoins { chat: String },
    /// The bot is removed from a group or room.
    BotLeaves { chat: String },
    /// A person adds the bot as a friend, or unblocks it.
    Follow { user: String },
    /// A person blocks the bot.
    Unfollow { user: String },
    /// People join together: one event.
    MembersJoin { chat: String, users: Vec<String> },
    /// People leave: one event.
    MembersLeave { chat: String, users: Vec<String> },
    /// A person sends a message.
    Send { chat: String, user: String, post: Post },
    /// A person sends images together: one event each, all in one webhook.
    SendImages { chat: String, user: String, images: Vec<Media> },
    /// A person takes a message back.
    Unsend { message: String },
    /// A person edits a text in a group.
    Edit { message: String, text: Text },
    /// A person presses a button of the bot's.
    Postback { chat: String, user: String, data: String },
    /// An event of a type that does not exist yet: the type and its own fields.
    Unknown { chat: String, user: Option<String>, kind: String, fields: Map<String, Value> },
}

/// Why something cannot happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// Nobody has this user id.
    #[error("unknown user {0}")]
    NoUser(String),
    /// No chat has this id.
    #[error("unknown chat {0}")]
    NoChat(String),
    /// The person is not in the chat.
    #[error("{0} is not in the chat")]
    NotAMember(String),
    /// The person is in the chat already.
    #[error("{0} is in the chat already")]
    AlreadyAMember(String),
    /// The bot is there already, or is not there to be removed.
    #[error("this does not change the bot's membership in {0}")]
    NoChange(String),
    /// The chat is of another kind.
    #[error("not possible in a chat of this kind: {0}")]
    WrongKind(String),
    /// No message has this id, or it was unsent, or it is not a person's.
    #[error("no message {0} to act on")]
    NoMessage(String),
    /// A mention or an emoji is not part of the text.
    #[error("the text does not contain `{0}`")]
    NotInText(String),
}
