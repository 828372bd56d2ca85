//! Bots whose webhooks are accepted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chatkeep_core::id::UserId;
use chatkeep_core::panics;
use chatkeep_platform::Directory;
use chatkeep_platform::line::SignatureKey;
use tracing::{debug, warn};

/// Bots by name.
#[derive(Debug, Default)]
pub struct IngressBots(BTreeMap<String, IngressBot>);

/// A bot as the ingress knows it.
#[derive(Clone, Debug)]
pub struct IngressBot {
    name: String,
    /// Verifies that a body is LINE's, and for this bot.
    key: SignatureKey,
    /// Directory with the bot's own id; `None` in a process without its access token.
    directory: Option<Directory>,
    /// Destination that was checked last.
    checked: Arc<Mutex<Option<UserId>>>,
}

impl IngressBots {
    /// Creates the set of these bots.
    pub fn new(bots: impl IntoIterator<Item = IngressBot>) -> Self {
        Self(bots.into_iter().map(|bot| (bot.name.clone(), bot)).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&IngressBot> {
        self.0.get(name)
    }

    /// Returns the only bot, if there is just one.
    pub(super) fn only(&self) -> Option<&IngressBot> {
        self.0.values().next().filter(|_| self.0.len() == 1)
    }

    /// Returns the valid webhook paths, for the error response to a wrong one.
    pub(super) fn paths(&self) -> String {
        let paths: Vec<_> = self.0.keys().map(|name| format!("/webhook/line/{name}")).collect();
        paths.join(", ")
    }
}

impl IngressBot {
    /// Creates a bot whose webhooks are signed with `key`.
    pub fn new(name: &str, key: SignatureKey, directory: Option<Directory>) -> Self {
        Self { name: name.to_owned(), key, directory, checked: Arc::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn signed(&self, body: &[u8], signature: &str) -> bool {
        self.key.verify(body, signature)
    }

    /// Warns when a correctly signed webhook names another bot than the owner of the access token:
    /// secret and token were mixed up then. Runs in the background, once for each destination.
    pub(super) fn check(&self, destination: Option<UserId>) {
        let (Some(destination), Some(directory)) = (destination, &self.directory) else {
            return;
        };
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.as_ref() == Some(&destination) {
            return;
        }
        *checked = Some(destination.clone());
        let (directory, bot) = (directory.clone(), self.name.clone());
        panics::spawn("bot_check", async move {
            match directory.bot().await {
                Ok(own) if own.user_id == destination => debug!(bot, "webhooks are for this bot"),
                Ok(own) => warn!(
                    bot, %destination, own = %own.user_id,
                    "webhooks are for another bot than the access token; are channel_secret and \
                     access_token of the same channel?"
                ),
                Err(error) => debug!(bot, code = error.code(), "cannot look up the bot's own ID"),
            }
        });
    }
}
