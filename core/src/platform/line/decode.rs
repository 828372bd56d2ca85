//! LINE's event JSON turned into the domain's [`Event`] (Messaging API, "Webhook Event Objects").
//!
//! Lenient on purpose: a field that is missing or of another type costs that field, never the
//! event.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::{
    ChannelKind, ChannelRef, Envelope, Event, EventKind, IncomingMessage, ReplyToken,
};
use crate::id::{MessageId, UserId};
use crate::message::{Content, Emoji, ImageSet, MediaInfo, Mention, Sticker};
use crate::platform::DecodeError;
use crate::time::Timestamp;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineEvent<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    timestamp: Option<i64>,
    mode: Option<String>,
    reply_token: Option<String>,
    source: Option<Source>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    unsend: Option<Unsend>,
    joined: Option<Members>,
    left: Option<Members>,
}

#[derive(Deserialize)]
struct Source {
    #[serde(rename = "groupId")]
    group: Option<String>,
    #[serde(rename = "roomId")]
    room: Option<String>,
    #[serde(rename = "userId")]
    user: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unsend {
    message_id: MessageId,
}

#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    members: Vec<Source>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineMessage {
    id: MessageId,
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    #[serde(default)]
    emojis: Vec<Emoji>,
    mention: Option<LineMention>,
    quoted_message_id: Option<MessageId>,
    content_provider: Option<Provider>,
    duration: Option<i64>,
    file_name: Option<String>,
    file_size: Option<i64>,
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

/// The part of a message that is read when its fields have types that this version does not
/// expect: enough to keep it as it came.
#[derive(Deserialize)]
struct AnyMessage {
    id: MessageId,
}

#[derive(Deserialize)]
struct LineMention {
    #[serde(default)]
    mentionees: Vec<Mentionee>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mentionee {
    index: u32,
    length: u32,
    user_id: Option<UserId>,
    #[serde(default)]
    is_self: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Provider {
    original_content_url: Option<String>,
    preview_image_url: Option<String>,
}

/// Characters of a file's name, at most: four times what file systems take.
const MAX_FILE_NAME: usize = 1_000;

/// Turns an envelope into an event.
pub(in crate::platform) fn decode(envelope: Envelope) -> Result<Event, DecodeError> {
    let raw = without_nul(envelope.raw)?;
    let line = match serde_json::from_str::<LineEvent<'_>>(raw.get()) {
        Ok(line) => line,
        Err(error) => strange(raw.get()).ok_or(error)?,
    };
    let channel = line.source.as_ref().and_then(channel_of);
    let sender = line.source.as_ref().and_then(|source| source.user.clone()).map(UserId::new);
    let kind = kind_of(&line);
    Ok(Event {
        id: envelope.id,
        platform: envelope.platform,
        bot: envelope.bot,
        at: Timestamp::from_millis(line.timestamp.unwrap_or(envelope.received_at)),
        channel,
        sender,
        reply_token: line.reply_token.map(ReplyToken::new),
        active: line.mode.as_deref() != Some("standby"),
        kind,
        raw,
    })
}

/// PostgreSQL cannot hold U+0000 in a text, and no chat shows it.
fn without_nul(raw: Box<RawValue>) -> Result<Box<RawValue>, DecodeError> {
    if !raw.get().contains("\\u0000") {
        return Ok(raw);
    }
    // An escaped backslash before `u0000` is text, not U+0000; both become the same mark, which
    // keeps the JSON valid either way.
    Ok(RawValue::from_string(raw.get().replace("\\u0000", "\\ufffd"))?)
}

/// An object whose known fields have unknown types is an event of unknown type; anything but an
/// object is no event.
fn strange(raw: &str) -> Option<LineEvent<'static>> {
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(raw).ok()?;
    let kind = fields.get("type").and_then(serde_json::Value::as_str).unwrap_or_default();
    Some(LineEvent {
        kind: kind.to_owned(),
        timestamp: fields.get("timestamp").and_then(serde_json::Value::as_i64),
        mode: None,
        reply_token: None,
        source: None,
        message: None,
        unsend: None,
        joined: None,
        left: None,
    })
}

fn channel_of(source: &Source) -> Option<ChannelRef> {
    let (id, kind) = match (&source.group, &source.room, &source.user) {
        (Some(id), _, _) => (id, ChannelKind::Group),
        (None, Some(id), _) => (id, ChannelKind::Room),
        (None, None, Some(id)) => (id, ChannelKind::User),
        (None, None, None) => return None,
    };
    Some(ChannelRef { id: id.as_str().into(), kind })
}

fn kind_of(line: &LineEvent<'_>) -> EventKind {
    let other = || EventKind::Other(line.kind.clone());
    let members = |list: &Option<Members>| {
        list.as_ref()
            .map(|list| list.members.iter().filter_map(|m| m.user.clone()).map(UserId::new))
            .map(Iterator::collect::<Vec<_>>)
    };
    match line.kind.as_str() {
        "message" => line.message.and_then(message_of).map_or_else(other, EventKind::Message),
        "messageEdited" => line.message.and_then(message_of).map_or_else(other, EventKind::Edited),
        "unsend" => line
            .unsend
            .as_ref()
            .map_or_else(other, |unsend| EventKind::Unsent(unsend.message_id.clone())),
        "join" | "follow" => EventKind::BotJoined,
        "leave" | "unfollow" => EventKind::BotLeft,
        "memberJoined" => members(&line.joined).map_or_else(other, EventKind::MembersJoined),
        "memberLeft" => members(&line.left).map_or_else(other, EventKind::MembersLeft),
        _ => other(),
    }
}

fn message_of(raw: &RawValue) -> Option<IncomingMessage> {
    let as_it_came = || Content::Other { raw: raw.get().to_owned() };
    match serde_json::from_str::<LineMessage>(raw.get()) {
        Ok(message) => {
            let (id, quoted) = (message.id.clone(), message.quoted_message_id.clone());
            let content = content_of(message).unwrap_or_else(as_it_came);
            Some(IncomingMessage { id, content, quoted })
        }
        Err(_) => serde_json::from_str::<AnyMessage>(raw.get()).ok().map(|any| IncomingMessage {
            id: any.id,
            content: as_it_came(),
            quoted: None,
        }),
    }
}

/// `None` for a type that this version does not know.
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
        file_name: message.file_name.map(|name| name.chars().take(MAX_FILE_NAME).collect()),
        file_size: message.file_size,
        image_set: message.image_set,
    }
}

fn mentions(mention: LineMention) -> Vec<Mention> {
    let each = |m: Mentionee| Mention {
        user_id: m.user_id,
        start: m.index,
        length: m.length,
        is_self: m.is_self,
    };
    mention.mentionees.into_iter().map(each).collect()
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
