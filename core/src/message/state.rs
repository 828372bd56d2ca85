//! Changes of a message, and their merging into one state.

use super::MessageType;
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
/// that arrive while backup is paused are skipped permanently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageState {
    /// Time at which it was sent; `None` while only an edit or unsend of it is known.
    pub sent_at: Option<Timestamp>,
    /// Time at which it was first stored. It decides which subscriptions it counts for.
    pub backed_up_at: Option<Timestamp>,
    /// Sender.
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
}

/// Effect of a change on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None: the change was known already.
    None,
    /// The stored state changed.
    Changed,
    /// Backup is paused; only the existence of the message is stored.
    Skipped,
}

impl MessageState {
    /// Applies one change. `paused` says whether backup of the channel is paused now: a message
    /// that first arrives then is skipped.
    pub fn apply(&mut self, change: &MessageChange, paused: bool, now: Timestamp) -> Effect {
        if self.skipped {
            return self.apply_to_skipped(change);
        }
        match change {
            MessageChange::Received(_) if self.sent_at.is_some() => Effect::None,
            MessageChange::Received(_) | MessageChange::Edited { .. }
                if paused && self.content.is_none() && self.sent_at.is_none() =>
            {
                self.skipped = true;
                Effect::Skipped
            }
            MessageChange::Received(message) => self.receive(message, now),
            MessageChange::Edited { at, content, .. } => self.edit(*at, content, now),
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

    fn receive(&mut self, message: &Received, now: Timestamp) -> Effect {
        self.sent_at = Some(message.at);
        self.backed_up_at.get_or_insert(now);
        self.sender.clone_from(&message.sender);
        self.kind = Some(message.kind);
        self.quoted.clone_from(&message.quoted);
        self.is_bot = message.is_bot;
        if self.unsent_at.is_none() && self.edited_at.is_none() {
            self.content = Some(message.content.clone());
        }
        Effect::Changed
    }

    fn edit(&mut self, at: Timestamp, content: &str, now: Timestamp) -> Effect {
        let newer = match self.edited_at {
            None => true,
            // Two edits in one millisecond: any deterministic choice will do, so that order does
            // not matter.
            Some(last) => (last, self.content.as_deref().unwrap_or_default()) < (at, content),
        };
        if !newer {
            return Effect::None;
        }
        self.edited_at = Some(at);
        self.backed_up_at.get_or_insert(now);
        if self.unsent_at.is_none() {
            self.content = Some(content.to_owned());
        }
        Effect::Changed
    }

    fn unsend(&mut self, at: Timestamp) -> Effect {
        if self.unsent_at.is_some_and(|known| known <= at) {
            return Effect::None;
        }
        self.unsent_at = Some(at);
        self.content = None;
        Effect::Changed
    }

    /// Returns the size of the message in the quota usage: the UTF-8 length of its stored content.
    /// An edit that waits for its message has no size, for the message may never come.
    pub fn bytes(&self) -> i64 {
        let content = self.content.as_ref().filter(|_| self.sent_at.is_some());
        content.map_or(0, |content| i64::try_from(content.len()).unwrap_or(i64::MAX))
    }

    /// Returns whether it counts as a stored message: it was received and not unsent.
    pub fn counts(&self) -> bool {
        !self.skipped && self.sent_at.is_some() && self.unsent_at.is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Content;

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    fn received(text: &str) -> MessageChange {
        MessageChange::Received(Received {
            at: Timestamp::from_millis(1),
            sender: Some("U1".into()),
            kind: MessageType::Text,
            content: serde_json::to_string(&Content::text(text)).unwrap(),
            quoted: None,
            is_bot: false,
        })
    }

    fn change() -> impl Strategy<Value = MessageChange> {
        prop_oneof![
            Just(received("first")),
            (1..6_i64, "[a-c]{1,3}").prop_map(|(at, text)| MessageChange::Edited {
                at: Timestamp::from_millis(at),
                by: None,
                content: serde_json::to_string(&Content::text(text)).unwrap(),
            }),
            (1..6_i64).prop_map(|at| MessageChange::Unsent { at: Timestamp::from_millis(at) }),
        ]
    }

    fn run<'a>(changes: impl IntoIterator<Item = &'a MessageChange>, paused: bool) -> MessageState {
        let mut state = MessageState::default();
        for change in changes {
            state.apply(change, paused, NOW);
        }
        state
    }

    proptest! {
        #[test]
        fn order_and_repetition_do_not_matter(
            changes in prop::collection::vec(change(), 0..8),
            seed in any::<u64>(),
        ) {
            let expected = run(&changes, false);
            let mut shuffled = changes.clone();
            shuffled.extend(changes.iter().cloned());
            shuffle(&mut shuffled, seed);
            prop_assert_eq!(run(&shuffled, false), expected);
        }
    }

    fn shuffle(changes: &mut [MessageChange], mut seed: u64) {
        for last in (1..changes.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            changes.swap(last, usize::try_from(seed >> 33).unwrap() % (last + 1));
        }
    }

    #[test]
    fn an_unsend_before_its_message_wins() {
        let unsent = MessageChange::Unsent { at: Timestamp::from_millis(9) };
        let state = run([&unsent, &received("secret")], false);
        assert_eq!((state.content.as_deref(), state.bytes(), state.counts()), (None, 0, false));
        assert_eq!(state.sender, Some("U1".into()));
    }

    #[test]
    fn a_paused_channel_keeps_nothing_new() {
        let state = run([&received("lost")], true);
        assert!(state.skipped && state.content.is_none());
        let mut later = state.clone();
        assert_eq!(later.apply(&received("lost"), false, NOW), Effect::None);
        assert_eq!(later, state);
    }
}
