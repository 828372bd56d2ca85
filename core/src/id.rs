//! Identifiers, each a type of its own so that they cannot be confused.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of shards of the bus subjects (docs/architecture.md#scaling-out).
pub const SHARDS: u32 = 64;

/// Separator of a person's id and a bot's name in the id of their chat.
const CHAT_MARK: char = '~';
/// Maximum length of an external identifier, in bytes. The platforms' own are far shorter, and the
/// keys of PostgreSQL's indexes, which hold two of them, are limited to about 2,700.
pub const MAX_ID: usize = 255;

/// Reason for rejecting a text as an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It has more than [`MAX_ID`] bytes.
    #[error("it is longer than {MAX_ID} bytes")]
    TooLong,
    /// It holds a control character or U+FFFD, which stands for unreadable input.
    #[error("it contains a control character")]
    Control,
}

/// An identifier from an external source. It becomes one of the types below, or any other text,
/// only by a check of its length and characters.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct UntrustedId(String);

impl UntrustedId {
    /// Wraps an external text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the identifier if it is valid.
    ///
    /// # Errors
    /// Fails when it is empty, too long, or holds invalid characters.
    pub fn checked<T: From<String>>(self) -> Result<T, InvalidId> {
        if self.0.is_empty() {
            return Err(InvalidId::Empty);
        }
        if self.0.len() > MAX_ID {
            return Err(InvalidId::TooLong);
        }
        // U+FFFD stands for characters that were removed: two ids must not become one.
        if self.0.chars().any(|c| c.is_control() || c == '\u{fffd}') {
            return Err(InvalidId::Control);
        }
        Ok(self.0.into())
    }
}

/// Hides the text, which may be anything.
impl fmt::Debug for UntrustedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UntrustedId({} bytes)", self.0.len())
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps an identifier that is known to be valid; external input is an [`UntrustedId`]
            /// first.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// Returns the identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns the identifier as text, by value.
            pub fn into_string(self) -> String {
                self.0
            }
        }

        /// Allows lookups by plain text in maps keyed by it.
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }
    };
}

id! {
    /// ID of a chat: on LINE a group (`C…`), a room (`R…`) or a one-to-one chat (the person's
    /// `U…`).
    ChannelId
}
id! {
    /// ID of a person or bot on the platform.
    UserId
}
id! {
    /// ID of a message, unique within its channel.
    MessageId
}
id! {
    /// A webhook event: the deduplication key of redeliveries.
    EventId
}
id! {
    /// ID of a question-and-answer rule: `qa_<millis>_<suffix>`.
    RuleId
}
id! {
    /// Public ID of an API key; not the key itself.
    KeyId
}
id! {
    /// A session's public identifier (never the cookie's value).
    SessionId
}
id! {
    /// An outgoing webhook endpoint: `wh_…`.
    WebhookId
}
id! {
    /// A saved search: `ss_…`.
    SavedSearchId
}

impl ChannelId {
    /// Returns the shard of this channel's subjects, below [`SHARDS`]. The same in every process
    /// and version (FNV-1a).
    pub fn shard(&self) -> u32 {
        shard_of(self.as_str())
    }

    /// Returns the id of this person's 1:1 chat with `bot`, for while the plain id is their chat
    /// with another bot: `<id>~<bot>`. No platform has `~` in its ids.
    #[must_use]
    pub fn chat_with(&self, bot: &str) -> Self {
        Self(format!("{}{CHAT_MARK}{bot}", self.0))
    }

    /// Returns the platform's id of the chat: without the suffix of [`ChannelId::chat_with`].
    pub fn on_platform(&self) -> &str {
        self.0.split_once(CHAT_MARK).map_or(self.as_str(), |(id, _)| id)
    }

    /// Returns whether a platform could have issued it: LINE's ids begin with `C`, `R` or `U`,
    /// those of other platforms with the platform's name (`telegram:-100123`). It holds visible
    /// ASCII characters only.
    pub fn is_possible(&self) -> bool {
        let visible = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
        if let Some(rest) = self.0.strip_prefix(['C', 'R', 'U']) {
            return visible(rest);
        }
        self.0.split_once(':').is_some_and(|(platform, rest)| {
            let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            !platform.is_empty() && platform.chars().all(name) && visible(rest)
        })
    }

    /// Returns whether it is a platform's id: not one of [`ChannelId::chat_with`].
    pub fn is_plain(&self) -> bool {
        !self.0.contains(CHAT_MARK)
    }
}

/// Returns the shard of any text, for events that have no channel.
pub fn shard_of(text: &str) -> u32 {
    let hash = text
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash % SHARDS
}

#[cfg(test)]
#[path = "id_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_texts_without_controls_are_identifiers() {
        let check = |text: &str| UntrustedId::new(text).checked::<MessageId>();
        assert_eq!(check("telegram:-100123").unwrap().as_str(), "telegram:-100123");
        assert!(check(&"x".repeat(MAX_ID)).is_ok());
        assert_eq!(check(""), Err(InvalidId::Empty));
        assert_eq!(check(&"x".repeat(MAX_ID + 1)), Err(InvalidId::TooLong));
        for bad in ["a\0b", "a\nb", "\u{7f}", "\u{85}", "a\u{fffd}b"] {
            assert_eq!(check(bad), Err(InvalidId::Control), "{bad:?}");
        }
    }

    #[test]
    fn only_ids_that_a_platform_gives_are_possible() {
        for good in ["C0123", "R1", "U1~shop", "telegram:-100123"] {
            assert!(ChannelId::from(good).is_possible(), "{good}");
        }
        for bad in ["", "C", "c0123", "group", "C 1", "Cé", ":1", "telegram:", "Tele:1", "-:1"] {
            assert!(!ChannelId::from(bad).is_possible(), "{bad}");
        }
    }

    #[test]
    fn shards_stay_where_they_are() {
        // Changing these would send a channel's events to another worker during an upgrade.
        assert_eq!(shard_of(""), 0x811c_9dc5 % SHARDS);
        assert_eq!(ChannelId::from("C0123456789abcdef0123456789abcdef").shard(), 18);
    }

    #[test]
    fn a_chat_with_another_bot_has_an_id_of_its_own() {
        let (plain, other) = (ChannelId::from("U1"), ChannelId::from("U1").chat_with("shop"));
        assert_eq!(other.as_str(), "U1~shop");
        assert_eq!((plain.on_platform(), other.on_platform()), ("U1", "U1"));
        assert!(plain.is_plain() && !other.is_plain());
    }
}
