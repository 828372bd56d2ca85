//! Cache of the platform's profiles of people and chats, so that the platform is not called again
//! for every message.
//!
//! Every cache is bounded and expires; unknown people and chats are cached for a short while only.
//! Concurrent requests for the same one share one call.

use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::cache::Cache;
use chatkeep_core::event::ChannelRef;
use chatkeep_core::id::{ChannelId, UserId};

use super::{BotInfo, ChannelSummary, PlatformError, Profile, SharedPlatform};

/// Maximum age of a name or picture.
const PROFILE_AGE: Duration = Duration::from_hours(1);
/// Maximum age of a chat's name and size.
const SUMMARY_AGE: Duration = Duration::from_mins(10);
/// Maximum age of a "not known": the person may join at any moment.
const UNKNOWN_AGE: Duration = Duration::from_mins(1);
/// Maximum age of the bot's own name and picture.
const BOT_AGE: Duration = Duration::from_mins(10);
/// Maximum number of cached people; about 200 bytes each.
const PEOPLE: usize = 50_000;
/// Maximum number of cached chats.
const CHANNELS: usize = 10_000;

/// Cached profiles of people and chats. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Directory {
    platform: SharedPlatform,
    profiles: Cache<(ChannelId, UserId), Response<Option<Profile>>>,
    summaries: Cache<ChannelId, Response<Option<ChannelSummary>>>,
    bot: Cache<(), Response<BotInfo>>,
}

/// Response of the platform. Whoever waits for it gets its failure, too; a failure is not cached.
type Response<T> = Result<T, Arc<PlatformError>>;

impl Directory {
    /// Creates an empty directory over `platform`.
    pub fn new(platform: SharedPlatform) -> Self {
        Self {
            platform,
            profiles: Cache::with_ages(PEOPLE, |profile| age_of(profile, PROFILE_AGE)),
            summaries: Cache::with_ages(CHANNELS, |summary| age_of(summary, SUMMARY_AGE)),
            bot: Cache::with_ages(1, |bot| bot.as_ref().map_or(Duration::ZERO, |_| BOT_AGE)),
        }
    }

    /// Returns the platform itself.
    pub fn platform(&self) -> &SharedPlatform {
        &self.platform
    }

    /// Returns a person's profile; `None` if the platform does not know them in that chat.
    ///
    /// # Errors
    /// Fails when the platform is not available.
    #[boxed]
    pub async fn profile(
        &self,
        channel: &ChannelRef,
        user: &UserId,
    ) -> Result<Option<Profile>, Arc<PlatformError>> {
        let key = (channel.id.clone(), user.clone());
        let asked = async { known(self.platform.profile(channel, user).await) };
        self.profiles.get_or_compute(&key, asked).await
    }

    /// Returns a chat's name, picture and size; `None` if the platform does not know it.
    ///
    /// # Errors
    /// Fails when the platform is not available.
    #[boxed]
    pub async fn summary(
        &self,
        channel: &ChannelRef,
    ) -> Result<Option<ChannelSummary>, Arc<PlatformError>> {
        let asked = async { known(self.platform.summary(channel).await) };
        self.summaries.get_or_compute(&channel.id, asked).await
    }

    /// Returns a chat's name, picture and size as the platform says now, whatever is cached; `None`
    /// if it does not know the chat: the bot is not in it.
    ///
    /// # Errors
    /// Fails when the platform is not available.
    #[boxed]
    pub async fn current_summary(
        &self,
        channel: &ChannelRef,
    ) -> Result<Option<ChannelSummary>, Arc<PlatformError>> {
        let summary = known(self.platform.summary(channel).await);
        if summary.is_ok() {
            self.summaries.insert(channel.id.clone(), summary.clone());
        }
        summary
    }

    /// Removes a chat's summary from the cache, because its size changed.
    pub fn forget_summary(&self, channel: &ChannelId) {
        self.summaries.remove(channel);
    }

    /// Returns the bot's own profile.
    ///
    /// # Errors
    /// Fails when the platform is not available.
    #[boxed]
    pub async fn bot(&self) -> Result<BotInfo, Arc<PlatformError>> {
        let asked = async { self.platform.bot().await.map_err(Arc::new) };
        self.bot.get_or_compute(&(), asked).await
    }
}

/// Returns the maximum age of a response, `age` if it is known.
fn age_of<T>(response: &Response<Option<T>>, age: Duration) -> Duration {
    match response {
        Ok(Some(_)) => age,
        Ok(None) => UNKNOWN_AGE,
        Err(_) => Duration::ZERO,
    }
}

fn known<T>(answer: Result<T, PlatformError>) -> Response<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(PlatformError::NotFound) => Ok(None),
        Err(error) => Err(Arc::new(error)),
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
