//! Settings of the HTTP surfaces: the API's address, its limits, login.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;

use super::deserialize::{
    FILLED, days, number, optional_bot_prompt, optional_text, optional_web_address, origins,
    secret, trimmed, user_ids, words,
};
use crate::id::UserId;

/// Settings of the API and the console.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiConfig {
    /// Public base address of chatkeep, without a trailing slash; `None` for the address it listens
    /// on.
    #[serde(deserialize_with = "optional_web_address")]
    pub base_url: Option<String>,
    /// Number of proxies in front that each add a caller's address to `X-Forwarded-For`.
    #[serde(deserialize_with = "number::<0, 10, _, _>")]
    pub proxies: usize,
    /// Origins whose pages may call the API from a browser.
    #[serde(deserialize_with = "origins")]
    pub cors_origins: Vec<String>,
    /// Retention of the events of `GET /api/events`.
    #[serde(rename = "keep_events_days", deserialize_with = "days::<1, 365, _>")]
    pub keep_events: Duration,
}

/// Settings of the web console.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsoleConfig {
    /// Ids of the people who may see and change the set-up of the bots.
    #[serde(deserialize_with = "user_ids")]
    pub operators: Vec<UserId>,
}

/// Rate limit of one key, session or address.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimitConfig {
    /// Requests per minute; 0 for no limit.
    #[serde(deserialize_with = "number::<0, 1_000_000, _, _>")]
    pub per_minute: u32,
    /// Burst size, in requests.
    #[serde(deserialize_with = "number::<1, 1_000_000, _, _>")]
    pub burst: u32,
}

/// Settings of the identity provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginConfig {
    /// Issuer, discovered by its `/.well-known/openid-configuration`; `None`: no login.
    #[serde(deserialize_with = "optional_web_address")]
    pub issuer: Option<String>,
    /// Client id at the identity provider.
    #[serde(deserialize_with = "trimmed")]
    pub client_id: String,
    /// Client secret at the identity provider.
    #[serde(deserialize_with = "secret")]
    pub client_secret: Option<SecretString>,
    /// Requested scopes beside `openid`.
    #[serde(deserialize_with = "words")]
    pub scopes: Vec<String>,
    /// Prefix of the provider's `sub` in a user id.
    #[serde(deserialize_with = "trimmed")]
    pub user_prefix: String,
    /// Idle timeout of a session.
    #[serde(rename = "session_days", deserialize_with = "days::<1, 365, _>")]
    pub idle: Duration,
    /// Languages of the provider's pages, as BCP 47 tags with spaces between; `None` for the
    /// language of the person.
    #[serde(deserialize_with = "optional_text")]
    pub ui_locales: Option<String>,
    /// Value of `prompt` in every sign-in; `None` to leave it to the provider.
    #[serde(deserialize_with = "optional_text")]
    pub prompt: Option<String>,
    /// Value of `bot_prompt`, with which LINE offers to add the bot as a friend; `None` for no
    /// offer.
    #[serde(deserialize_with = "optional_bot_prompt")]
    pub bot_prompt: Option<String>,
    /// `true` if client metadata of programs that ask for consent may be at private addresses and
    /// over plain HTTP.
    pub allow_private_clients: bool,
}

impl LoginConfig {
    /// Checks settings that depend on each other.
    ///
    /// # Errors
    /// Returns the key of an invalid setting and a description of the accepted values.
    pub(super) fn validate(&self) -> Result<(), (&'static str, &'static str)> {
        if self.issuer.is_some() && self.client_id.is_empty() {
            return Err(("login.client_id", FILLED));
        }
        Ok(())
    }
}
