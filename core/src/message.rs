//! Messages: what they say ([`Content`]) and how everything that happens to one comes together
//! into a state that does not depend on the order of arrival ([`MessageState`]).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::id::{MessageId, UserId};
use crate::time::Timestamp;

/// What a message says; stored as JSON. Its UTF-8 length is what the message counts for in the
/// usage (contract section 4).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// The platform's own emoji inside the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        emojis: Vec<Emoji>,
        /// Who is mentioned.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mentions: Vec<Mention>,
    },
    /// A picture.
    Image(MediaInfo),
    /// A video.
    Video(MediaInfo),
    /// A voice message or sound.
    Audio(MediaInfo),
    /// A file.
    File(MediaInfo),
    /// A place.
    Location {
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
        /// Degrees north.
        latitude: f64,
        /// Degrees east.
        longitude: f64,
    },
    /// A sticker.
    Sticker(Sticker),
    /// A message type that this version does not know, as it came.
    Other {
        /// The platform's JSON of the message, as text.
        raw: String,
    },
}

/// The platform's own emoji inside a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Emoji {
    /// Where it stands in the text, in UTF-16 units.
    pub index: u32,
    /// How long its text is, in UTF-16 units.
    pub length: u32,
    /// The emoji set.
    pub product_id: String,
    /// The emoji in the set.
    pub emoji_id: String,
}

/// Somebody mentioned in a text (contract section 5, "mentions").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mention {
    /// Who; nobody for "all" and for people who keep their id to themselves.
    pub user_id: Option<UserId>,
    /// Where it stands in the text, in UTF-16 units.
    pub start: u32,
    /// How long it is, in UTF-16 units.
    pub length: u32,
    /// Whether it is the bot.
    #[serde(default)]
    pub is_self: bool,
}

/// What is known of a media message without its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaInfo {
    /// Where the bytes are when not on the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_url: Option<String>,
    /// Where the preview is when not on the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview_url: Option<String>,
    /// Length of a video or sound in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<i64>,
    /// The file's name as its sender had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// The file's size in bytes as the platform told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<i64>,
    /// The pictures sent together with this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_set: Option<ImageSet>,
}

/// Pictures that were sent together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImageSet {
    /// The set.
    pub id: String,
    /// This picture's place in it, from 1; some clients leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// How many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
}

/// A sticker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sticker {
    /// The sticker set.
    pub package_id: String,
    /// The sticker in it.
    pub sticker_id: String,
    /// Static, animated, with sound …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// Words that describe it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// What its sender wrote on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A message's type on every surface (contract section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum MessageType {
    Text,
    Image,
    Video,
    Audio,
    File,
    Location,
    Sticker,
    Other,
}

impl MessageType {
    /// Every type there is.
    pub const ALL: [Self; 8] = [
        Self::Text,
        Self::Image,
        Self::Video,
        Self::Audio,
        Self::File,
        Self::Location,
        Self::Sticker,
        Self::Other,
    ];

    /// Its name on every surface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Video => "video",
            Self::Audio => "audio",
            Self::File => "file",
            Self::Location => "location",
            Self::Sticker => "sticker",
            Self::Other => "other",
        }
    }

    /// The type of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether messages of this type have bytes on the platform.
    pub const fn is_media(self) -> bool {
        matches!(self, Self::Image | Self::Video | Self::Audio | Self::File)
    }
}

impl Content {
    /// A plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), emojis: Vec::new(), mentions: Vec::new() }
    }

    /// Its type.
    pub const fn kind(&self) -> MessageType {
        match self {
            Self::Text { .. } => MessageType::Text,
            Self::Image(_) => MessageType::Image,
            Self::Video(_) => MessageType::Video,
            Self::Audio(_) => MessageType::Audio,
            Self::File(_) => MessageType::File,
            Self::Location { .. } => MessageType::Location,
            Self::Sticker(_) => MessageType::Sticker,
            Self::Other { .. } => MessageType::Other,
        }
    }

    /// The words a person would search it by: the text, a place's name and address, a file's
    /// name, what is written on a sticker.
    pub fn searchable(&self) -> Option<String> {
        match self {
            Self::Text { text, .. } => Some(text.clone()),
            Self::Location { title, address, .. } => {
                let words: Vec<_> = [title, address].into_iter().flatten().cloned().collect();
                (!words.is_empty()).then(|| words.join("\n"))
            }
            Self::Image(media) | Self::Video(media) | Self::Audio(media) | Self::File(media) => {
                media.file_name.clone()
            }
            Self::Sticker(sticker) => sticker.text.clone(),
            Self::Other { .. } => None,
        }
    }
}

/// Something that happened to a message.
#[derive(Clone, Debug)]
pub enum MessageChange {
    /// It was sent.
    Received(Received),
    /// Its content was replaced at that time.
    Edited {
        /// When.
        at: Timestamp,
        /// The new content as stored JSON.
        content: String,
    },
    /// It was taken back at that time.
    Unsent {
        /// When.
        at: Timestamp,
    },
}

/// A message as it is kept for the first time.
#[derive(Clone, Debug)]
pub struct Received {
    /// When it was sent.
    pub at: Timestamp,
    /// Who sent it, where the platform tells.
    pub sender: Option<UserId>,
    /// Its type.
    pub kind: MessageType,
    /// Its content as stored JSON.
    pub content: String,
    /// The message it quotes.
    pub quoted: Option<MessageId>,
    /// Whether the bot itself sent it.
    pub is_bot: bool,
}

/// Everything kept of one message.
///
/// The same changes in any order and any number end in the same state (architecture, rule 1;
/// property-tested below), with one exception by design: what arrives while backup is paused is
/// skipped for good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageState {
    /// When it was sent; `None` while only an edit or an unsend of it is known.
    pub sent_at: Option<Timestamp>,
    /// When anything of it was stored first. It decides which subscriptions it counts for.
    pub backed_up_at: Option<Timestamp>,
    /// Who sent it.
    pub sender: Option<UserId>,
    /// Its type.
    pub kind: Option<MessageType>,
    /// Its content as stored JSON; gone once it is unsent.
    pub content: Option<String>,
    /// The message it quotes.
    pub quoted: Option<MessageId>,
    /// Whether the bot sent it.
    pub is_bot: bool,
    /// When its present content was written, if it was edited.
    pub edited_at: Option<Timestamp>,
    /// When it was taken back.
    pub unsent_at: Option<Timestamp>,
    /// It came while backup was paused, so nothing of it is kept.
    pub skipped: bool,
}

/// What a change did to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it was known already.
    None,
    /// It changed what is kept.
    Changed,
    /// Backup is paused; only the fact is kept.
    Skipped,
}

impl MessageState {
    /// Applies one change. `paused` says whether backup of the channel is paused now: a message
    /// first heard of then is skipped.
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
            MessageChange::Edited { at, content } => self.edit(*at, content, now),
            MessageChange::Unsent { at } => self.unsend(*at),
        }
    }

    /// A skipped message still learns that it was unsent, so that the order does not matter.
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
            // Two edits in one millisecond: any fixed choice will do, so that order does not matter.
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

    /// What the message counts for, in bytes: the UTF-8 length of its stored content. An edit that
    /// waits for its message counts for nothing, for the message may never come.
    pub fn bytes(&self) -> i64 {
        let content = self.content.as_ref().filter(|_| self.sent_at.is_some());
        content.map_or(0, |content| i64::try_from(content.len()).unwrap_or(i64::MAX))
    }

    /// Whether it counts as a kept message: it was received and not taken back.
    pub fn counts(&self) -> bool {
        !self.skipped && self.sent_at.is_some() && self.unsent_at.is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
