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
    BotJoins {
        /// The group or room.
        chat: String,
    },
    /// The bot is removed from a group or room.
    BotLeaves {
        /// The group or room.
        chat: String,
    },
    /// A person adds the bot as a friend, or unblocks it.
    Follow {
        /// The person.
        user: String,
    },
    /// A person blocks the bot.
    Unfollow {
        /// The person.
        user: String,
    },
    /// People join together: one event.
    MembersJoin {
        /// The group or room.
        chat: String,
        /// The people.
        users: Vec<String>,
    },
    /// People leave: one event.
    MembersLeave {
        /// The group or room.
        chat: String,
        /// The people.
        users: Vec<String>,
    },
    /// A person sends a message.
    Send {
        /// The chat.
        chat: String,
        /// The author.
        user: String,
        /// The message.
        post: Post,
    },
    /// A person sends images together: one event each, all in one webhook.
    SendImages {
        /// The chat.
        chat: String,
        /// The author.
        user: String,
        /// The images, in their order.
        images: Vec<Media>,
    },
    /// A person takes a message back.
    Unsend {
        /// The message.
        message: String,
    },
    /// A person edits a text in a group.
    Edit {
        /// The message.
        message: String,
        /// The new text.
        text: Text,
    },
    /// A person presses a button of the bot's.
    Postback {
        /// The chat.
        chat: String,
        /// The person.
        user: String,
        /// The data that the button carries.
        data: String,
    },
    /// An event of a type that does not exist yet: the type and its own fields.
    Unknown {
        /// The chat.
        chat: String,
        /// The person, if the event names one.
        user: Option<String>,
        /// The type.
        kind: String,
        /// The fields of this type alone.
        fields: Map<String, Value>,
    },
}

/// Why something cannot happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// Nobody has this user id.
    #[error("no user {0}")]
    NoUser(String),
    /// No chat has this id.
    #[error("no chat {0}")]
    NoChat(String),
    /// The person is not in the chat.
    #[error("{0} is not in the chat")]
    NotAMember(String),
    /// The person is in the chat already.
    #[error("{0} is in the chat already")]
    AlreadyAMember(String),
    /// The bot is there already, or is not there to be removed.
    #[error("the bot's place in {0} does not change by that")]
    NoChange(String),
    /// The chat is of another kind.
    #[error("not possible in a chat of the kind of {0}")]
    WrongKind(String),
    /// No message has this id, or it was unsent, or it is not a person's.
    #[error("no message {0} to act on")]
    NoMessage(String),
    /// A mention or an emoji is not part of the text.
    #[error("`{0}` does not stand in the text")]
    NotInText(String),
}
