//! Looking on: who is where, what was said, what was called, sent and broken.

use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::deliver::Attempt;
use super::log::{Call, Violation};
use super::post::Media;
use super::transcript::{Change, Entry};
use super::world::{Chat, User};
use super::{Emulator, lock};

impl Emulator {
    /// The bot.
    pub fn bot(&self) -> User {
        lock(&self.shared.world).bot.clone()
    }

    /// Everybody.
    pub fn users(&self) -> Vec<User> {
        lock(&self.shared.world).users.values().cloned().collect()
    }

    /// All chats; every person has one with the bot.
    pub fn chats(&self) -> Vec<Chat> {
        lock(&self.shared.world).chats.values().cloned().collect()
    }

    /// The lines of a chat in order.
    pub fn transcript(&self, chat: &str) -> Vec<Entry> {
        lock(&self.shared.world).lines.get(chat).cloned().unwrap_or_default()
    }

    /// The bot's replies to an event, in order.
    pub fn replies_to(&self, event_id: &str) -> Vec<Entry> {
        let world = lock(&self.shared.world);
        let answers = |line: &&Entry| line.answers.as_deref() == Some(event_id);
        world.lines.values().flatten().filter(answers).cloned().collect()
    }

    /// The content of a message, as the person sent it.
    pub fn content(&self, message_id: &str) -> Option<Media> {
        lock(&self.shared.world).posts.get(message_id)?.media.clone()
    }

    /// The calls of the API so far, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.shared.log).calls()
    }

    /// The rules broken so far, oldest first.
    pub fn violations(&self) -> Vec<Violation> {
        lock(&self.shared.log).violations()
    }

    /// Every attempt to send a webhook so far, oldest first.
    pub fn deliveries(&self) -> Vec<Attempt> {
        lock(&self.shared.log).attempts()
    }

    /// What happens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.shared.changes.subscribe()
    }

    /// The first line of any chat, oldest first, that `fits`, as soon as there is one; `None` when
    /// there is none within `limit`.
    pub async fn wait_for_line(
        &self,
        limit: Duration,
        fits: impl Fn(&Entry) -> bool + Send,
    ) -> Option<Entry> {
        let fits = &fits;
        self.wait_for(limit, move |emulator| emulator.find_line(fits)).await
    }

    /// The bot's replies to an event, as soon as there are `count` of them; those there are when
    /// `limit` is over.
    pub async fn wait_for_replies(
        &self,
        event_id: &str,
        count: usize,
        limit: Duration,
    ) -> Vec<Entry> {
        let enough = |emulator: &Self| {
            let replies = emulator.replies_to(event_id);
            (replies.len() >= count).then_some(replies)
        };
        match self.wait_for(limit, enough).await {
            Some(replies) => replies,
            None => self.replies_to(event_id),
        }
    }

    /// What `look` finds, looking again after every change.
    async fn wait_for<T>(&self, limit: Duration, look: impl Fn(&Self) -> Option<T>) -> Option<T> {
        let mut changes = self.subscribe();
        let found = async {
            loop {
                if let Some(found) = look(self) {
                    return Some(found);
                }
                if let Err(RecvError::Closed) = changes.recv().await {
                    return None;
                }
            }
        };
        tokio::time::timeout(limit, found).await.ok().flatten()
    }

    fn find_line(&self, fits: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let world = lock(&self.shared.world);
        let lines = world.lines.values().flatten().filter(|line| fits(line));
        lines.min_by_key(|line| line.at).cloned()
    }
}
