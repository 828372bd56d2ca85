//! Bringing back what chats held before the emulator was started anew.

use serde_json::json;

use super::transcript::{Author, Entry};
use super::world::World;
use super::{Emulator, lock};

/// Message of an earlier run, from a store.
#[derive(Clone, Debug)]
pub struct RestoredMessage {
    /// Chat of the message.
    pub chat_id: String,
    /// The user id of its author; `None` for the bot.
    pub user_id: Option<String>,
    /// Time of sending, in milliseconds since the Unix epoch.
    pub at: i64,
    /// ID.
    pub message_id: String,
    /// LINE's type of message.
    pub kind: String,
    /// Text, if any.
    pub text: Option<String>,
}

impl Emulator {
    /// Restores messages of an earlier run, so that they can be quoted, edited and unsent, without
    /// events. Messages of unknown people or chats are skipped. Their content (the bytes of an
    /// image) is not restored.
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
