//! Settings of outgoing webhooks: allowed addresses, concurrency, retries.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::deserialize::{days, number, parsed, seconds};

/// Settings of outgoing webhooks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhooksConfig {
    /// `true` if they may go to private addresses and over plain HTTP.
    pub allow_private: bool,
    /// Concurrent deliveries of a process.
    #[serde(deserialize_with = "number::<1, 1_024, _, _>")]
    pub parallel: usize,
    /// Concurrent deliveries of a process to one webhook endpoint.
    #[serde(deserialize_with = "number::<1, 64, _, _>")]
    pub parallel_each: usize,
    /// Timeout of one delivery attempt.
    #[serde(rename = "timeout_seconds", deserialize_with = "seconds::<1, 60, _>")]
    pub timeout: Duration,
    /// Pauses before each further attempt.
    #[serde(rename = "retry_seconds", deserialize_with = "retries")]
    pub retries: Vec<Duration>,
    /// Time of continuous failure after which a webhook endpoint is disabled.
    #[serde(rename = "give_up_days", deserialize_with = "days::<1, 365, _>")]
    pub give_up: Duration,
    /// Retention of the delivery log.
    #[serde(rename = "keep_days", deserialize_with = "days::<7, 365, _>")]
    pub keep: Duration,
    /// `true` if owners are notified in their chat with the bot.
    pub tell_owners: bool,
}

/// Maximum number of attempts beside the first, and the longest pause in seconds.
const RETRIES: (usize, u64) = (20, 604_800);
const RETRIES_ALLOWED: &str =
    "1 to 20 whole numbers of seconds with commas between, each from 1 to 604800";

/// Deserializes pauses in seconds with commas between.
fn retries<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Duration>, D::Error> {
    let seconds = |part: &str| {
        let seconds = part.trim().parse().ok()?;
        (1..=RETRIES.1).contains(&seconds).then(|| Duration::from_secs(seconds))
    };
    parsed(from, RETRIES_ALLOWED, |text| {
        let retries: Vec<_> = text.split(',').map(seconds).collect::<Option<_>>()?;
        (retries.len() <= RETRIES.0).then_some(retries)
    })
}
