//! The settings of outgoing webhooks: where they may go, how often they are tried.

use std::time::Duration;

use super::ConfigError;
use super::reader::Reader;

/// Outgoing webhooks.
#[derive(Clone, Debug)]
pub struct WebhooksConfig {
    /// Whether they may go to private addresses and over plain HTTP.
    pub allow_private: bool,
    /// Deliveries that a process makes at once.
    pub parallel: usize,
    /// Deliveries that a process makes to one webhook at once.
    pub parallel_each: usize,
    /// For one delivery.
    pub timeout: Duration,
    /// Pauses before each further attempt.
    pub retries: Vec<Duration>,
    /// A webhook that fails for this long is disabled.
    pub give_up: Duration,
    /// How long the log of deliveries is kept.
    pub keep: Duration,
    /// Whether owners are told in their chat with the bot.
    pub tell_owners: bool,
}

/// Attempts beside the first, and the longest pause, in seconds.
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
