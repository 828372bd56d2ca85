//! Settings of the HTTP surfaces: the API's address, its limits, login.

use std::time::Duration;

use secrecy::SecretString;

use super::ConfigError;
use super::reader::Reader;
use super::values::{origins, web_address};

/// Settings of the API and the console.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Public base address of chatkeep, without a trailing slash; `None` for the address it listens
    /// on.
    pub base_url: Option<String>,
    /// Number of proxies in front that each add a caller's address to `X-Forwarded-For`.
    pub proxies: usize,
    /// Origins whose pages may call the API from a browser.
    pub cors_origins: Vec<String>,
    /// Retention of the events of `GET /api/events`.
    pub keep_events: Duration,
}

/// Rate limit of one key, session or address.
#[derive(Clone, Copy, Debug)]
pub struct RateLimitConfig {
    /// Requests per minute; 0 for no limit.
    pub per_minute: u32,
    /// Burst size, in requests.
    pub burst: u32,
}

/// Settings of the identity provider.
#[derive(Clone, Debug)]
pub struct LoginConfig {
    /// Issuer, discovered by its `/.well-known/openid-configuration`; `None`: no login.
    pub issuer: Option<String>,
    /// Client id at the identity provider.
    pub client_id: String,
    /// Client secret at the identity provider.
    pub client_secret: Option<SecretString>,
    /// Requested scopes beside `openid`.
    pub scopes: Vec<String>,
    /// Prefix of the provider's `sub` in a user id.
    pub user_prefix: String,
    /// Idle timeout of a session.
    pub idle: Duration,
    /// Languages of the provider's pages, as BCP 47 tags with spaces between; `None` for the
    /// language of the person.
    pub ui_locales: Option<String>,
    /// Value of `prompt` in every sign-in; `None` to leave it to the provider.
    pub prompt: Option<String>,
    /// Value of `bot_prompt`, with which LINE offers to add the bot as a friend; `None` for no
    /// offer.
    pub bot_prompt: Option<String>,
    /// `true` if client metadata of programs that ask for consent may be at private addresses and
    /// over plain HTTP.
    pub allow_private_clients: bool,
}

const BOT_PROMPT: &str = "\"normal\", \"aggressive\", or \"\" for none";
const WEB_ADDRESS: &str = "an address such as \"https://chat.example.org\", without user or query";
const ORIGINS: &str = "origins such as \"https://a.example.org,https://b.example.org\", or \"\"";

/// Parses how LINE offers to add the bot as a friend.
fn bot_prompt(text: &str) -> Option<String> {
    let text = text.trim();
    matches!(text, "" | "normal" | "aggressive").then(|| text.to_owned())
}

/// Returns a text unless it is empty.
fn filled(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

impl ApiConfig {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            base_url: read.optional("api.base_url", WEB_ADDRESS, web_address)?,
            proxies: read.number("api.proxies", 0, 10)?,
            cors_origins: read.parsed("api.cors_origins", ORIGINS, origins)?,
            keep_events: read.days("api.keep_events_days", 1, 365)?,
        })
    }
}

impl RateLimitConfig {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            per_minute: read.number("rate_limit.per_minute", 0, 1_000_000)?,
            burst: read.number("rate_limit.burst", 1, 1_000_000)?,
        })
    }
}

impl LoginConfig {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self, ConfigError> {
        let issuer = read.optional("login.issuer", WEB_ADDRESS, web_address)?;
        let text = |text: &str| Some(text.trim().to_owned());
        let words = |text: &str| Some(text.split_whitespace().map(str::to_owned).collect());
        let client_id = match issuer {
            Some(_) => read.filled("login.client_id")?.trim().to_owned(),
            None => read.parsed("login.client_id", "a text", text)?,
        };
        Ok(Self {
            issuer,
            client_id,
            client_secret: read.secret("login.client_secret")?,
            scopes: read.parsed("login.scopes", "names with spaces between", words)?,
            user_prefix: read.parsed("login.user_prefix", "a text", text)?,
            idle: read.days("login.session_days", 1, 365)?,
            ui_locales: filled(read.parsed("login.ui_locales", "a text", text)?),
            prompt: filled(read.parsed("login.prompt", "a text", text)?),
            bot_prompt: filled(read.parsed("login.bot_prompt", BOT_PROMPT, bot_prompt)?),
            allow_private_clients: read.switch("login.allow_private_clients")?,
        })
    }
}
