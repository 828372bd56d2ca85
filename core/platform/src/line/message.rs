//! Reading of LINE's messages (Messaging API, "Message event").
//!
//! Each field is read by itself where not all are as expected, and each element of a list: an odd one
//! costs itself alone. A message without what its type cannot do without, and one of an unknown
//! type, is kept as it came.

use chatkeep_core::event::IncomingMessage;
use chatkeep_core::id::UntrustedId;
use chatkeep_core::message::{Content, Emoji, ImageSet, MediaInfo, Mention, Sticker};
use chatkeep_core::text::prefix;
use serde::Deserialize;

use super::lenient::Fields;
use super::object::{Object, object, objects};
use crate::DecodeError;

/// Maximum length of a file name, in characters: four times the limit of file systems.
const MAX_FILE_NAME: usize = 1_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineMessage {
    id: UntrustedId,
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    #[serde(default, deserialize_with = "objects")]
    emojis: Vec<Emoji>,
    #[serde(default, deserialize_with = "object")]
    mention: Option<LineMention>,
    quoted_message_id: Option<UntrustedId>,
    #[serde(default, deserialize_with = "object")]
    content_provider: Option<Provider>,
    duration: Option<i64>,
    file_name: Option<String>,
    file_size: Option<i64>,
    #[serde(default, deserialize_with = "object")]
    image_set: Option<ImageSet>,
    title: Option<String>,
    address: Option<String>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    package_id: Option<String>,
    sticker_id: Option<String>,
    sticker_resource_type: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
}

#[derive(Deserialize)]
struct LineMention {
    #[serde(default, deserialize_with = "objects")]
    mentionees: Vec<Mentionee>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mentionee {
    index: u32,
    length: u32,
    user_id: Option<UntrustedId>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    is_self: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Provider {
    original_content_url: Option<String>,
    preview_image_url: Option<String>,
}

impl LineMessage {
    /// Reads a message; `None` if it is none, or names no id.
    fn of(json: &str) -> Option<Self> {
        // At once: that is the quick way, and nearly every message is as expected.
        let whole = serde_json::from_str(json).ok().map(|Object(message)| message);
        whole.or_else(|| Self::by_field(&Fields::of(json)?))
    }

    fn by_field(fields: &Fields<'_>) -> Option<Self> {
        let (mention, provider) = (fields.object("mention"), fields.object("contentProvider"));
        Some(Self {
            id: fields.id("id")?,
            kind: fields.get("type").unwrap_or_default(),
            text: fields.get("text"),
            emojis: emojis(fields),
            mention: mention.map(|mention| LineMention::by_field(&mention)),
            quoted_message_id: fields.id("quotedMessageId"),
            content_provider: provider.map(|provider| Provider::by_field(&provider)),
            duration: fields.get("duration"),
            file_name: fields.get("fileName"),
            file_size: fields.get("fileSize"),
            image_set: fields.object("imageSet").and_then(|set| image_set(&set)),
            title: fields.get("title"),
            address: fields.get("address"),
            latitude: fields.get("latitude"),
            longitude: fields.get("longitude"),
            package_id: fields.text_or_number("packageId"),
            sticker_id: fields.text_or_number("stickerId"),
            sticker_resource_type: fields.get("stickerResourceType"),
            keywords: fields.list("keywords").unwrap_or_default(),
        })
    }
}

impl LineMention {
    fn by_field(fields: &Fields<'_>) -> Self {
        let mentionees = fields.objects("mentionees").unwrap_or_default();
        Self { mentionees: mentionees.iter().filter_map(Mentionee::by_field).collect() }
    }
}

impl Mentionee {
    /// Reads a mention by field; `None` if it has no place in the text.
    fn by_field(fields: &Fields<'_>) -> Option<Self> {
        Some(Self {
            index: fields.get("index")?,
            length: fields.get("length")?,
            user_id: fields.get("userId"),
            kind: fields.get("type"),
            is_self: fields.get("isSelf").unwrap_or_default(),
        })
    }
}

impl Provider {
    fn by_field(fields: &Fields<'_>) -> Self {
        Self {
            original_content_url: fields.get("originalContentUrl"),
            preview_image_url: fields.get("previewImageUrl"),
        }
    }
}

/// Reads emoji, each by itself.
fn emojis(fields: &Fields<'_>) -> Vec<Emoji> {
    let emojis: Vec<Object<Emoji>> = fields.list("emojis").unwrap_or_default();
    emojis.into_iter().map(|Object(emoji)| emoji).collect()
}

/// Reads a set of pictures by field; `None` if it has no id, which is what pictures share.
fn image_set(fields: &Fields<'_>) -> Option<ImageSet> {
    Some(ImageSet {
        id: fields.text_or_number("id")?,
        index: fields.get("index"),
        total: fields.get("total"),
    })
}

/// Reads a message; `None` if it is none, or names no id.
pub(super) fn message_of(json: &str) -> Result<Option<IncomingMessage>, DecodeError> {
    let Some(mut message) = LineMessage::of(json) else { return Ok(None) };
    let refused = |why| DecodeError::Id { field: "message.id", why };
    let id = message.id.clone().checked().map_err(refused)?;
    let quoted = message.quoted_message_id.take().and_then(|id| id.checked().ok());
    let content = content_of(message).unwrap_or_else(|| Content::Other { raw: json.to_owned() });
    Ok(Some(IncomingMessage { id, content, quoted }))
}

/// Returns `None` for a type that this version does not know, and without a field that the type
/// cannot do without.
fn content_of(message: LineMessage) -> Option<Content> {
    Some(match message.kind.as_str() {
        "text" => Content::Text {
            text: message.text?,
            emojis: message.emojis,
            mentions: message.mention.map(mentions).unwrap_or_default(),
        },
        "image" => Content::Image(media(message)),
        "video" => Content::Video(media(message)),
        "audio" => Content::Audio(media(message)),
        "file" => Content::File(media(message)),
        "location" => Content::Location {
            title: message.title,
            address: message.address,
            latitude: message.latitude?,
            longitude: message.longitude?,
        },
        "sticker" => Content::Sticker(Sticker {
            package_id: message.package_id?,
            sticker_id: message.sticker_id?,
            resource_type: message.sticker_resource_type,
            keywords: message.keywords,
            text: message.text,
        }),
        _ => return None,
    })
}

fn media(message: LineMessage) -> MediaInfo {
    let (original_url, preview_url) = message
        .content_provider
        .map(|provider| (provider.original_content_url, provider.preview_image_url))
        .unwrap_or_default();
    MediaInfo {
        original_url,
        preview_url,
        duration: message.duration,
        file_name: message.file_name.map(|name| prefix(&name, MAX_FILE_NAME).to_owned()),
        file_size: message.file_size,
        image_set: message.image_set,
    }
}

/// Returns the mentions. One whose user has no valid id is that of somebody whose id is hidden.
fn mentions(mention: LineMention) -> Vec<Mention> {
    let each = |m: Mentionee| {
        let user_id = m.user_id.and_then(|id| id.checked().ok());
        let is_all = user_id.is_none().then(|| is_all(m.kind.as_deref())).flatten();
        Mention { user_id, start: m.index, length: m.length, is_self: m.is_self, is_all }
    };
    mention.mentionees.into_iter().map(each).collect()
}

/// Returns whether a mention of that type is of everybody, in whatever language it says so; `None`
/// for an unknown type.
fn is_all(kind: Option<&str>) -> Option<bool> {
    match kind? {
        "all" => Some(true),
        "user" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
