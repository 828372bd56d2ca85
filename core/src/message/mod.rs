//! Messages: their content ([`Content`]) and the merging of all their changes into a state that
//! does not depend on the order of arrival ([`MessageState`]).

mod earlier;
mod mention;
mod spans;
mod state;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::named;

pub use earlier::{EarlierText, EarlierTexts};
pub use mention::Mention;
pub use state::{BackupMode, Effect, MessageChange, MessageState, Received};

/// Content of a message; stored as JSON. Its UTF-8 length is the size of the message in the quota
/// usage.
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
        /// Mentioned users.
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
    /// A location.
    Location {
        /// Name of the location.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Postal address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
        /// Degrees north.
        latitude: f64,
        /// Degrees east.
        longitude: f64,
    },
    /// A sticker.
    Sticker(Sticker),
    /// A message type that this version does not know, as received.
    Other {
        /// The platform's JSON of the message, as text.
        raw: String,
    },
}

/// The platform's own emoji inside a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Emoji {
    /// Start in the text, in UTF-16 units.
    pub index: u32,
    /// Length in the text, in UTF-16 units.
    pub length: u32,
    /// The emoji set.
    pub product_id: String,
    /// The emoji in the set.
    pub emoji_id: String,
}

/// Metadata of a media message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaInfo {
    /// Address of the file, if it is not on the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_url: Option<String>,
    /// Address of the preview, if it is not on the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview_url: Option<String>,
    /// Length of a video or sound in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<i64>,
    /// File name given by the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// File size in bytes, as reported by the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<i64>,
    /// Set of pictures that were sent together with this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_set: Option<ImageSet>,
}

/// A set of pictures that were sent together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSet {
    /// The set.
    pub id: String,
    /// Number of this picture in the set, from 1; some clients omit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Number of pictures in the set.
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
    /// Resource type: static, animated, with sound …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// Descriptive keywords.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Text that its sender wrote on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Type of a message, in every interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

named! {
    pub MessageType {
        Text = "text",
        Image = "image",
        Video = "video",
        Audio = "audio",
        File = "file",
        Location = "location",
        Sticker = "sticker",
        Other = "other",
    }
}

impl MessageType {
    /// Returns whether messages of this type have a file on the platform.
    pub const fn is_media(self) -> bool {
        matches!(self, Self::Image | Self::Video | Self::Audio | Self::File)
    }
}

impl Content {
    /// Creates a plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), emojis: Vec::new(), mentions: Vec::new() }
    }

    /// Returns its type.
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

    /// Returns the words of a text that its writer typed: without mentions, which hold names of people
    /// and bots, and without the platform's own emoji, which hold their names; trimmed. `None` for
    /// other types. Rules are matched against it.
    pub fn typed_words(&self) -> Option<Cow<'_, str>> {
        let Self::Text { text, emojis, mentions } = self else {
            return None;
        };
        let emojis = emojis.iter().map(|emoji| spans::of(emoji.index, emoji.length));
        let mentions = mentions.iter().map(|mention| spans::of(mention.start, mention.length));
        Some(spans::without(text, emojis.chain(mentions).collect()))
    }

    /// Returns the text that readers see: the searchable one, the keywords of a sticker without
    /// text, and the coordinates of a location; `None` where there is none.
    pub fn legible(&self) -> Option<String> {
        let words = match self {
            Self::Sticker(sticker) if sticker.text.is_none() => sticker.keywords.join(", "),
            Self::Location { latitude, longitude, .. } => {
                let place =
                    self.searchable().map_or_else(String::new, |place| format!("{place}\n"));
                format!("{place}{latitude},{longitude}")
            }
            other => other.searchable()?.into_owned(),
        };
        Some(words).filter(|words| !words.is_empty())
    }

    /// Returns the searchable text: the text, a location's name and address, a file's name, the
    /// text on a sticker.
    pub fn searchable(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text { text, .. } => Some(text.into()),
            Self::Location { title: Some(title), address: Some(address), .. } => {
                Some(format!("{title}\n{address}").into())
            }
            Self::Location { title, address, .. } => {
                title.as_deref().or(address.as_deref()).map(Cow::from)
            }
            Self::Image(media) | Self::Video(media) | Self::Audio(media) | Self::File(media) => {
                media.file_name.as_deref().map(Cow::from)
            }
            Self::Sticker(sticker) => sticker.text.as_deref().map(Cow::from),
            Self::Other { .. } => None,
        }
    }
}

#[cfg(test)]
mod edge_tests;
