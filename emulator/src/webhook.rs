//! Webhook bodies in LINE's form, and their signature.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value, json};
use sha2::Sha256;

/// One webhook event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// `webhookEventId` of the event.
    pub id: String,
    /// Chat of the event.
    pub chat_id: String,
    /// ID of the message that is sent, edited or unsent.
    pub message_id: Option<String>,
    /// The reply token, where the event has one.
    pub reply_token: Option<String>,
    /// The event object, marked as a first delivery.
    pub json: Value,
}

/// Events that travel in one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    /// The bot's user id.
    pub destination: String,
    /// The events; none for LINE's connection check.
    pub events: Vec<Event>,
}

/// A body and what `X-Line-Signature` says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The raw body.
    pub body: Bytes,
    /// The signature in base64.
    pub signature: String,
}

impl Webhook {
    /// Serializes and signs the body; `redelivery` is the value of `isRedelivery` in every event.
    pub fn sign(&self, channel_secret: &str, redelivery: bool) -> Signed {
        let events: Vec<Value> = self.events.iter().map(|e| e.delivered(redelivery)).collect();
        let body = json!({ "destination": self.destination, "events": events });
        Signed::new(channel_secret, body.to_string())
    }

    /// Returns the IDs of its events.
    pub fn event_ids(&self) -> Vec<String> {
        self.events.iter().map(|event| event.id.clone()).collect()
    }
}

impl Event {
    fn delivered(&self, redelivery: bool) -> Value {
        let mut json = self.json.clone();
        if let Some(fields) = json.as_object_mut() {
            fields.insert("deliveryContext".to_owned(), json!({ "isRedelivery": redelivery }));
        }
        json
    }
}

impl Signed {
    /// Signs any body, also one that is no webhook.
    pub fn new(channel_secret: &str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let signature = signature(channel_secret, &body);
        Self { body, signature }
    }
}

/// Base64 of the HMAC-SHA256 of the raw body under the channel secret.
pub fn signature(channel_secret: &str, body: &[u8]) -> String {
    // HMAC accepts keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(channel_secret.as_bytes()) else {
        return String::new();
    };
    mac.update(body);
    BASE64_STANDARD.encode(mac.finalize().into_bytes())
}

/// Fields of an event object besides the common ones.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) kind: &'a str,
    pub(super) chat_id: &'a str,
    /// The person the source names, where it names one.
    pub(super) user_id: Option<&'a str>,
    pub(super) message_id: Option<&'a str>,
    pub(super) fields: Map<String, Value>,
}

impl Draft<'_> {
    /// Builds the event at `timestamp` (milliseconds since the Unix epoch).
    pub(super) fn finish(
        self,
        id: String,
        timestamp: i64,
        token: Option<String>,
        standby: bool,
    ) -> Event {
        let mut json = self.fields;
        json.insert("type".to_owned(), self.kind.into());
        json.insert("timestamp".to_owned(), timestamp.into());
        json.insert("mode".to_owned(), if standby { "standby" } else { "active" }.into());
        json.insert("webhookEventId".to_owned(), id.as_str().into());
        json.insert("deliveryContext".to_owned(), json!({ "isRedelivery": false }));
        json.insert("source".to_owned(), source(self.chat_id, self.user_id));
        if let Some(token) = &token {
            json.insert("replyToken".to_owned(), token.as_str().into());
        }
        Event {
            id,
            chat_id: self.chat_id.to_owned(),
            message_id: self.message_id.map(str::to_owned),
            reply_token: token,
            json: Value::Object(json),
        }
    }
}

/// Returns a source object: the chat and, where known, the person.
fn source(chat_id: &str, user_id: Option<&str>) -> Value {
    let mut source = match chat_id.as_bytes().first() {
        Some(b'C') => json!({ "type": "group", "groupId": chat_id }),
        Some(b'R') => json!({ "type": "room", "roomId": chat_id }),
        _ => json!({ "type": "user", "userId": chat_id }),
    };
    if let Some(user_id) = user_id {
        source["userId"] = user_id.into();
    }
    source
}

/// Returns the fields of a JSON object.
pub(super) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
