//! Set-up of a LINE bot: its account, its channel, its webhook address, its quota.

use std::time::Duration;

use chatkeep_core::http::is_this_machine;
use reqwest::header::CONTENT_TYPE;
use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use url::form_urlencoded;

use super::LineClient;
use super::call::time;
use super::client::read;
use super::endpoint::Endpoint;
use super::refusal::explanation;
use super::wire::{
    EndpointRequest, LineAccount, LineConsumption, LineEndpoint, LineQuota, LineTest, LineToken,
};
use crate::{
    BotAccount, BotSetup, BoxFuture, MessageAllowance, PlatformError, TokenGrant, WebhookEndpoint,
    WebhookTest,
};

/// Path of the address of webhooks.
const WEBHOOK: &str = "/v2/bot/channel/webhook/endpoint";
/// Content type of requests about access tokens.
const FORM: &str = "application/x-www-form-urlencoded";
/// Timeout of a test webhook, during which LINE itself waits for the other side.
const TEST: Duration = Duration::from_secs(30);

impl LineClient {
    /// Asks about the access token where those of its kind are known: long-lived and short-lived
    /// ones at one endpoint, others at a second one.
    pub(super) async fn verified(&self) -> Result<Option<LineToken>, PlatformError> {
        let token = self.0.api.access_token.get();
        let token = token.expose_secret();
        let form = encoded(&[("access_token", token)]);
        let request = self.0.http.post(self.url("/v2/oauth/verify")).header(CONTENT_TYPE, FORM);
        if let Some(found) = self.grant(request.body(form)).await? {
            return Ok(Some(found));
        }
        // LINE takes these tokens in the address alone; errors do not show it.
        let request = self.0.http.get(self.url("/oauth2/v2.1/verify"));
        self.grant(request.query(&[("access_token", token)])).await
    }

    /// Makes a request about the access token; `None` for one that is not known there.
    async fn grant(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<Option<LineToken>, PlatformError> {
        let answer = self.0.exchange(Endpoint::TokenVerify, request, is_unknown).await?;
        if answer.status.is_success() { read(&answer.body).map(Some) } else { Ok(None) }
    }
}

impl BotSetup for LineClient {
    fn account(&self) -> BoxFuture<'_, Result<BotAccount, PlatformError>> {
        Box::pin(async move {
            let request = self.0.authorised(self.0.http.get(self.url("/v2/bot/info")));
            let answer = self.0.exchange(Endpoint::Bot, request, |_, _| false).await?;
            let LineAccount { user_id, display_name, chat_mode } = read(&answer.body)?;
            Ok(BotAccount {
                user_id: user_id.checked().map_err(|_| PlatformError::Unknown(None))?,
                display_name,
                people_answer: chat_mode.as_deref().and_then(people_answer),
                time: time(&answer.headers),
            })
        })
    }

    fn token(&self) -> BoxFuture<'_, Result<Option<TokenGrant>, PlatformError>> {
        Box::pin(async move {
            let grant = |LineToken { client_id: channel, expires_in }| TokenGrant {
                channel,
                expires_in: Duration::from_secs(expires_in),
            };
            Ok(self.verified().await?.map(grant).filter(|grant| is_channel(&grant.channel)))
        })
    }

    /// Issues a stateless access token, which LINE does only for the right secret. Such a token
    /// ends no other one, and it expires within 15 minutes.
    fn owns<'a>(
        &'a self,
        channel: &'a str,
        secret: &'a SecretString,
    ) -> BoxFuture<'a, Result<bool, PlatformError>> {
        Box::pin(async move {
            let form = encoded(&[
                ("grant_type", "client_credentials"),
                ("client_id", channel),
                ("client_secret", secret.expose_secret()),
            ]);
            let request = self.0.http.post(self.url("/oauth2/v3/token"));
            let request = request.header(CONTENT_TYPE, FORM).body(form);
            let answer = self.0.exchange(Endpoint::TokenIssue, request, is_wrong_client).await?;
            Ok(answer.status.is_success())
        })
    }

    fn webhook(&self) -> BoxFuture<'_, Result<Option<WebhookEndpoint>, PlatformError>> {
        Box::pin(async move {
            match self.get(Endpoint::WebhookAddress, WEBHOOK).await {
                Ok(LineEndpoint { endpoint, .. }) if endpoint.is_empty() => Ok(None),
                Ok(LineEndpoint { endpoint, active }) => {
                    Ok(Some(WebhookEndpoint { address: endpoint, active }))
                }
                Err(PlatformError::NotFound) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn set_webhook<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<(), PlatformError>> {
        Box::pin(async move {
            let body = EndpointRequest { endpoint: address };
            let request = self.0.http.put(self.url(WEBHOOK)).json(&body);
            self.0.call(Endpoint::WebhookAddress, request).await.map(|_| ())
        })
    }

    fn test_webhook<'a>(
        &'a self,
        address: &'a str,
    ) -> BoxFuture<'a, Result<WebhookTest, PlatformError>> {
        Box::pin(async move {
            let body = EndpointRequest { endpoint: address };
            let request = self.0.http.post(self.url("/v2/bot/channel/webhook/test")).json(&body);
            let request = request.timeout(TEST);
            let test: LineTest = read(&self.0.call(Endpoint::WebhookTest, request).await?)?;
            let status = u16::try_from(test.status_code).ok().filter(|status| *status > 0);
            let reason = explanation(&test.reason, &test.detail);
            Ok(WebhookTest { success: test.success, status, reason })
        })
    }

    fn allowance(&self) -> BoxFuture<'_, Result<MessageAllowance, PlatformError>> {
        Box::pin(async move {
            let quota: LineQuota = self.get(Endpoint::Quota, "/v2/bot/message/quota").await?;
            let used: LineConsumption =
                self.get(Endpoint::Quota, "/v2/bot/message/quota/consumption").await?;
            Ok(MessageAllowance { limit: quota.value, used: used.total_usage })
        })
    }

    /// LINE sends to HTTPS addresses; an emulator on this machine also to plain ones.
    fn may_receive_at(&self, address: &str) -> bool {
        let local = |text: &str| Url::parse(text).is_ok_and(|url| is_this_machine(&url));
        match Url::parse(address) {
            Ok(url) => url.scheme() == "https" || (is_this_machine(&url) && local(&self.url("/"))),
            Err(_) => false,
        }
    }

    fn refused(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.refused.notified())
    }
}

/// Returns whether Chat is on in the response settings; `None` for an unknown mode. Webhooks have a
/// switch of their own.
fn people_answer(chat_mode: &str) -> Option<bool> {
    match chat_mode {
        "chat" => Some(true),
        "bot" => Some(false),
        _ => None,
    }
}

/// Encodes the fields of a form.
fn encoded(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Returns true for the answer about an access token that an endpoint does not know.
fn is_unknown(status: StatusCode, _: &[u8]) -> bool {
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED)
}

/// Returns true for the answer that a channel has another secret. Any other refusal says nothing
/// about the secret.
fn is_wrong_client(status: StatusCode, body: &[u8]) -> bool {
    let names_client = String::from_utf8_lossy(body).to_ascii_lowercase().contains("client");
    is_unknown(status, body) && names_client
}

/// Returns whether a text has the form of a channel id.
fn is_channel(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_of_the_client_is_about_its_secret() {
        let refused = |body: &str| is_wrong_client(StatusCode::BAD_REQUEST, body.as_bytes());
        assert!(refused(r#"{"error":"invalid_client"}"#));
        assert!(refused(
            r#"{"error":"invalid_request","error_description":"invalid client_secret"}"#
        ));
        assert!(!refused(r#"{"error":"unsupported_grant_type"}"#));
        assert!(!is_wrong_client(StatusCode::FORBIDDEN, b"client"));
    }

    #[test]
    fn a_chat_mode_that_is_unknown_or_missing_costs_nothing_else() {
        for (mode, expected) in [
            (r#","chatMode":"chat""#, Some(true)),
            (r#","chatMode":"bot""#, Some(false)),
            (r#","chatMode":"both""#, None),
            (r#","chatMode":null"#, None),
            ("", None),
        ] {
            let json = format!(r#"{{"userId":"U1","displayName":"Desk"{mode}}}"#);
            let account: LineAccount = read(json.as_bytes()).unwrap();
            assert_eq!(account.chat_mode.as_deref().and_then(people_answer), expected, "{mode}");
        }
    }
}
