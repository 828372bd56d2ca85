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
    /// Returns the bot.
    pub fn bot(&self) -> User {
        lock(&self.shared.world).bot.clone()
    }

    /// Everybody.
    pub fn users(&self) -> Vec<User> {
        lock(&self.shared.world).users.values().cloned().collect()
    }

    /// Returns all chats; every person has one with the bot.
    pub fn chats(&self) -> Vec<Chat> {
        lock(&self.shared.world).chats.values().cloned().collect()
    }

    /// Returns the lines of a chat in order.
    pub fn transcript(&self, chat: &str) -> Vec<Entry> {
        lock(&self.shared.world).lines.get(chat).cloned().unwrap_or_default()
    }

    /// Returns the bot's replies to an event, in order.
    pub fn replies_to(&self, event_id: &str) -> Vec<Entry> {
        let world = lock(&self.shared.world);
        let answers = |line: &&Entry| line.answers.as_deref() == Some(event_id);
        world.lines.values().flatten().filter(answers).cloned().collect()
    }

    /// Returns the content of a message, as the person sent it.
    pub fn content(&self, message_id: &str) -> Option<Media> {
        lock(&self.shared.world).posts.get(message_id)?.media.clone()
    }

    /// Returns the API calls so far, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.shared.log).calls()
    }

    /// Returns the violated rules so far, oldest first.
    pub fn violations(&self) -> Vec<Violation> {
        lock(&self.shared.log).violations()
    }

    /// Returns every attempt to send a webhook so far, oldest first.
    pub fn deliveries(&self) -> Vec<Attempt> {
        lock(&self.shared.log).attempts()
    }

    /// Subscribes to changes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.shared.changes.subscribe()
    }

    /// Waits for a line of any chat that `fits` and returns the oldest; `None` after `limit`.
    pub async fn wait_for_line(
        &self,
        limit: Duration,
        fits: impl Fn(&Entry) -> bool + Send,
    ) -> Option<Entry> {
        let fits = &fits;
        self.wait_for(limit, move |emulator| emulator.find_line(fits)).await
    }

    /// Waits for `count` replies of the bot to an event and returns them; after `limit`, those so
    /// far.
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

    /// Waits until `look` returns a value, evaluating it again after every change.
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
