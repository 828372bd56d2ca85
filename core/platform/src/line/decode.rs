//! Decoding of LINE's event JSON into [`Event`] (Messaging API, "Webhook Event Objects").
//!
//! Lenient on purpose: a field that is missing or of another type costs that field, never the
//! event. Strict about identifiers alone: an event with an invalid one is not handled.

use std::borrow::Cow;

use chatkeep_core::event::{
    ChannelKind, ChannelRef, Envelope, Event, EventKind, IncomingMessage, ReplyToken,
};
use chatkeep_core::id::{MessageId, UntrustedId, UserId};
use chatkeep_core::message::{Content, Emoji, ImageSet, MediaInfo, Mention, Sticker};
use chatkeep_core::text::prefix;
use chatkeep_core::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::Fields;
use super::source::Source;
use crate::DecodeError;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineEvent<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    timestamp: Option<i64>,
    mode: Option<String>,
    reply_token: Option<UntrustedId>,
    source: Option<Source>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    unsend: Option<Unsend>,
    joined: Option<Members>,
    left: Option<Members>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unsend {
    message_id: UntrustedId,
}

#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    members: Vec<Source>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineMessage {
    id: UntrustedId,
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<String>,
    #[serde(default)]
    emojis: Vec<Emoji>,
    mention: Option<LineMention>,
    quoted_message_id: Option<UntrustedId>,
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

/// Minimal fields of a message, read when its fields have types that this version does not expect:
/// enough to store it as received.
#[derive(Deserialize)]
struct AnyMessage {
    id: UntrustedId,
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
    user_id: Option<UntrustedId>,
    #[serde(default)]
    is_self: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Provider {
    original_content_url: Option<String>,
    preview_image_url: Option<String>,
}

/// Maximum length of a file name, in characters: four times the limit of file systems.
const MAX_FILE_NAME: usize = 1_000;

/// Decodes an envelope into an event.
pub(crate) fn decode(envelope: Envelope) -> Result<Event, DecodeError> {
    let raw = without_nul(envelope.raw)?;
    let line = match serde_json::from_str::<LineEvent<'_>>(raw.get()) {
        Ok(line) => line,
        Err(error) => odd_event(raw.get()).ok_or(error)?,
    };
    let channel = line.source.as_ref().map(channel_of).transpose()?.flatten();
    let sender = line.source.as_ref().and_then(|source| source.user.clone());
    let kind = kind_of(&line, raw.get())?;
    Ok(Event {
        // Checked by the ingress; an envelope on the bus may be of an older version.
        id: checked("webhookEventId", UntrustedId::new(envelope.id.into_string()))?,
        platform: envelope.platform,
        bot: envelope.bot,
        at: Timestamp::from_millis(line.timestamp.unwrap_or(envelope.received_at)),
        received_at: Timestamp::from_millis(envelope.received_at),
        channel,
        sender: sender.map(|id| checked("source.userId", id)).transpose()?,
        // Without a valid token there is no reply, but everything else still works.
        reply_token: line.reply_token.and_then(|token| token.checked().ok()).map(token),
        active: line.mode.as_deref() != Some("standby"),
        kind,
        raw,
    })
}

fn without_nul(raw: Box<RawValue>) -> Result<Box<RawValue>, DecodeError> {
    match storable(raw.get()) {
        Cow::Borrowed(_) => Ok(raw),
        Cow::Owned(json) => Ok(RawValue::from_string(json)?),
    }
}

/// Returns JSON without U+0000: PostgreSQL cannot hold it in a text, and no chat shows it.
pub(super) fn storable(json: &str) -> Cow<'_, str> {
    if !json.contains("\\u0000") {
        return Cow::Borrowed(json);
    }
    // An escaped backslash before `u0000` is text, not U+0000; both become the same mark, which
    // keeps the JSON valid either way.
    Cow::Owned(json.replace("\\u0000", "\\ufffd"))
}

/// Reads an object of whose known fields some have unknown types: the others as far as they go.
/// Nobody answers it. Anything but an object is no event.
fn odd_event(raw: &str) -> Option<LineEvent<'_>> {
    let fields = Fields::of(raw)?;
    let unsend = fields.object("unsend").and_then(|unsend| unsend.id("messageId"));
    Some(LineEvent {
        kind: fields.get("type").unwrap_or_default(),
        timestamp: fields.get("timestamp"),
        mode: Some("standby".to_owned()),
        reply_token: None,
        source: Source::of(&fields),
        message: fields.raw("message"),
        unsend: unsend.map(|message_id| Unsend { message_id }),
        joined: fields.get("joined"),
        left: fields.get("left"),
    })
}

/// Returns an identifier, or the name of the field that holds an invalid one.
fn checked<T: From<String>>(field: &'static str, id: UntrustedId) -> Result<T, DecodeError> {
    id.checked().map_err(|why| DecodeError::Id { field, why })
}

fn token(text: String) -> ReplyToken {
    ReplyToken::new(text)
}

fn channel_of(source: &Source) -> Result<Option<ChannelRef>, DecodeError> {
    let (field, id, kind) = match (&source.group, &source.room, &source.user) {
        (Some(id), _, _) => ("source.groupId", id, ChannelKind::Group),
        (None, Some(id), _) => ("source.roomId", id, ChannelKind::Room),
        (None, None, Some(id)) => ("source.userId", id, ChannelKind::User),
        (None, None, None) => return Ok(None),
    };
    Ok(Some(ChannelRef { id: checked(field, id.clone())?, kind }))
}

fn kind_of(line: &LineEvent<'_>, raw: &str) -> Result<EventKind, DecodeError> {
    let other = || EventKind::Other {
        name: line.kind.clone(),
        message: Fields::of(raw).and_then(|fields| fields.message()),
    };
    let message = || line.message.map(message_of).transpose().map(Option::flatten);
    Ok(match line.kind.as_str() {
        "message" => message()?.map_or_else(other, EventKind::Message),
        "messageEdited" => message()?.map_or_else(other, EventKind::Edited),
        "unsend" => match &line.unsend {
            Some(unsend) => {
                EventKind::Unsent(checked("unsend.messageId", unsend.message_id.clone())?)
            }
            None => other(),
        },
        "join" | "follow" => EventKind::BotJoined,
        "leave" | "unfollow" => EventKind::BotLeft,
        "memberJoined" => members(line.joined.as_ref(), "joined.members.userId")?
            .map_or_else(other, EventKind::MembersJoined),
        "memberLeft" => members(line.left.as_ref(), "left.members.userId")?
            .map_or_else(other, EventKind::MembersLeft),
        _ => other(),
    })
}

fn members(
    list: Option<&Members>,
    field: &'static str,
) -> Result<Option<Vec<UserId>>, DecodeError> {
    let each = |list: &Members| {
        let users = list.members.iter().filter_map(|member| member.user.clone());
        users.map(|id| checked(field, id)).collect()
    };
    list.map(each).transpose()
}

/// Returns `None` if it is no message.
fn message_of(raw: &RawValue) -> Result<Option<IncomingMessage>, DecodeError> {
    let as_it_came = || Content::Other { raw: raw.get().to_owned() };
    let Ok(message) = serde_json::from_str::<LineMessage>(raw.get()) else {
        let Ok(any) = serde_json::from_str::<AnyMessage>(raw.get()) else {
            return Ok(None);
        };
        let id = checked("message.id", any.id)?;
        return Ok(Some(IncomingMessage { id, content: as_it_came(), quoted: None }));
    };
    let id = checked("message.id", message.id.clone())?;
    let quoted = message.quoted_message_id.clone();
    let quoted =
        quoted.map(|id| checked::<MessageId>("message.quotedMessageId", id)).transpose()?;
    let content = content_of(message)?.unwrap_or_else(as_it_came);
    Ok(Some(IncomingMessage { id, content, quoted }))
}

/// Returns `None` for a type that this version does not know.
fn content_of(mut message: LineMessage) -> Result<Option<Content>, DecodeError> {
    let mentions = message.mention.take().map(mentions).transpose()?.unwrap_or_default();
    Ok(known_content(message, mentions))
}

fn known_content(message: LineMessage, mentions: Vec<Mention>) -> Option<Content> {
    Some(match message.kind.as_str() {
        "text" => Content::Text { text: message.text?, emojis: message.emojis, mentions },
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

fn mentions(mention: LineMention) -> Result<Vec<Mention>, DecodeError> {
    let each = |m: Mentionee| {
        let user_id = m.user_id.map(|id| checked::<UserId>("mention.userId", id)).transpose()?;
        Ok(Mention { user_id, start: m.index, length: m.length, is_self: m.is_self })
    };
    mention.mentionees.into_iter().map(each).collect()
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
