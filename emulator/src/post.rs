//! Content that a person can send, and LINE's message object for it.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::action::ActError;

/// A message of a person.
#[derive(Clone, Debug)]
pub enum Post {
    /// A text.
    Text(Text),
    /// An image.
    Image(Media),
    /// A video of that length in milliseconds.
    Video(Media, i64),
    /// A recording of that length in milliseconds.
    Audio(Media, i64),
    /// A file of that name.
    File(Media, String),
    /// A sticker.
    Sticker(Sticker),
    /// Location.
    Location(Location),
    /// Message of an unknown type: its type and its other fields.
    Unknown(String, Map<String, Value>),
}

/// Text with mentions and emoji.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The text itself.
    pub text: String,
    /// The id of the message it quotes.
    pub quoted: Option<String>,
    /// Mentions, in the order of the text.
    pub mentions: Vec<Mention>,
    /// LINE emoji, in the order of the text.
    pub emojis: Vec<Emoji>,
}

/// A mention.
#[derive(Clone, Debug)]
pub struct Mention {
    /// The mention as in the text, like `@Ann`.
    pub literal: String,
    /// Target of the mention.
    pub target: MentionTarget,
}

/// Whom a mention means.
#[derive(Clone, Debug)]
pub enum MentionTarget {
    /// The person of that user id.
    User(String),
    /// The bot.
    Bot,
    /// Everybody in the chat.
    All,
}

/// An emoji of LINE's.
#[derive(Clone, Debug)]
pub struct Emoji {
    /// The placeholder as in the text, like `(hello)`.
    pub literal: String,
    /// The set it is of.
    pub product_id: String,
    /// ID in the set.
    pub emoji_id: String,
}

/// A sticker.
#[derive(Clone, Debug)]
pub struct Sticker {
    /// The package it is of.
    pub package_id: String,
    /// ID in the package.
    pub sticker_id: String,
    /// `STATIC`, `ANIMATION`, …
    pub resource_type: String,
    /// Keywords of the sticker.
    pub keywords: Vec<String>,
    /// The id of the message it quotes.
    pub quoted: Option<String>,
}

/// Location.
#[derive(Clone, Debug)]
pub struct Location {
    /// Name.
    pub title: Option<String>,
    /// Address.
    pub address: Option<String>,
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

/// The bytes of an image, video, recording or file.
#[derive(Clone, Debug)]
pub struct Media {
    /// Bytes of the content endpoint.
    pub bytes: Bytes,
    /// Media type (`Content-Type`).
    pub content_type: String,
    /// Bytes of the preview endpoint (`image/jpeg`); the content itself when `None`.
    pub preview: Option<Bytes>,
    /// Availability on LINE.
    pub state: MediaState,
    /// Addresses (content, preview) of content that LINE does not host.
    pub external: Option<(String, String)>,
}

/// Availability of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaState {
    /// Available at once.
    Ready,
    /// In preparation until that many milliseconds after sending.
    ReadyAfter(i64),
    /// Preparing it failed.
    Failed,
    /// Expired.
    Expired,
}

impl Media {
    /// Content that is there from the start.
    pub fn new(content_type: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            content_type: content_type.into(),
            preview: None,
            state: MediaState::Ready,
            external: None,
        }
    }

    fn provider(&self) -> Value {
        match &self.external {
            None => json!({ "type": "line" }),
            Some((original, preview)) => json!({
                "type": "external", "originalContentUrl": original, "previewImageUrl": preview
            }),
        }
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Text {
    /// Creates a text that quotes the message of that ID.
    #[must_use]
    pub fn quoting(mut self, message_id: impl Into<String>) -> Self {
        self.quoted = Some(message_id.into());
        self
    }

    /// Creates a text in which `literal` mentions a person.
    #[must_use]
    pub fn mentioning(mut self, literal: impl Into<String>, target: MentionTarget) -> Self {
        self.mentions.push(Mention { literal: literal.into(), target });
        self
    }

    fn object(&self, bot_id: &str) -> Result<Value, ActError> {
        let mut object = json!({ "type": "text", "text": self.text });
        if !self.mentions.is_empty() {
            let mentionees = self.mentionees(bot_id)?;
            object["mention"] = json!({ "mentionees": mentionees });
        }
        if !self.emojis.is_empty() {
            object["emojis"] = self.emoji_objects()?.into();
        }
        Ok(object)
    }

    fn mentionees(&self, bot_id: &str) -> Result<Vec<Value>, ActError> {
        let places = places(&self.text, self.mentions.iter().map(|m| m.literal.as_str()))?;
        let each = |(mention, (index, length)): (&Mention, _)| match &mention.target {
            MentionTarget::All => json!({ "type": "all", "index": index, "length": length }),
            MentionTarget::User(id) => json!({
                "type": "user", "index": index, "length": length, "userId": id, "isSelf": false
            }),
            MentionTarget::Bot => json!({
                "type": "user", "index": index, "length": length, "userId": bot_id, "isSelf": true
            }),
        };
        Ok(self.mentions.iter().zip(places).map(each).collect())
    }

    fn emoji_objects(&self) -> Result<Vec<Value>, ActError> {
        let places = places(&self.text, self.emojis.iter().map(|e| e.literal.as_str()))?;
        let each = |(emoji, (index, length)): (&Emoji, _)| {
            json!({
                "index": index, "length": length,
                "productId": emoji.product_id, "emojiId": emoji.emoji_id
            })
        };
        Ok(self.emojis.iter().zip(places).map(each).collect())
    }
}

/// Returns the position of each literal: index and length in UTF-16 units, as LINE counts. Each
/// literal is searched after the one before it.
fn places<'a>(
    text: &str,
    literals: impl Iterator<Item = &'a str>,
) -> Result<Vec<(usize, usize)>, ActError> {
    let units = |text: &str| text.encode_utf16().count();
    let mut from = 0;
    let place = |literal: &str| {
        let found = text[from..].find(literal).filter(|_| !literal.is_empty());
        let start = from + found.ok_or_else(|| ActError::NotInText(literal.to_owned()))?;
        from = start + literal.len();
        Ok((units(&text[..start]), units(literal)))
    };
    literals.map(place).collect()
}

impl Post {
    /// Returns the message object, without its ID and tokens.
    pub(super) fn object(&self, bot_id: &str) -> Result<Value, ActError> {
        Ok(match self {
            Self::Text(text) => text.object(bot_id)?,
            Self::Image(media) => json!({ "type": "image", "contentProvider": media.provider() }),
            Self::Video(media, duration) => json!({
                "type": "video", "duration": duration, "contentProvider": media.provider()
            }),
            Self::Audio(media, duration) => json!({
                "type": "audio", "duration": duration, "contentProvider": media.provider()
            }),
            Self::File(media, name) => {
                json!({ "type": "file", "fileName": name, "fileSize": media.bytes.len() })
            }
            Self::Sticker(sticker) => json!({
                "type": "sticker", "packageId": sticker.package_id, "stickerId": sticker.sticker_id,
                "stickerResourceType": sticker.resource_type, "keywords": sticker.keywords
            }),
            Self::Location(place) => place.object(),
            Self::Unknown(kind, fields) => {
                let mut object = Value::Object(fields.clone());
                object["type"] = kind.as_str().into();
                object
            }
        })
    }

    /// Returns the ID of the quoted message.
    pub(super) fn quoted(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.quoted.as_deref(),
            Self::Sticker(sticker) => sticker.quoted.as_deref(),
            _ => None,
        }
    }

    /// Returns true when messages of this type can be quoted and have a quote token.
    pub(super) fn is_quotable(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Image(_) | Self::Video(..) | Self::Sticker(_))
    }

    pub(super) fn media(&self) -> Option<&Media> {
        match self {
            Self::Image(media)
            | Self::Video(media, _)
            | Self::Audio(media, _)
            | Self::File(media, _) => Some(media),
            _ => None,
        }
    }
}

impl Location {
    fn object(&self) -> Value {
        let mut object = json!({
            "type": "location", "latitude": self.latitude, "longitude": self.longitude
        });
        for (name, value) in [("title", &self.title), ("address", &self.address)] {
            if let Some(value) = value {
                object[name] = value.as_str().into();
            }
        }
        object
    }
}
