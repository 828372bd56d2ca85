//! Endpoints about the channel itself: its webhook, its quota and its access tokens.

use std::collections::BTreeMap;

use axum::extract::rejection::{FormRejection, JsonRejection};
use axum::extract::{Query, State};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::{Form, Json};
use chrono::{DateTime, SecondsFormat};
use serde::Deserialize;
use serde_json::{Value, json};

use super::refusal::Refusal;
use crate::Emulator;
use crate::account::TokenKind;
use crate::deliver::Failed;
use crate::log::Rule;
use crate::webhook::Webhook;

/// Maximum length of a webhook address.
const MAX_ADDRESS: usize = 500;
/// Seconds until a long-lived access token expires, as LINE reports it.
const LONG_LIVED: u64 = 3_138_007_490;
/// Seconds until a stateless access token expires.
const STATELESS: u64 = 899;

type Fields = BTreeMap<String, String>;

/// Address in the body of a request.
#[derive(Default, Deserialize)]
pub(super) struct Endpoint {
    endpoint: Option<String>,
}

pub(super) async fn webhook(State(emulator): State<Emulator>) -> Result<Json<Value>, Refusal> {
    let endpoint = emulator.webhook_url().ok_or_else(Refusal::not_found)?;
    Ok(Json(json!({ "endpoint": endpoint, "active": emulator.account().use_webhook })))
}

pub(super) async fn set_webhook(
    State(emulator): State<Emulator>,
    body: Result<Json<Endpoint>, JsonRejection>,
) -> Result<Json<Value>, Refusal> {
    let address = body.ok().and_then(|Json(body)| body.endpoint).unwrap_or_default();
    check_address(&address)?;
    emulator.set_webhook_url(Some(address));
    Ok(Json(json!({})))
}

/// Sends a webhook without events, as LINE does to check a connection.
pub(super) async fn test_webhook(
    State(emulator): State<Emulator>,
    body: Result<Json<Endpoint>, JsonRejection>,
) -> Result<Json<Value>, Refusal> {
    let given = body.ok().and_then(|Json(body)| body.endpoint);
    let address = given.or_else(|| emulator.webhook_url()).ok_or_else(Refusal::not_found)?;
    check_address(&address)?;
    let webhook = Webhook { destination: emulator.bot().user_id, events: Vec::new() };
    let signed = webhook.sign(&emulator.shared.channel_secret, false);
    let sent = emulator.post_to(&address, signed.body, Some(&signed.signature)).await;
    let (status, reason, detail) = match sent {
        Ok(status) if (200..300).contains(&status) => (i32::from(status), "OK", status.to_string()),
        Ok(status) => (i32::from(status), "ERROR_STATUS_CODE", status.to_string()),
        Err(Failed::Timeout) => (0, "REQUEST_TIMEOUT", "Request timeout".to_owned()),
        Err(Failed::Connection) => (0, "COULD_NOT_CONNECT", "Connection failed".to_owned()),
    };
    Ok(Json(json!({
        "success": reason == "OK",
        "timestamp": timestamp(emulator.now()),
        "statusCode": status,
        "reason": reason,
        "detail": detail,
    })))
}

pub(super) async fn quota(State(emulator): State<Emulator>) -> Json<Value> {
    Json(match emulator.account().quota {
        Some(quota) => json!({ "type": "limited", "value": quota }),
        None => json!({ "type": "none" }),
    })
}

pub(super) async fn consumption(State(emulator): State<Emulator>) -> Json<Value> {
    Json(json!({ "totalUsage": emulator.account().pushed }))
}

/// Verifies a short-lived or long-lived access token.
pub(super) async fn verify(
    State(emulator): State<Emulator>,
    form: Result<Form<Fields>, FormRejection>,
) -> Response {
    let fields = form.map(|Form(fields)| fields).unwrap_or_default();
    let expires_in = (emulator.account().token == TokenKind::LongLived).then_some(LONG_LIVED);
    verified(&emulator, &fields, expires_in)
}

/// Verifies an access token with a user-specified expiration.
pub(super) async fn verify_expiring(
    State(emulator): State<Emulator>,
    Query(fields): Query<Fields>,
) -> Response {
    let expires_in = match emulator.account().token {
        TokenKind::Expiring(seconds) => Some(seconds),
        TokenKind::LongLived | TokenKind::Stateless => None,
    };
    verified(&emulator, &fields, expires_in)
}

/// Issues a stateless access token to whoever knows the channel secret.
pub(super) async fn issue(
    State(emulator): State<Emulator>,
    form: Result<Form<Fields>, FormRejection>,
) -> Response {
    let fields = form.map(|Form(fields)| fields).unwrap_or_default();
    let given = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
    if given("grant_type") != "client_credentials" {
        return oauth_error("unsupported_grant_type", "unsupported grant_type");
    }
    if given("client_id") != emulator.account().channel_id {
        return oauth_error("invalid_client", "invalid client_id");
    }
    if given("client_secret") != emulator.shared.channel_secret {
        return oauth_error("invalid_client", "invalid client_secret");
    }
    let token = json!({
        "token_type": "Bearer", "access_token": "emulator-stateless-token", "expires_in": STATELESS,
    });
    Json(token).into_response()
}

/// Answers about an access token; `expires_in` only for one of the kind that is verified here.
fn verified(emulator: &Emulator, fields: &Fields, expires_in: Option<u64>) -> Response {
    let is_ours = fields.get("access_token") == Some(&emulator.shared.access_token);
    let Some(expires_in) = expires_in.filter(|_| is_ours) else {
        return oauth_error("invalid_request", "invalid access token");
    };
    let channel = emulator.account().channel_id;
    Json(json!({ "client_id": channel, "expires_in": expires_in, "scope": "P CM" })).into_response()
}

fn oauth_error(error: &str, description: &str) -> Response {
    let body = json!({ "error": error, "error_description": description });
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

/// Refuses what is no address for webhooks: LINE wants HTTPS. Services beside an emulator have no
/// certificate, so plain HTTP is accepted on this machine.
fn check_address(address: &str) -> Result<(), Refusal> {
    let near = ["http://127.0.0.1:", "http://localhost:", "http://[::1]:"];
    let secure = address.len() > "https://".len() && address.starts_with("https://");
    if address.len() <= MAX_ADDRESS && (secure || near.iter().any(|it| address.starts_with(it))) {
        return Ok(());
    }
    Err(Refusal::bad_request("Invalid webhook endpoint URL")
        .because(Rule::WebhookAddress, "not an address for webhooks"))
}

/// Returns the time of the API as a `Date` header.
pub(super) fn date(emulator: &Emulator) -> Option<HeaderValue> {
    let ahead = emulator.account().clock_ahead.saturating_mul(1_000);
    let now = DateTime::from_timestamp_millis(emulator.now().saturating_add(ahead))?;
    HeaderValue::from_str(&now.format("%a, %d %b %Y %H:%M:%S GMT").to_string()).ok()
}

/// Formats a time of the clock in the form of RFC 3339.
fn timestamp(millis: i64) -> String {
    let time = DateTime::from_timestamp_millis(millis).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}
