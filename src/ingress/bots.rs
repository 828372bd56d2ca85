//! Bots whose webhooks are accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
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

/// Destination that was the bot's own.
#[derive(Clone, Debug)]
struct Checked {
    destination: UserId,
    at: Instant,
}

/// A bot as the ingress knows it.
#[derive(Clone, Debug)]
pub struct IngressBot {
    name: String,
    /// Verifies and parses what the platform sends to this bot.
    webhooks: SharedWebhooks,
    /// Directory with the bot's own id; `None` in a process without its access token.
    directory: Option<Directory>,
    /// Destination that was checked last, and found to be the bot's own.
    checked: Arc<Mutex<Option<Checked>>>,
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
    /// background, for each webhook until the destination is right, and every [`CHECK_AGAIN`] then.
    pub(super) fn check(&self, destination: Option<UserId>) {
        let (Some(destination), Some(directory)) = (destination, &self.directory) else {
            return;
        };
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = checked.as_ref().is_some_and(|checked| {
            checked.destination == destination && checked.at.elapsed() < CHECK_AGAIN
        });
        if is_known {
            return;
        }
        *checked = Some(Checked { destination: destination.clone(), at: Instant::now() });
        drop(checked);
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
                    bot.forget_check();
                }
                Err(error) => {
                    debug!(bot = bot.name, code = error.code(), "cannot look up the bot's own ID");
                    bot.forget_check();
                }
            }
        });
    }

    /// Has the next webhook be checked again.
    fn forget_check(&self) {
        *self.checked.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
