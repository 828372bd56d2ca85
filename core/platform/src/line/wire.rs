//! Request and response bodies of the Messaging API, as far as they are used here.

use chatkeep_core::id::UntrustedId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An outgoing text message.
#[derive(Serialize)]
pub(super) struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReplyRequest<'a> {
    pub(super) reply_token: &'a str,
    pub(super) messages: Vec<Text<'a>>,
}

#[derive(Serialize)]
pub(super) struct PushRequest<'a> {
    pub(super) to: &'a str,
    pub(super) messages: Vec<Text<'a>>,
}

/// Response to both.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Sent {
    pub(super) sent_messages: Vec<SentMessage>,
}

#[derive(Deserialize)]
pub(super) struct SentMessage {
    pub(super) id: UntrustedId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineProfile {
    pub(super) display_name: String,
    pub(super) picture_url: Option<String>,
    pub(super) language: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineGroup {
    pub(super) group_name: Option<String>,
    pub(super) picture_url: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct MemberCount {
    pub(super) count: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineBot {
    pub(super) user_id: UntrustedId,
    pub(super) display_name: String,
    pub(super) picture_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineAccount {
    pub(super) user_id: UntrustedId,
    pub(super) display_name: String,
    pub(super) chat_mode: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct LineEndpoint {
    pub(super) endpoint: String,
    pub(super) active: bool,
}

#[derive(Serialize)]
pub(super) struct EndpointRequest<'a> {
    pub(super) endpoint: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineTest {
    #[serde(default)]
    pub(super) success: bool,
    pub(super) status_code: i32,
    #[serde(default)]
    pub(super) reason: String,
    #[serde(default)]
    pub(super) detail: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineQuota {
    /// Absent where there is no limit.
    pub(super) value: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineConsumption {
    pub(super) total_usage: u64,
}

/// Response to the verification of an access token.
#[derive(Deserialize)]
pub(super) struct LineToken {
    pub(super) client_id: String,
    pub(super) expires_in: u64,
}

#[derive(Deserialize)]
pub(super) struct Transcoding {
    pub(super) status: String,
}

/// An error response.
#[derive(Default, Deserialize)]
pub(super) struct Refusal {
    #[serde(default)]
    pub(super) message: String,
    /// List of fields of the request, with what is wrong with each.
    #[serde(default)]
    pub(super) details: Value,
}

pub(super) fn texts(texts: &[String]) -> Vec<Text<'_>> {
    texts.iter().map(|text| Text { kind: "text", text }).collect()
}
