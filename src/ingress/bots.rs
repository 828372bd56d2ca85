//! Bots whose webhooks are accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chatkeep_core::health::Health;
use chatkeep_core::id::UserId;
use chatkeep_core::panics;
use chatkeep_platform::{Directory, InboundWebhooks, SharedWebhooks};
use tracing::debug;

/// Bots by platform and name.
#[derive(Debug, Default)]
pub struct IngressBots(BTreeMap<&'static str, BTreeMap<String, IngressBot>>);

/// Interval of checking again a destination that was right: access tokens are replaced without a restart.
const CHECK_AGAIN: Duration = Duration::from_mins(5);
/// Interval of checking again one that was wrong, or could not be checked: while the platform is
/// unavailable, webhooks may come by the thousand.
const RETRY: Duration = Duration::from_secs(1);

/// Destination that is being checked or was, and the time from which on it is checked again.
#[derive(Debug, Default)]
struct LastCheck(Option<(UserId, Instant)>);

impl LastCheck {
    /// Returns whether a destination is to be checked at `now`, and notes that it is.
    fn begin(&mut self, destination: &UserId, now: Instant) -> bool {
        let is_due = match &self.0 {
            Some((known, again)) => known != destination || now >= *again,
            None => true,
        };
        if is_due {
            self.0 = Some((destination.clone(), now + CHECK_AGAIN));
        }
        is_due
    }

    /// Notes that a destination was wrong, or could not be checked, unless another one came
    /// meanwhile.
    fn retry(&mut self, destination: &UserId, now: Instant) {
        if let Some((_, again)) = self.0.as_mut().filter(|(known, _)| known == destination) {
            *again = now + RETRY;
        }
    }
}

/// A bot as the ingress knows it.
#[derive(Clone, Debug)]
pub struct IngressBot {
    name: String,
    /// Verifies and parses what the platform sends to this bot.
    webhooks: SharedWebhooks,
    /// Directory with the bot's own id; `None` in a process without its access token.
    directory: Option<Directory>,
    /// Destination that was checked last.
    checked: Arc<Mutex<LastCheck>>,
    /// Health of the process, which tells of webhooks for another bot.
    health: Health,
}

impl IngressBots {
    /// Creates the set of these bots.
    pub fn new(bots: impl IntoIterator<Item = IngressBot>) -> Self {
        let mut platforms: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for bot in bots {
            platforms.entry(bot.webhooks.path()).or_default().insert(bot.name.clone(), bot);
        }
        Self(platforms)
    }

    /// Returns the path segments of the platforms.
    pub(super) fn platforms(&self) -> BTreeSet<&'static str> {
        self.0.keys().copied().collect()
    }

    /// Returns the names of the bots of all platforms.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.values().flat_map(BTreeMap::keys).map(String::as_str)
    }

    pub(super) fn get(&self, platform: &str, name: &str) -> Option<&IngressBot> {
        self.0.get(platform)?.get(name)
    }

    /// Returns the platform's only bot, if there is just one.
    pub(super) fn only(&self, platform: &str) -> Option<&IngressBot> {
        let bots = self.0.get(platform)?;
        bots.values().next().filter(|_| bots.len() == 1)
    }

    /// Returns the valid webhook paths of a platform, for the error response to a wrong one.
    pub(super) fn paths(&self, platform: &str) -> String {
        let names = self.0.get(platform).into_iter().flat_map(BTreeMap::keys);
        let paths: Vec<_> = names.map(|name| format!("/webhook/{platform}/{name}")).collect();
        paths.join(", ")
    }
}

impl IngressBot {
    /// Creates a bot that receives webhooks through this adapter.
    pub fn new(
        name: &str,
        webhooks: SharedWebhooks,
        directory: Option<Directory>,
        health: Health,
    ) -> Self {
        Self { name: name.to_owned(), webhooks, directory, checked: Arc::default(), health }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn webhooks(&self) -> &dyn InboundWebhooks {
        &*self.webhooks
    }

    /// Raises a problem when a correctly signed webhook names another bot than the owner of the access
    /// token: secret and token were mixed up then, and no reply will be accepted. Runs in the
    /// background, every [`RETRY`] until the destination is right, and every [`CHECK_AGAIN`] then.
    pub(super) fn check(&self, destination: Option<UserId>) {
        let (Some(destination), Some(directory)) = (destination, &self.directory) else {
            return;
        };
        if !self.last_check().begin(&destination, Instant::now()) {
            return;
        }
        let (directory, bot) = (directory.clone(), self.clone());
        panics::spawn("bot_check", async move {
            let part = format!("bot_identity:{}", bot.name);
            match directory.bot().await {
                Ok(own) if own.user_id == destination => {
                    bot.health.clear(&part);
                    debug!(bot = bot.name, "webhooks are for this bot");
                }
                Ok(own) => {
                    let own = own.user_id;
                    let reason = format!(
                        "webhooks are for {destination}, another bot than that of the access token, \
                         {own}; do its secret and access token belong together?"
                    );
                    bot.health.raise(&part, reason);
                    bot.last_check().retry(&destination, Instant::now());
                }
                Err(error) => {
                    debug!(bot = bot.name, code = error.code(), "cannot look up the bot's own ID");
                    bot.last_check().retry(&destination, Instant::now());
                }
            }
        });
    }

    fn last_check(&self) -> MutexGuard<'_, LastCheck> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_that_was_not_right_is_checked_once_a_second() {
        let (own, other) = (UserId::from("Uown"), UserId::from("Uother"));
        let (mut last, start) = (LastCheck::default(), Instant::now());
        assert!(last.begin(&own, start));
        assert!(!last.begin(&own, start), "it is being checked");
        last.retry(&own, start);
        assert!(!last.begin(&own, start + RETRY / 2));
        assert!(last.begin(&own, start + RETRY));
        // It was right.
        assert!(!last.begin(&own, start + RETRY * 2));
        assert!(last.begin(&own, start + RETRY + CHECK_AGAIN));
        assert!(last.begin(&other, start + RETRY + CHECK_AGAIN), "another one is checked at once");
        last.retry(&own, start);
        assert!(
            !last.begin(&other, start + RETRY + CHECK_AGAIN * 9 / 10),
            "that was not asked about"
        );
    }
}
