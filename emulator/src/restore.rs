//! Bringing back what chats held before the emulator was started anew.

use serde_json::json;

use super::transcript::{Author, Entry};
use super::world::World;
use super::{Emulator, lock};

/// A message of an earlier run, as somebody stored it.
#[derive(Clone, Debug)]
pub struct RestoredMessage {
    /// The chat it stands in.
    pub chat_id: String,
    /// The user id of its author; `None` for the bot.
    pub user_id: Option<String>,
    /// When it was sent, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Its id.
    pub message_id: String,
    /// LINE's type of message.
    pub kind: String,
    /// Its text, where it has one.
    pub text: Option<String>,
}

impl Emulator {
    /// Puts messages of an earlier run back into their chats, so that they can be quoted, edited
    /// and unsent; no event tells of it. Messages of unknown people or chats are left out. Their
    /// content (the bytes of an image) does not come back.
    pub fn restore(&self, messages: impl IntoIterator<Item = RestoredMessage>) {
        let mut world = lock(&self.shared.world);
        for message in messages {
            world.restore(message);
        }
    }
}

impl World {
    fn restore(&mut self, message: RestoredMessage) {
        let RestoredMessage { chat_id, user_id, at, message_id, kind, text } = message;
        let author = match user_id {
            None => Some(Author::Bot),
            Some(id) => self.users.get(&id).cloned().map(Author::User),
        };
        let (Some(author), true) = (author, self.chats.contains_key(&chat_id)) else {
            return;
        };
        let mut object = json!({ "type": kind, "id": message_id });
        if let Some(text) = &text {
            object["text"] = text.as_str().into();
        }
        let entry = Entry {
            chat_id,
            at,
            author,
            kind,
            message_id: Some(message_id),
            text,
            message: object,
            edited_at: None,
            unsent_at: None,
            answers: None,
        };
        self.write(entry, None);
    }
}
