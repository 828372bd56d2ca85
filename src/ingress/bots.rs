//! The bots whose webhooks are taken.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chatkeep_core::id::UserId;
use chatkeep_core::platform::Directory;
use chatkeep_core::platform::line::SignatureKey;
use tracing::{debug, warn};

/// The bots by name.
#[derive(Debug, Default)]
pub struct IngressBots(BTreeMap<String, IngressBot>);

/// One bot as the ingress knows it.
#[derive(Clone, Debug)]
pub struct IngressBot {
    name: String,
    /// Checks that a body is LINE's, and for this bot.
    key: SignatureKey,
    /// Knows the bot's own id; `None` in a process without its access token.
    directory: Option<Directory>,
    /// The destination that was looked at last.
    checked: Arc<Mutex<Option<UserId>>>,
}

impl IngressBots {
    /// These bots.
    pub fn new(bots: impl IntoIterator<Item = IngressBot>) -> Self {
        Self(bots.into_iter().map(|bot| (bot.name.clone(), bot)).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&IngressBot> {
        self.0.get(name)
    }

    /// The one there is, where there is one only.
    pub(super) fn only(&self) -> Option<&IngressBot> {
        self.0.values().next().filter(|_| self.0.len() == 1)
    }

    /// Where webhooks can be sent, for whoever sent one elsewhere.
    pub(super) fn paths(&self) -> String {
        let paths: Vec<_> = self.0.keys().map(|name| format!("/webhook/line/{name}")).collect();
        paths.join(", ")
    }
}

impl IngressBot {
    /// A bot whose webhooks are signed with `key`.
    pub fn new(name: &str, key: SignatureKey, directory: Option<Directory>) -> Self {
        Self { name: name.to_owned(), key, directory, checked: Arc::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn signed(&self, body: &[u8], signature: &str) -> bool {
        self.key.verify(body, signature)
    }

    /// Warns when a rightly signed webhook names another bot than the one that the access token is
    /// of: secret and token were mixed up then. Looked at on the side, once for each destination.
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
        tokio::spawn(async move {
            match directory.bot().await {
                Ok(own) if own.user_id == destination => debug!(bot, "webhooks are for this bot"),
                Ok(own) => warn!(
                    bot, %destination, own = %own.user_id,
                    "webhooks are for another bot than the access token; are channel_secret and \
                     access_token of the same channel?"
                ),
                Err(error) => debug!(bot, code = error.code(), "the bot's own id is not known"),
            }
        });
    }
}
