//! Lifetime of the channel access token.

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use secrecy::ExposeSecret as _;
use url::form_urlencoded;

use super::client::{LineClient, read};
use super::endpoint::Endpoint;
use super::wire::VerifiedToken;
use crate::PlatformError;

/// Content type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// Asks LINE how long the access token is valid; `None` when it names no end.
pub(super) async fn lifetime(client: &LineClient) -> Result<Option<Duration>, PlatformError> {
    let token = client.0.api.access_token.get();
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("access_token", token.expose_secret())
        .finish();
    // Short-lived and long-lived tokens, then those of version 2.1.
    let request = client.0.http.post(client.url("/v2/oauth/verify"));
    let request = request.header(CONTENT_TYPE, FORM).body(form.clone());
    let body = match client.0.call(Endpoint::Token, request).await {
        Err(PlatformError::Refused { status: 400 }) => {
            let url = client.url(&format!("/oauth2/v2.1/verify?{form}"));
            client.0.call(Endpoint::Token, client.0.http.get(url)).await
        }
        body => body,
    };
    match body {
        Err(PlatformError::Refused { status: 400 }) => Err(PlatformError::Unauthorized),
        body => {
            let VerifiedToken { expires_in } = read(&body?)?;
            let seconds = expires_in.and_then(|seconds| u64::try_from(seconds).ok());
            Ok(seconds.map(Duration::from_secs))
        }
    }
}
