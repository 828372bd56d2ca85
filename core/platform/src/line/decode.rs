//! Decoding of LINE's event JSON into [`Event`] (Messaging API, "Webhook Event Objects").
//!
//! Lenient on purpose: a field that is missing or of another type costs that field, never the
//! event. Strict about its own identifier alone, and those of its message, its chat and its sender:
//! an event with an invalid one is not handled.

use std::borrow::Cow;

use chatkeep_core::event::{ChannelRef, Envelope, Event, EventKind, ReplyToken};
use chatkeep_core::id::{UntrustedId, UserId};
use chatkeep_core::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::{Fields, time_of};
use super::message::message_of;
use super::object::{Object, object, objects};
use super::source::{Chat, Source};
use super::storable::storable;
use crate::DecodeError;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineEvent<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    timestamp: Option<i64>,
    mode: Option<String>,
    reply_token: Option<UntrustedId>,
    #[serde(borrow)]
    delivery_context: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "object")]
    source: Option<Source>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "object")]
    unsend: Option<Unsend>,
    #[serde(default, deserialize_with = "object")]
    joined: Option<Members>,
    #[serde(default, deserialize_with = "object")]
    left: Option<Members>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unsend {
    message_id: UntrustedId,
}

#[derive(Deserialize)]
struct Members {
    #[serde(default, deserialize_with = "objects")]
    members: Vec<Source>,
}

impl Members {
    /// Reads a list of people, each by themselves; `None` if it is no list.
    fn by_field(fields: &Fields<'_>) -> Option<Self> {
        let people = fields.objects("members")?;
        let users = people.iter().map(|person| person.get("userId"));
        Some(Self { members: users.map(|user| Source { user, ..Source::default() }).collect() })
    }
}

/// Decodes an envelope into an event.
pub(crate) fn decode(envelope: Envelope) -> Result<Event, DecodeError> {
    let raw = mended(envelope.raw)?;
    let line = match serde_json::from_str::<Object<LineEvent<'_>>>(raw.get()) {
        Ok(Object(line)) => line,
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
        at: time_of(line.timestamp, envelope.received_at),
        received_at: Timestamp::from_millis(envelope.received_at),
        channel,
        sender: sender.map(|id| checked("source.userId", id)).transpose()?,
        // Without a valid token there is no reply, but everything else still works.
        reply_token: line.reply_token.and_then(|token| token.checked().ok()).map(token),
        redelivered: line.delivery_context.is_some_and(is_redelivery),
        active: line.mode.as_deref() != Some("standby"),
        kind,
        raw,
    })
}

fn mended(raw: Box<RawValue>) -> Result<Box<RawValue>, DecodeError> {
    match storable(raw.get()) {
        Cow::Borrowed(_) => Ok(raw),
        Cow::Owned(json) => Ok(RawValue::from_string(json)?),
    }
}

/// Reads an object of whose known fields some have unknown types: the others as far as they go.
/// Nobody answers it. Anything but an object is no event.
fn odd_event(raw: &str) -> Option<LineEvent<'_>> {
    let fields = Fields::of(raw)?;
    let unsend = fields.object("unsend").and_then(|unsend| unsend.id("messageId"));
    let members = |name| fields.object(name).and_then(|list| Members::by_field(&list));
    Some(LineEvent {
        kind: fields.get("type").unwrap_or_default(),
        timestamp: fields.get("timestamp"),
        mode: Some("standby".to_owned()),
        reply_token: None,
        delivery_context: fields.raw("deliveryContext"),
        source: Source::of(&fields),
        message: fields.raw("message"),
        unsend: unsend.map(|message_id| Unsend { message_id }),
        joined: members("joined"),
        left: members("left"),
    })
}

/// Returns an identifier, or the name of the field that holds an invalid one.
fn checked<T: From<String>>(field: &'static str, id: UntrustedId) -> Result<T, DecodeError> {
    id.checked().map_err(|why| DecodeError::Id { field, why })
}

/// Returns whether a delivery context says that LINE had sent the event before.
fn is_redelivery(context: &RawValue) -> bool {
    Fields::of(context.get()).and_then(|context| context.get("isRedelivery")).unwrap_or_default()
}

fn token(text: String) -> ReplyToken {
    ReplyToken::new(text)
}

fn channel_of(source: &Source) -> Result<Option<ChannelRef>, DecodeError> {
    let Some(Chat { field, id, kind }) = source.chat() else { return Ok(None) };
    Ok(Some(ChannelRef { id: checked(field, id.clone())?, kind }))
}

fn kind_of(line: &LineEvent<'_>, raw: &str) -> Result<EventKind, DecodeError> {
    let other = || EventKind::Other {
        name: line.kind.clone(),
        message: Fields::of(raw).and_then(|fields| fields.message()),
    };
    let message = || line.message.map_or(Ok(None), |message| message_of(message.get()));
    let people = |list: Option<&Members>| list.map(users);
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
        "memberJoined" => people(line.joined.as_ref()).map_or_else(other, EventKind::MembersJoined),
        "memberLeft" => people(line.left.as_ref()).map_or_else(other, EventKind::MembersLeft),
        _ => other(),
    })
}

/// Returns the people of a list. One without a valid id costs none of the others.
fn users(list: &Members) -> Vec<UserId> {
    let ids = list.members.iter().filter_map(|member| member.user.clone());
    ids.filter_map(|id| id.checked().ok()).collect()
}

#[cfg(test)]
#[path = "decode_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
#[path = "list_edge_tests.rs"]
mod list_edge_tests;

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
