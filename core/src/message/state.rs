//! Changes of a message, and their merging into one state.

use super::MessageType;
use super::earlier::EarlierTexts;
use crate::id::{MessageId, UserId};
use crate::time::Timestamp;

/// A change of a message.
#[derive(Clone, Debug)]
pub enum MessageChange {
    /// It was received.
    Received(Received),
    /// Its content was replaced at that time.
    Edited {
        /// Time of the edit.
        at: Timestamp,
        /// Person who edited it, if the platform names them.
        by: Option<UserId>,
        /// New content as stored JSON.
        content: String,
    },
    /// It was unsent (retracted) at that time.
    Unsent {
        /// Time of the retraction.
        at: Timestamp,
    },
}

/// A message when it is first received.
#[derive(Clone, Debug)]
pub struct Received {
    /// Time at which it was sent.
    pub at: Timestamp,
    /// Sender, if the platform names them.
    pub sender: Option<UserId>,
    /// Its type.
    pub kind: MessageType,
    /// Its content as stored JSON.
    pub content: String,
    /// Message that it quotes.
    pub quoted: Option<MessageId>,
    /// `true` if the bot itself sent it.
    pub is_bot: bool,
}

/// Stored state of one message.
///
/// The same changes in any order and any number lead to the same state
/// (docs/architecture.md#rule-1; property-tested below), with one exception by design: messages
/// that arrive while backup is paused are skipped permanently, and no earlier text is kept of what
/// is edited then, or while the channel keeps none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageState {
    /// Time at which it was sent; `None` while only an edit or unsend of it is known.
    pub sent_at: Option<Timestamp>,
    /// Time at which it was first stored, which decides which subscriptions it counts for; of one that
    /// was skipped, the time at which it arrived.
    pub backed_up_at: Option<Timestamp>,
    /// Sender; while only edits of it are known, the person who made the latest.
    pub sender: Option<UserId>,
    /// Its type.
    pub kind: Option<MessageType>,
    /// Content as stored JSON; deleted once it is unsent.
    pub content: Option<String>,
    /// Message that it quotes.
    pub quoted: Option<MessageId>,
    /// `true` if the bot sent it.
    pub is_bot: bool,
    /// Time at which its current content was written, if it was edited.
    pub edited_at: Option<Timestamp>,
    /// Time at which it was unsent.
    pub unsent_at: Option<Timestamp>,
    /// `true` if it arrived while backup was paused, so that no content of it is stored.
    pub skipped: bool,
    /// Earlier texts, if it was edited and the channel keeps them.
    pub earlier_texts: EarlierTexts,
}

/// Treatment of what is stored of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupMode {
    /// `true` while backup of the channel is paused: a message that first arrives then is skipped.
    pub paused: bool,
    /// `true` if the channel keeps earlier texts of edited messages.
    pub keeps_earlier_texts: bool,
}

/// Effect of a change on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None: the change was known already.
    None,
    /// The stored state changed.
    Changed,
    /// Only an earlier text was added.
    EarlierText,
    /// Backup is paused; only the existence of the message is stored.
    Skipped,
}

impl MessageState {
    /// Applies one change in the present mode of the channel.
    pub fn apply(&mut self, change: &MessageChange, mode: BackupMode, now: Timestamp) -> Effect {
        if self.skipped {
            return self.apply_to_skipped(change);
        }
        match change {
            MessageChange::Received(_) if self.sent_at.is_some() => Effect::None,
            MessageChange::Received(_) | MessageChange::Edited { .. }
                if mode.paused && self.content.is_none() && self.sent_at.is_none() =>
            {
                self.skipped = true;
                self.backed_up_at.get_or_insert(now);
                Effect::Skipped
            }
            MessageChange::Received(message) => self.receive(message, mode, now),
            MessageChange::Edited { at, by, content } => {
                self.edit((*at, content), by.as_ref(), mode, now)
            }
            MessageChange::Unsent { at } => self.unsend(*at),
        }
    }

    /// Applies an unsend to a skipped message as well, so that the order does not matter.
    fn apply_to_skipped(&mut self, change: &MessageChange) -> Effect {
        match change {
            MessageChange::Unsent { at } => self.unsend(*at),
            MessageChange::Received(_) | MessageChange::Edited { .. } => Effect::None,
        }
    }

    fn receive(&mut self, message: &Received, mode: BackupMode, now: Timestamp) -> Effect {
        self.sent_at = Some(message.at);
        self.backed_up_at.get_or_insert(now);
        self.sender.clone_from(&message.sender);
        self.kind = Some(message.kind);
        self.quoted.clone_from(&message.quoted);
        self.is_bot = message.is_bot;
        if self.edited_at.is_some() {
            self.keep_earlier((message.at, &message.content), mode);
        } else if self.unsent_at.is_none() {
            self.content = Some(message.content.clone());
        }
        Effect::Changed
    }

    fn edit(
        &mut self,
        (at, content): (Timestamp, &str),
        by: Option<&UserId>,
        mode: BackupMode,
        now: Timestamp,
    ) -> Effect {
        let newer = match self.edited_at {
            None => true,
            // Of an unsent message there is no content to compare, and none to store.
            Some(last) if self.unsent_at.is_some() => last < at,
            // Two edits in one millisecond: any deterministic choice will do, so that order does
            // not matter.
            Some(last) => (last, self.content.as_deref().unwrap_or_default()) < (at, content),
        };
        if !newer {
            let is_earlier = self.edited_at.is_some_and(|last| at < last);
            return if is_earlier && self.keep_earlier((at, content), mode) {
                Effect::EarlierText
            } else {
                Effect::None
            };
        }
        self.keep_replaced(at, mode);
        self.edited_at = Some(at);
        self.backed_up_at.get_or_insert(now);
        if self.unsent_at.is_none() {
            self.content = Some(content.to_owned());
            if self.sent_at.is_none() {
                // An erasure of the person finds it by that.
                self.sender = by.cloned();
            }
        }
        Effect::Changed
    }

    /// Keeps the content that an edit of that time replaces. Of two edits in one millisecond only
    /// one counts; the message as it was sent is a text of its own, whenever that was.
    fn keep_replaced(&mut self, by: Timestamp, mode: BackupMode) {
        let written = match self.edited_at {
            Some(last) => (last != by).then_some(last),
            None => self.sent_at,
        };
        if let Some((at, content)) = written.zip(self.content.clone()) {
            self.keep_earlier((at, &content), mode);
        }
    }

    /// Keeps an earlier text if the channel does; returns whether anything changed.
    fn keep_earlier(&mut self, (at, content): (Timestamp, &str), mode: BackupMode) -> bool {
        let keeps = mode.keeps_earlier_texts && !mode.paused && self.unsent_at.is_none();
        keeps && self.earlier_texts.add(at, content)
    }

    fn unsend(&mut self, at: Timestamp) -> Effect {
        if self.unsent_at.is_some_and(|known| known <= at) {
            return Effect::None;
        }
        self.unsent_at = Some(at);
        self.content = None;
        if self.sent_at.is_none() {
            self.sender = None;
        }
        self.earlier_texts = EarlierTexts::default();
        Effect::Changed
    }

    /// Returns the size of the message in the quota usage: the UTF-8 length of its stored content
    /// and of its earlier texts. An edit that waits for its message has no size, for the message may
    /// never come.
    pub fn bytes(&self) -> i64 {
        let content = self.content.as_ref().filter(|_| self.sent_at.is_some());
        content.map_or(0, |content| {
            i64::try_from(content.len())
                .unwrap_or(i64::MAX)
                .saturating_add(self.earlier_texts.bytes())
        })
    }

    /// Returns whether it counts as a stored message: it was received and not unsent.
    pub fn counts(&self) -> bool {
        !self.skipped && self.sent_at.is_some() && self.unsent_at.is_none()
    }
}

#[cfg(test)]
#[path = "state_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
