//! Messages: what they say ([`Content`]) and how everything that happens to one comes together
//! into a state that does not depend on the order of arrival ([`MessageState`]).

mod state;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::id::UserId;
pub use state::{Effect, MessageChange, MessageState, Received};

/// What a message says; stored as JSON. Its UTF-8 length is what the message counts for in the
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

/// Somebody mentioned in a text.
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
    #[schema(required)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// A message's type on every surface.
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
