//! The calls that send messages: reply and push.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, response};
use serde_json::{Value, json};

use super::refusal::{Breaches, Refusal};
use super::{RequestId, rules};
use crate::log::Rule;
use crate::outbox::{Push, Pushed, Sent};
use crate::transcript::Change;
use crate::world::Chat;
use crate::{Emulator, lock};

const RETRY_KEY: &str = "x-line-retry-key";

pub(super) async fn reply(
    State(emulator): State<Emulator>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> response::Result<Response, Refusal> {
    let (body, _) = json_body(&headers, body)?;
    if headers.contains_key(RETRY_KEY) {
        return Err(Refusal::bad_request("X-Line-Retry-Key is not supported by this API")
            .because(Rule::RetryKeyOnReply, "reply with a retry key"));
    }
    let token = rules::required(&body, "replyToken", Rule::ReplyTokenKnown)?;
    let messages = rules::messages(&body)?;
    let sent = lock(&emulator.shared.world).reply(token, messages);
    let (sent, changes) = sent.map_err(refused_reply)?;
    emulator.announce_all(changes);
    Ok(accepted(&sent))
}

pub(super) async fn push(
    State(emulator): State<Emulator>,
    Extension(RequestId(request_id)): Extension<RequestId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let (body, raw) = json_body(&headers, body)?;
    let retry_key = retry_key(&headers)?;
    let to = rules::required(&body, "to", Rule::IdForm)?;
    let messages = rules::messages(&body)?;
    if emulator.account().is_used_up() {
        return Err(Refusal::monthly_limit());
    }
    let (request_id, raw) = (request_id.as_str(), raw.as_ref());
    let push = Push { to, messages, retry_key, body: raw, request_id };
    let pushed = lock(&emulator.shared.world).push(push);
    match pushed.map_err(refused_push)? {
        Pushed::Sent(sent, changes) => {
            let members = |chat: &Chat| chat.members.len() as u64;
            let recipients = lock(&emulator.shared.world).chats.get(to).map_or(1, members);
            emulator.set_up(|account| account.pushed += recipients);
            emulator.announce_all(changes);
            Ok(accepted(&sent))
        }
        Pushed::Repeated { request_id, sent, same } => Ok(repeated(&request_id, &sent, same)),
    }
}

impl Emulator {
    fn announce_all(&self, changes: Vec<Change>) {
        for change in changes {
            self.shared.announce(change);
        }
    }
}

fn accepted(sent: &[Sent]) -> Response {
    Json(json!({ "sentMessages": sent })).into_response()
}

/// Returns the response for a retry key that was accepted before.
fn repeated(request_id: &str, sent: &[Sent], same: bool) -> Response {
    let body = json!({ "message": "The retry key is already accepted", "sentMessages": sent });
    let mut response = (StatusCode::CONFLICT, Json(body)).into_response();
    if let Ok(id) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert("x-line-accepted-request-id", id);
    }
    if !same {
        // LINE does not compare bodies: the second message would be lost without a sign.
        let breach = (Rule::RetryKeySameRequest, "another request under a used key".to_owned());
        response.extensions_mut().insert(Breaches(vec![breach]));
    }
    response
}

fn refused_reply(rule: Rule) -> Refusal {
    match rule {
        Rule::QuoteToken => Refusal::bad_request("Invalid quote token"),
        Rule::BotInChat => Refusal::bad_request("Failed to send messages"),
        _ => Refusal::bad_request("Invalid reply token"),
    }
    .because(rule, "reply")
}

fn refused_push(rule: Rule) -> Refusal {
    match rule {
        Rule::QuoteToken => Refusal::bad_request("Invalid quote token"),
        _ => Refusal::bad_request("Failed to send messages"),
    }
    .because(rule, "push")
}

/// Returns the retry key, which must be a UUID.
fn retry_key(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let Some(value) = headers.get(RETRY_KEY) else {
        return Ok(None);
    };
    let key = value.to_str().ok().filter(|key| is_uuid(key));
    key.map(Some).ok_or_else(|| {
        Refusal::bad_request("Invalid retry key").because(Rule::RetryKeyForm, "not a UUID")
    })
}

fn is_uuid(text: &str) -> bool {
    let fits = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

/// Returns the body as JSON and as raw bytes.
fn json_body(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(Value, Bytes), Refusal> {
    let raw = body.map_err(|rejection| {
        Refusal::new(rejection.status(), "Request Entity Too Large")
            .because(Rule::Body, "too large")
    })?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.unwrap_or_default();
    if !kind.to_ascii_lowercase().starts_with("application/json") {
        let message = format!("The content type, {kind}, is not supported");
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
            .because(Rule::Body, "content type"));
    }
    let parsed = serde_json::from_slice(&raw).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let place = format!("(line: {line}, column: {column})");
        Refusal::bad_request(format!("The request body could not be parsed as JSON {place}"))
            .because(Rule::Body, format!("no JSON {place}"))
    })?;
    Ok((parsed, raw))
}
