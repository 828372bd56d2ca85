//! Client of LINE's Messaging API.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use bytes::Bytes;
use chatkeep_core::event::{ChannelKind, ChannelRef, ReplyToken};
use chatkeep_core::id::{MessageId, UserId};
use chatkeep_core::profile::{ChannelSummary, Profile};
use chatkeep_core::secret::SharedSecret;
use chatkeep_core::time::SharedClock;
use futures_util::{StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::debug;

use super::call::Caller;
use super::endpoint::Endpoint;
use super::picture;
use super::refusal::hide;
use super::storable::storable;
use super::wire::{
    LineBot, LineGroup, LineProfile, MemberCount, PushRequest, ReplyRequest, Sent, Transcoding,
    texts,
};
use crate::{BotInfo, BoxFuture, Download, MediaPart, Platform, PlatformError, Preparation};

/// Maximum number of attempts of a push after the first.
const RETRIES: usize = 3;
/// First pause between two attempts; each is twice the one before.
const RETRY_BACKOFF: Duration = Duration::from_millis(250);
/// Maximum pause before the next attempt of a push.
const MAX_BACKOFF: Duration = Duration::from_secs(10);

/// Addresses and credentials of the API.
#[derive(Clone, Debug)]
pub struct LineApi {
    /// Name of the bot in the settings, for metrics and logs.
    pub bot: String,
    /// `https://api.line.me`, or an emulator's.
    pub api_base: String,
    /// `https://api-data.line.me`, or an emulator's: the address of files.
    pub data_api_base: String,
    /// The channel access token; each call has the present one.
    pub access_token: SharedSecret,
}

/// One LINE bot.
#[derive(Clone, Debug)]
pub struct LineClient(pub(super) Caller);

impl LineClient {
    /// Creates a client that calls `api` through `http` (made by [`chatkeep_core::http::client`]),
    /// and downloads through `files` (made by [`chatkeep_core::http::download_client`]). `clock`
    /// times its rate limits.
    pub fn new(
        api: LineApi,
        http: reqwest::Client,
        files: reqwest::Client,
        clock: &SharedClock,
    ) -> Self {
        Self(Caller::new(api, http, files, clock))
    }

    fn file_url(&self, message: &MessageId, rest: &str) -> Result<String, PlatformError> {
        let message = segment(message.as_str())?;
        let base = self.0.api.data_api_base.trim_end_matches('/');
        Ok(format!("{base}/v2/bot/message/{message}/content{rest}"))
    }

    /// Returns the address of a path of the API.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.0.api.api_base.trim_end_matches('/'))
    }

    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        endpoint: Endpoint,
        path: &str,
    ) -> Result<T, PlatformError> {
        let body = self.0.call(endpoint, self.0.http.get(self.url(path))).await?;
        read(&body)
    }

    async fn send<T: Serialize + Sync>(
        &self,
        endpoint: Endpoint,
        body: &T,
        retry_key: Option<&str>,
    ) -> Result<Vec<MessageId>, PlatformError> {
        let url = self.url(&format!("/v2/bot/message/{}", endpoint.name()));
        let mut request = self.0.http.post(url).json(body);
        if let Some(key) = retry_key {
            request = request.header("X-Line-Retry-Key", key);
        }
        let answer = self.0.call(endpoint, request).await?;
        // The messages are sent; ids that cannot be read are no reason to report a failure.
        let sent: Sent = serde_json::from_slice(&answer).unwrap_or_default();
        Ok(sent.sent_messages.into_iter().map_while(|message| message.id.checked().ok()).collect())
    }

    /// Repeats a push that may have failed, under the same key, so that it arrives once.
    async fn push_again(
        &self,
        body: &PushRequest<'_>,
        retry_key: &str,
    ) -> Result<Vec<MessageId>, PlatformError> {
        let backoff =
            ExponentialBuilder::new().with_min_delay(RETRY_BACKOFF).with_max_times(RETRIES);
        (|| self.send(Endpoint::Push, body, Some(retry_key)))
            .retry(backoff)
            .when(|error| matches!(error, PlatformError::Unknown(_)) || error.not_now().is_some())
            .adjust(|error, pause| {
                let wait = pause?.max(error.not_now().flatten().unwrap_or_default());
                (wait <= MAX_BACKOFF).then_some(wait)
            })
            .notify(|error, wait| {
                debug!(bot = self.0.api.bot, code = error.code(), ?wait, "retrying a push");
            })
            .await
    }

    async fn member_count(&self, kind: &str, id: &str) -> Result<i64, PlatformError> {
        let path = format!("/v2/bot/{kind}/{id}/members/count");
        let members: MemberCount = self.get(Endpoint::MemberCount, &path).await?;
        Ok(members.count)
    }
}

/// Parses the body of a response.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, PlatformError> {
    let unreadable = |_| PlatformError::Unknown(None);
    serde_json::from_str(&storable(&String::from_utf8_lossy(body))).map_err(unreadable)
}

/// Returns an id as a path segment of an address; one that would change the address is unknown.
fn segment(id: &str) -> Result<&str, PlatformError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if id.is_empty() || id.starts_with('.') || !id.bytes().all(plain) {
        return Err(PlatformError::NotFound);
    }
    Ok(id)
}

impl Platform for LineClient {
    fn reply<'a>(
        &'a self,
        token: &'a ReplyToken,
        messages: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<MessageId>, PlatformError>> {
        Box::pin(async move {
            let body = ReplyRequest { reply_token: token.expose(), messages: texts(messages) };
            self.send(Endpoint::Reply, &body, None).await
        })
    }

    fn push<'a>(
        &'a self,
        channel: &'a ChannelRef,
        messages: &'a [String],
        retry_key: &'a str,
    ) -> BoxFuture<'a, Result<Vec<MessageId>, PlatformError>> {
        Box::pin(async move {
            let body = PushRequest { to: channel.id.on_platform(), messages: texts(messages) };
            self.push_again(&body, retry_key).await
        })
    }

    fn profile<'a>(
        &'a self,
        channel: &'a ChannelRef,
        user: &'a UserId,
    ) -> BoxFuture<'a, Result<Profile, PlatformError>> {
        Box::pin(async move {
            let (chat, user) = (segment(channel.id.on_platform())?, segment(user.as_str())?);
            let path = match channel.kind {
                ChannelKind::Group => format!("/v2/bot/group/{chat}/member/{user}"),
                ChannelKind::Room => format!("/v2/bot/room/{chat}/member/{user}"),
                ChannelKind::User => format!("/v2/bot/profile/{user}"),
            };
            let LineProfile { display_name, picture_url, language } =
                self.get(Endpoint::Profile, &path).await?;
            Ok(Profile { display_name, picture_url, language })
        })
    }

    fn content<'a>(
        &'a self,
        message: &'a MessageId,
        part: MediaPart,
    ) -> BoxFuture<'a, Result<Download, PlatformError>> {
        let (endpoint, rest) = match part {
            MediaPart::Original => (Endpoint::Content, ""),
            MediaPart::Preview => (Endpoint::Preview, "/preview"),
        };
        Box::pin(async move {
            let answer = self.0.open(endpoint, self.file_url(message, rest)?).await?;
            let length = answer.content_length();
            let bytes = answer.bytes_stream().map_err(|e| PlatformError::Unknown(Some(hide(e))));
            Ok(Download { length, bytes: bytes.boxed() })
        })
    }

    fn preparation<'a>(
        &'a self,
        message: &'a MessageId,
    ) -> BoxFuture<'a, Result<Preparation, PlatformError>> {
        Box::pin(async move {
            let url = self.file_url(message, "/transcoding")?;
            let body = self.0.call(Endpoint::Transcoding, self.0.http.get(url)).await?;
            let transcoding: Transcoding = read(&body)?;
            Ok(match transcoding.status.as_str() {
                "succeeded" => Preparation::Ready,
                "failed" => Preparation::Failed,
                _ => Preparation::Pending,
            })
        })
    }

    fn summary<'a>(
        &'a self,
        channel: &'a ChannelRef,
    ) -> BoxFuture<'a, Result<ChannelSummary, PlatformError>> {
        Box::pin(async move {
            let id = segment(channel.id.on_platform())?;
            match channel.kind {
                ChannelKind::Group => {
                    let path = format!("/v2/bot/group/{id}/summary");
                    let group: LineGroup = self.get(Endpoint::Group, &path).await?;
                    let member_count = match self.member_count("group", id).await {
                        Ok(count) => Some(count),
                        Err(error) if error.stops_bot() => return Err(error),
                        // Asked again with the next summary; the name is known now.
                        Err(_) => None,
                    };
                    let (name, picture_url) = (group.group_name, group.picture_url);
                    Ok(ChannelSummary { name, picture_url, member_count })
                }
                ChannelKind::Room => {
                    let member_count = Some(self.member_count("room", id).await?);
                    Ok(ChannelSummary { member_count, ..ChannelSummary::default() })
                }
                ChannelKind::User => {
                    let path = format!("/v2/bot/profile/{id}");
                    let profile: LineProfile = self.get(Endpoint::Profile, &path).await?;
                    Ok(ChannelSummary {
                        name: Some(profile.display_name),
                        picture_url: profile.picture_url,
                        member_count: Some(1),
                    })
                }
            }
        })
    }

    fn picture<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Bytes, PlatformError>> {
        Box::pin(async move {
            let url = picture::checked(address, &self.0.api.api_base);
            picture::fetch(&self.0.files, url.ok_or(PlatformError::NotFound)?).await
        })
    }

    fn bot(&self) -> BoxFuture<'_, Result<BotInfo, PlatformError>> {
        Box::pin(async move {
            let LineBot { user_id, display_name, picture_url } =
                self.get(Endpoint::Bot, "/v2/bot/info").await?;
            let user_id = user_id.checked().map_err(|_| PlatformError::Unknown(None))?;
            Ok(BotInfo { user_id, display_name, picture_url })
        })
    }

    fn token_lifetime(&self) -> BoxFuture<'_, Result<Option<Duration>, PlatformError>> {
        Box::pin(async move {
            // LINE tells nothing of some kinds of token that it accepts.
            let known = self.verified().await?;
            Ok(known.map(|known| Duration::from_secs(known.expires_in)))
        })
    }

    fn max_texts(&self) -> usize {
        5
    }

    fn max_units(&self) -> usize {
        5_000
    }
}

#[cfg(test)]
#[path = "client_edge_tests.rs"]
mod edge_tests;
