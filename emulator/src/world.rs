//! State of the emulated world: people, chats, the bot, and their messages.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::Value;

use super::ids::{Clock, Ids};
use super::outbox::{Accepted, Token};
use super::post::Media;
use super::transcript::{Author, Change, Entry};

/// A person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The user id, `U…`.
    pub user_id: String,
    /// The name shown in chats.
    pub display_name: String,
    /// The address of the picture.
    pub picture_url: Option<String>,
    /// Language of their app; LINE includes it for friends who agreed.
    pub language: Option<String>,
}

/// Kind of chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChatKind {
    /// A group with a name, `C…`.
    Group,
    /// Chat of several people without a name, `R…`.
    Room,
    /// A person's chat with the bot; its id is the person's.
    User,
}

/// A chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Chat {
    /// ID.
    pub chat_id: String,
    /// Kind.
    pub kind: ChatKind,
    /// The group's name; `None` for rooms, the person's for 1:1 chats.
    pub name: Option<String>,
    /// The address of its picture.
    pub picture_url: Option<String>,
    /// User IDs of its people in the order of joining, without the bot.
    pub members: Vec<String>,
    /// True while the bot is in it (in one-to-one chats: is a friend and not blocked).
    pub has_bot: bool,
    /// True when the bot was ever in it.
    pub had_bot: bool,
}

/// A message by its id.
#[derive(Debug)]
pub(super) struct Posted {
    pub(super) chat_id: String,
    /// Index of its line in the chat's transcript.
    pub(super) line: usize,
    pub(super) media: Option<Media>,
}

/// Everything that is behind the emulator's lock.
pub(super) struct World {
    pub(super) clock: Clock,
    pub(super) ids: Ids,
    /// The bot, as its own API shows it.
    pub(super) bot: User,
    /// True while another module controls the chats: events then have no reply token.
    pub(super) standby: bool,
    pub(super) users: BTreeMap<String, User>,
    pub(super) chats: BTreeMap<String, Chat>,
    pub(super) lines: HashMap<String, Vec<Entry>>,
    pub(super) posts: HashMap<String, Posted>,
    /// Quote token to message id.
    pub(super) quotes: HashMap<String, String>,
    pub(super) tokens: HashMap<String, Token>,
    /// Pushes by retry key.
    pub(super) accepted: HashMap<String, Accepted>,
    /// Pictures of people and groups, by the number in their address.
    pub(super) pictures: Vec<Media>,
}

impl World {
    pub(super) fn new(clock: Clock, seed: u64, bot_name: &str) -> Self {
        let ids = Ids::new(seed);
        let bot = User {
            user_id: ids.bot(),
            display_name: bot_name.to_owned(),
            picture_url: None,
            language: None,
        };
        Self {
            clock,
            ids,
            bot,
            standby: false,
            users: BTreeMap::new(),
            chats: BTreeMap::new(),
            lines: HashMap::new(),
            posts: HashMap::new(),
            quotes: HashMap::new(),
            tokens: HashMap::new(),
            accepted: HashMap::new(),
            pictures: Vec::new(),
        }
    }

    /// Returns the time by the configured clock.
    pub(super) fn now(&self) -> i64 {
        (self.clock)()
    }

    /// Creates a person who has not added the bot as a friend yet.
    pub(super) fn add_user(&mut self, name: &str, picture_url: Option<String>) -> (User, Chat) {
        let user = User {
            user_id: self.ids.user(),
            display_name: name.to_owned(),
            picture_url,
            language: None,
        };
        let id = user.user_id.clone();
        let chat = Chat {
            chat_id: id.clone(),
            kind: ChatKind::User,
            name: Some(user.display_name.clone()),
            picture_url: user.picture_url.clone(),
            members: vec![id.clone()],
            has_bot: false,
            had_bot: false,
        };
        self.add_chat(chat.clone());
        self.users.insert(id, user.clone());
        (user, chat)
    }

    /// Creates a group (with a name) or room (without), without the bot.
    pub(super) fn add_many(
        &mut self,
        name: Option<&str>,
        picture_url: Option<String>,
        members: &[&str],
    ) -> Chat {
        let (chat_id, kind) = match name {
            Some(_) => (self.ids.group(), ChatKind::Group),
            None => (self.ids.room(), ChatKind::Room),
        };
        let known = members.iter().filter(|id| self.users.contains_key(**id));
        let chat = Chat {
            chat_id,
            kind,
            name: name.map(str::to_owned),
            picture_url,
            members: known.map(|&id| id.to_owned()).collect(),
            has_bot: false,
            had_bot: false,
        };
        self.add_chat(chat.clone());
        chat
    }

    fn add_chat(&mut self, chat: Chat) {
        self.lines.insert(chat.chat_id.clone(), Vec::new());
        self.chats.insert(chat.chat_id.clone(), chat);
    }

    /// Returns the line of a message.
    pub(super) fn line(&self, message_id: &str) -> Option<&Entry> {
        let posted = self.posts.get(message_id)?;
        self.lines.get(&posted.chat_id)?.get(posted.line)
    }

    /// Changes the line of a message.
    pub(super) fn alter(
        &mut self,
        message_id: &str,
        how: impl FnOnce(&mut Entry),
    ) -> Option<Change> {
        let posted = self.posts.get(message_id)?;
        let entry = self.lines.get_mut(&posted.chat_id)?.get_mut(posted.line)?;
        how(entry);
        Some(Change::Altered(entry.clone()))
    }

    /// Adds a line to its chat.
    pub(super) fn write(&mut self, entry: Entry, media: Option<Media>) -> Change {
        let lines = self.lines.entry(entry.chat_id.clone()).or_default();
        if let Some(id) = &entry.message_id {
            let posted = Posted { chat_id: entry.chat_id.clone(), line: lines.len(), media };
            self.posts.insert(id.clone(), posted);
        }
        lines.push(entry.clone());
        Change::Posted(entry)
    }

    /// Adds a line of the chat itself: people who joined or left.
    pub(super) fn note(&mut self, chat_id: &str, kind: &str, names: String) -> Change {
        let entry = Entry {
            chat_id: chat_id.to_owned(),
            at: self.now(),
            author: Author::Chat,
            kind: kind.to_owned(),
            message_id: None,
            text: Some(names),
            message: Value::Null,
            edited_at: None,
            unsent_at: None,
            answers: None,
        };
        self.write(entry, None)
    }

    /// Creates a quote token for a message.
    pub(super) fn quotable(&mut self, message_id: &str) -> String {
        let token = self.ids.quote_token(message_id);
        self.quotes.insert(token.clone(), message_id.to_owned());
        token
    }
}
