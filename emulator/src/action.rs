//! Actions of people and of the platform, and reasons for refusing them.

use serde_json::{Map, Value};

use super::post::{Media, Post, Text};

/// An action in LINE.
///
/// Chats, users and messages are named by their IDs. Actions in a chat without the bot take effect
/// without an event.
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
    /// People join together, in one event.
    MembersJoin {
        /// The group or room.
        chat: String,
        /// The people.
        users: Vec<String>,
    },
    /// People leave together, in one event.
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
    /// A person unsends a message.
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

/// Reason for refusing an action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// Unknown user ID.
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
    /// The message is no text, and nothing else can be edited.
    #[error("message {0} is no text and cannot be edited")]
    NotAText(String),
    /// A mention or an emoji is not part of the text.
    #[error("the text does not contain `{0}`")]
    NotInText(String),
}
