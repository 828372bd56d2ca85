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

    /// Waits until the platform refuses the access token in a call that is not about the account.
    fn refused(&self) -> BoxFuture<'_, ()>;
}

/// Deviation of clocks that does no harm: replies are due within 50 seconds of their event.
const TOLERANCE: Duration = Duration::from_secs(10);
/// Unit of the platform's time.
const SECOND: Duration = Duration::from_secs(1);

/// Harmful deviation of this machine's clock from the platform's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockDeviation {
    /// It is ahead by that much, at least.
    Ahead(Duration),
    /// It is behind by that much, at least.
    Behind(Duration),
}

impl ClockDeviation {
    /// Compares the platform's time, in whole seconds, with this machine's before and after it was
    /// asked for. `None` up to ten seconds.
    pub fn of(time: Timestamp, before: Timestamp, after: Timestamp) -> Option<Self> {
        let (ahead, behind) = (before.since(time.plus(SECOND)), time.since(after));
        if ahead > TOLERANCE {
            Some(Self::Ahead(ahead))
        } else {
            (behind > TOLERANCE).then_some(Self::Behind(behind))
        }
    }
}

/// Account of a bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotAccount {
    /// The bot's own user id.
    pub user_id: UserId,
    /// Its name.
    pub display_name: String,
    /// `true` if people of the account can answer by hand beside the bot, `false` if the bot alone
    /// does; `None` if the platform does not tell.
    pub people_answer: Option<bool>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_deviates_by_more_than_the_way_and_whole_seconds_explain() {
        let at = Timestamp::from_millis;
        let deviation = |before, after| ClockDeviation::of(at(100_000), at(before), at(after));
        // The platform's time is of any moment of a slow answer, and of any of its second.
        for harmless in [(92_000, 150_000), (111_000, 111_500), (89_000, 90_000)] {
            assert_eq!(deviation(harmless.0, harmless.1), None, "{harmless:?}");
        }
        let by = Duration::from_millis(10_001);
        assert_eq!(deviation(111_001, 111_500), Some(ClockDeviation::Ahead(by)));
        assert_eq!(deviation(89_000, 89_999), Some(ClockDeviation::Behind(by)));
    }
}
