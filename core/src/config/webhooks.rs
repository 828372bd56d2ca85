//! Settings of outgoing webhooks: allowed addresses, concurrency, retries.

use std::time::Duration;

use super::ConfigError;
use super::reader::Reader;

/// Settings of outgoing webhooks.
#[derive(Clone, Debug)]
pub struct WebhooksConfig {
    /// `true` if they may go to private addresses and over plain HTTP.
    pub allow_private: bool,
    /// Concurrent deliveries of a process.
    pub parallel: usize,
    /// Concurrent deliveries of a process to one webhook endpoint.
    pub parallel_each: usize,
    /// Timeout of one delivery attempt.
    pub timeout: Duration,
    /// Pauses before each further attempt.
    pub retries: Vec<Duration>,
    /// Time of continuous failure after which a webhook endpoint is disabled.
    pub give_up: Duration,
    /// Retention of the delivery log.
    pub keep: Duration,
    /// `true` if owners are notified in their chat with the bot.
    pub tell_owners: bool,
}

/// Maximum number of attempts beside the first, and the longest pause in seconds.
const RETRIES: (usize, u64) = (20, 604_800);
const RETRIES_ALLOWED: &str =
    "1 to 20 whole numbers of seconds with commas between, each from 1 to 604800";

impl WebhooksConfig {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            allow_private: read.switch("webhooks.allow_private")?,
            parallel: read.number("webhooks.parallel", 1, 1_024)?,
            parallel_each: read.number("webhooks.parallel_each", 1, 64)?,
            timeout: read.seconds("webhooks.timeout_seconds", 1, 60)?,
            retries: read.parsed("webhooks.retry_seconds", RETRIES_ALLOWED, retries)?,
            give_up: read.days("webhooks.give_up_days", 1, 365)?,
            keep: read.days("webhooks.keep_days", 7, 365)?,
            tell_owners: read.switch("webhooks.tell_owners")?,
        })
    }
}

fn retries(text: &str) -> Option<Vec<Duration>> {
    let seconds = |part: &str| {
        let seconds = part.trim().parse().ok()?;
        (1..=RETRIES.1).contains(&seconds).then(|| Duration::from_secs(seconds))
    };
    let retries: Vec<_> = text.split(',').map(seconds).collect::<Option<_>>()?;
    (retries.len() <= RETRIES.0).then_some(retries)
}
