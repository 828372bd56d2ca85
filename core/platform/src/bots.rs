//! The configured bots: lookup of the bot of an event or a channel.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use chatkeep_core::event::ChannelRef;
use chatkeep_core::id::MessageId;

use super::{Directory, PlatformError, SharedPlatform};

/// Every bot that this process can call, by name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Bots(Arc<BTreeMap<String, Directory>>);

impl Bots {
    /// Creates the registry of these bots, each with an empty directory.
    pub fn new(bots: impl IntoIterator<Item = (String, SharedPlatform)>) -> Self {
        let bots = bots.into_iter().map(|(name, platform)| (name, Directory::new(platform)));
        Self(Arc::new(bots.collect()))
    }

    /// Returns whether there is no bot: the process has no access token.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the bots, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the bot of that name, for replies to an event that it received: another bot's token
    /// would be refused.
    ///
    /// # Errors
    /// [`PlatformError::UnknownBot`].
    pub fn get(&self, bot: &str) -> Result<&Directory, PlatformError> {
        self.0.get(bot).ok_or_else(|| PlatformError::UnknownBot { bot: bot.to_owned() })
    }

    /// Returns the bot of a channel, by the name that is stored with it. A single configured bot is
    /// used whatever it was called when the channel was stored.
    ///
    /// # Errors
    /// [`PlatformError::UnknownBot`].
    pub fn of_channel(&self, bot: &str) -> Result<&Directory, PlatformError> {
        let only = || self.0.values().next().filter(|_| self.0.len() == 1);
        self.get(bot).or_else(|error| only().ok_or(error))
    }

    /// Sends texts into a chat through the bot that is stored with it (`Channel::bot`), without an
    /// event to reply to; LINE counts and bills it. At most [`super::Platform::max_texts`] texts.
    /// `retry_key` (a UUID) is the idempotency key: however often the texts are pushed under one
    /// key, by whichever process, they arrive once.
    ///
    /// # Errors
    /// Fails when no such bot is configured, or the platform refused, or several attempts failed.
    #[boxed]
    pub async fn push(
        &self,
        bot: &str,
        channel: &ChannelRef,
        texts: &[String],
        retry_key: &str,
    ) -> Result<Vec<MessageId>, PlatformError> {
        self.of_channel(bot)?.platform().push(channel, texts, retry_key).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{LineApi, LineClient};
    use chatkeep_core::time::{SharedClock, SystemClock};

    fn bots(names: &[&str]) -> Bots {
        let clock: SharedClock = Arc::new(SystemClock);
        Bots::new(names.iter().map(|name| {
            let api = LineApi {
                bot: (*name).to_owned(),
                api_base: "http://127.0.0.1:9".to_owned(),
                data_api_base: "http://127.0.0.1:9".to_owned(),
                access_token: "t".to_owned().into(),
            };
            let http = chatkeep_core::http::client().unwrap();
            let client: SharedPlatform = Arc::new(LineClient::new(api, http.clone(), http, &clock));
            ((*name).to_owned(), client)
        }))
    }

    #[test]
    fn events_have_their_own_bot_and_channels_make_do_with_the_only_one() {
        let (none, one, two) = (bots(&[]), bots(&["shop"]), bots(&["shop", "help"]));
        assert!(one.get("shop").is_ok() && one.get("main").is_err());
        assert!(one.of_channel("main").is_ok() && one.of_channel("").is_ok());
        assert!(two.of_channel("help").is_ok() && two.of_channel("main").is_err());
        assert!(none.is_empty() && none.of_channel("main").is_err());
        assert_eq!(two.names().collect::<Vec<_>>(), ["help", "shop"]);
        let error = two.get("main").unwrap_err();
        assert_eq!(
            (error.code(), &*error.to_string()),
            ("unknown_bot", "no bot named \"main\" is configured")
        );
    }
}
