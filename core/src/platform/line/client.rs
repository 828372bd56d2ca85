//! Calls to LINE's Messaging API.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{RequestBuilder, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::decode::decode;
use crate::event::{ChannelKind, ChannelRef, Envelope, Event, ReplyToken};
use crate::http::bounded_body;
use crate::id::{MessageId, UserId};
use crate::platform::{
    BotInfo, BoxFuture, ChannelSummary, DecodeError, Platform, PlatformError, Profile,
};

/// Where and as whom to call.
#[derive(Clone, Debug)]
pub struct LineApi {
    /// `https://api.line.me`, or an emulator's.
    pub api_base: String,
    /// The channel access token.
    pub access_token: SecretString,
}

/// One LINE bot.
#[derive(Clone, Debug)]
pub struct LineClient {
    api: LineApi,
    http: reqwest::Client,
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reply<'a> {
    reply_token: &'a str,
    messages: Vec<Text<'a>>,
}

#[derive(Serialize)]
struct Push<'a> {
    to: &'a str,
    messages: Vec<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Sent {
    sent_messages: Vec<SentMessage>,
}

#[derive(Deserialize)]
struct SentMessage {
    id: MessageId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineProfile {
    display_name: String,
    picture_url: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineGroup {
    group_name: Option<String>,
    picture_url: Option<String>,
}

#[derive(Deserialize)]
struct Count {
    count: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineBot {
    user_id: UserId,
    display_name: String,
    picture_url: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    message: String,
}

impl LineClient {
    /// A client that calls `api` through `http` (made by [`crate::http::client`]).
    pub fn new(api: LineApi, http: reqwest::Client) -> Self {
        Self { api, http }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.api.api_base.trim_end_matches('/'))
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, PlatformError> {
        let body = self.call(self.http.get(self.url(path))).await?;
        serde_json::from_slice(&body).map_err(|_| PlatformError::Unknown(None))
    }

    async fn send<T: Serialize + Sync>(
        &self,
        path: &str,
        body: &T,
        retry_key: Option<&str>,
    ) -> Result<Vec<MessageId>, PlatformError> {
        let mut request = self.http.post(self.url(path)).json(body);
        if let Some(key) = retry_key {
            request = request.header("X-Line-Retry-Key", key);
        }
        let answer = self.call(request).await?;
        // The messages are out; ids that cannot be read are no reason to say otherwise.
        let sent: Sent = serde_json::from_slice(&answer).unwrap_or_default();
        Ok(sent.sent_messages.into_iter().map(|message| message.id).collect())
    }

    async fn call(&self, request: RequestBuilder) -> Result<Vec<u8>, PlatformError> {
        let token = self.api.access_token.expose_secret();
        let answer = request.bearer_auth(token).send().await.map_err(failed)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = bounded_body(answer).await.map_err(|e| PlatformError::Unknown(Some(hide(e))))?;
        // 409: this retry key was accepted before; the body is that of the first time.
        if status.is_success() || status == StatusCode::CONFLICT {
            return Ok(body);
        }
        Err(refused(status, &headers, &body))
    }
}

/// The address of a call can name people; it has no place in an error.
fn hide(error: reqwest::Error) -> reqwest::Error {
    error.without_url()
}

fn failed(error: reqwest::Error) -> PlatformError {
    if error.is_connect() || error.is_builder() {
        return PlatformError::Unreachable(hide(error));
    }
    PlatformError::Unknown(Some(hide(error)))
}

fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> PlatformError {
    let says = |text: &str| {
        serde_json::from_slice::<Refusal>(body)
            .is_ok_and(|refusal| refusal.message.to_ascii_lowercase().contains(text))
    };
    match status {
        StatusCode::UNAUTHORIZED => PlatformError::Unauthorized,
        StatusCode::NOT_FOUND => PlatformError::NotFound,
        StatusCode::BAD_REQUEST if says("reply token") => PlatformError::InvalidReplyToken,
        StatusCode::TOO_MANY_REQUESTS => {
            let wait = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let retry_after = wait.and_then(|value| value.parse().ok()).map(Duration::from_secs);
            PlatformError::RateLimited { retry_after }
        }
        status if status.is_server_error() => PlatformError::Unknown(None),
        status => PlatformError::Refused { status: status.as_u16() },
    }
}

/// An id as part of an address; one that would change the address names nobody.
fn segment(id: &str) -> Result<&str, PlatformError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if id.is_empty() || id.starts_with('.') || !id.bytes().all(plain) {
        return Err(PlatformError::NotFound);
    }
    Ok(id)
}

fn texts(texts: &[String]) -> Vec<Text<'_>> {
    texts.iter().map(|text| Text { kind: "text", text }).collect()
}

impl Platform for LineClient {
    fn decode(&self, envelope: Envelope) -> Result<Event, DecodeError> {
        decode(envelope)
    }

    fn reply<'a>(
        &'a self,
        token: &'a ReplyToken,
        messages: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<MessageId>, PlatformError>> {
        Box::pin(async move {
            let body = Reply { reply_token: token.expose(), messages: texts(messages) };
            self.send("/v2/bot/message/reply", &body, None).await
        })
    }

    fn push<'a>(
        &'a self,
        channel: &'a ChannelRef,
        messages: &'a [String],
        retry_key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<MessageId>, PlatformError>> {
        Box::pin(async move {
            let body = Push { to: channel.id.as_str(), messages: texts(messages) };
            self.send("/v2/bot/message/push", &body, Some(retry_key)).await
        })
    }

    fn profile<'a>(
        &'a self,
        channel: &'a ChannelRef,
        user: &'a UserId,
    ) -> BoxFuture<'a, Result<Profile, PlatformError>> {
        Box::pin(async move {
            let (chat, user) = (segment(channel.id.as_str())?, segment(user.as_str())?);
            let path = match channel.kind {
                ChannelKind::Group => format!("/v2/bot/group/{chat}/member/{user}"),
                ChannelKind::Room => format!("/v2/bot/room/{chat}/member/{user}"),
                ChannelKind::User => format!("/v2/bot/profile/{user}"),
            };
            let LineProfile { display_name, picture_url } = self.get(&path).await?;
            Ok(Profile { display_name, picture_url })
        })
    }

    fn summary<'a>(
        &'a self,
        channel: &'a ChannelRef,
    ) -> BoxFuture<'a, Result<ChannelSummary, PlatformError>> {
        Box::pin(async move {
            let id = segment(channel.id.as_str())?;
            match channel.kind {
                ChannelKind::Group => {
                    let group: LineGroup = self.get(&format!("/v2/bot/group/{id}/summary")).await?;
                    let members: Count =
                        self.get(&format!("/v2/bot/group/{id}/members/count")).await?;
                    Ok(ChannelSummary {
                        name: group.group_name,
                        picture_url: group.picture_url,
                        member_count: Some(members.count),
                    })
                }
                ChannelKind::Room => {
                    let members: Count =
                        self.get(&format!("/v2/bot/room/{id}/members/count")).await?;
                    Ok(ChannelSummary {
                        member_count: Some(members.count),
                        ..ChannelSummary::default()
                    })
                }
                ChannelKind::User => {
                    let profile: LineProfile = self.get(&format!("/v2/bot/profile/{id}")).await?;
                    Ok(ChannelSummary {
                        name: Some(profile.display_name),
                        picture_url: profile.picture_url,
                        member_count: Some(1),
                    })
                }
            }
        })
    }

    fn bot(&self) -> BoxFuture<'_, Result<BotInfo, PlatformError>> {
        Box::pin(async move {
            let LineBot { user_id, display_name, picture_url } = self.get("/v2/bot/info").await?;
            Ok(BotInfo { user_id, display_name, picture_url })
        })
    }

    fn max_texts(&self) -> usize {
        5
    }

    fn max_units(&self) -> usize {
        5_000
    }
}
