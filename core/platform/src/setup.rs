//! Set-up of a bot at its platform: what a deployment needs there, and what is configured instead.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::id::UserId;
use chatkeep_core::time::Timestamp;
use secrecy::SecretString;

use crate::{BoxFuture, PlatformError};

/// Shared set-up of a bot.
pub type SharedSetup = Arc<dyn BotSetup>;

/// Set-up of one configured bot, as the platform itself reports it. Nothing is cached: whoever asks
/// is about to change it.
pub trait BotSetup: fmt::Debug + Send + Sync {
    /// Returns the account of the bot; [`PlatformError::Unauthorized`] for an access token that the
    /// platform does not accept.
    fn account(&self) -> BoxFuture<'_, Result<BotAccount, PlatformError>>;

    /// Returns what the access token is good for; `None` if the platform does not tell for tokens
    /// of its kind.
    fn token(&self) -> BoxFuture<'_, Result<Option<TokenGrant>, PlatformError>>;

    /// Returns whether a secret is that of a channel ([`TokenGrant::channel`]). Changes nothing.
    fn owns<'a>(
        &'a self,
        channel: &'a str,
        secret: &'a SecretString,
    ) -> BoxFuture<'a, Result<bool, PlatformError>>;

    /// Returns where the platform sends webhooks; `None` if no address is set.
    fn webhook(&self) -> BoxFuture<'_, Result<Option<WebhookEndpoint>, PlatformError>>;

    /// Makes the platform send webhooks to that address.
    fn set_webhook<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<(), PlatformError>>;

    /// Makes the platform send a webhook without events to that address, and returns how that went.
    fn test_webhook<'a>(
        &'a self,
        address: &'a str,
    ) -> BoxFuture<'a, Result<WebhookTest, PlatformError>>;

    /// Returns how many messages the bot may send this month, and how many it has sent.
    fn allowance(&self) -> BoxFuture<'_, Result<MessageAllowance, PlatformError>>;

    /// Returns whether the platform sends webhooks to addresses of that form.
    fn may_receive_at(&self, address: &str) -> bool;
}

/// Account of a bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotAccount {
    /// The bot's own user id.
    pub user_id: UserId,
    /// Its name.
    pub display_name: String,
    /// True if the bot answers people, false if people of the account do.
    pub bot_answers: bool,
    /// Time of the platform when it answered, in whole seconds, if it names one.
    pub time: Option<Timestamp>,
}

/// Channel and lifetime of an access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenGrant {
    /// Platform's id of the channel that the token was issued for.
    pub channel: String,
    /// Time until it expires.
    pub expires_in: Duration,
}

/// Address of webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookEndpoint {
    /// The address.
    pub address: String,
    /// False while the platform sends nothing there.
    pub active: bool,
}

/// Result of a test webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookTest {
    /// True if the webhook was accepted.
    pub success: bool,
    /// HTTP status of the response; `None` without one.
    pub status: Option<u16>,
    /// Explanation of the platform, at most 200 characters without control characters.
    pub reason: String,
}

/// Messages of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageAllowance {
    /// Messages that the bot may send; `None` for any number.
    pub limit: Option<u64>,
    /// Messages that it has sent.
    pub used: u64,
}
