//! Cache of the platform's profiles of people and chats, so that the platform is not called again
//! for every message.
//!
//! Every cache is bounded and expires; unknown people and chats are cached for a short while only.
//! Concurrent requests for the same one share one call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chatkeep_core::event::ChannelRef;
use chatkeep_core::id::{ChannelId, UserId};
use moka::Expiry;
use moka::future::Cache;

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
const PEOPLE: u64 = 50_000;
/// Maximum number of cached chats.
const CHANNELS: u64 = 10_000;

/// Cached profiles of people and chats. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Directory {
    platform: SharedPlatform,
    profiles: Cache<(ChannelId, UserId), Option<Profile>>,
    summaries: Cache<ChannelId, Option<ChannelSummary>>,
    bot: Cache<(), BotInfo>,
}

/// Maximum age of a cached response.
#[derive(Clone, Copy, Debug)]
struct Age(Duration);

impl<K, V> Expiry<K, Option<V>> for Age {
    fn expire_after_create(&self, _: &K, answer: &Option<V>, _: Instant) -> Option<Duration> {
        Some(if answer.is_some() { self.0 } else { UNKNOWN_AGE })
    }
}

impl Directory {
    /// Creates an empty directory over `platform`.
    pub fn new(platform: SharedPlatform) -> Self {
        Self {
            platform,
            profiles: Cache::builder().max_capacity(PEOPLE).expire_after(Age(PROFILE_AGE)).build(),
            summaries: Cache::builder()
                .max_capacity(CHANNELS)
                .expire_after(Age(SUMMARY_AGE))
                .build(),
            bot: Cache::builder().max_capacity(1).time_to_live(BOT_AGE).build(),
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
    pub async fn profile(
        &self,
        channel: &ChannelRef,
        user: &UserId,
    ) -> Result<Option<Profile>, Arc<PlatformError>> {
        let key = (channel.id.clone(), user.clone());
        let asked = async { known(self.platform.profile(channel, user).await) };
        self.profiles.try_get_with(key, asked).await
    }

    /// Returns a chat's name, picture and size; `None` if the platform does not know it.
    ///
    /// # Errors
    /// Fails when the platform is not available.
    pub async fn summary(
        &self,
        channel: &ChannelRef,
    ) -> Result<Option<ChannelSummary>, Arc<PlatformError>> {
        let asked = async { known(self.platform.summary(channel).await) };
        self.summaries.try_get_with_by_ref(&channel.id, asked).await
    }

    /// Removes a chat's summary from the cache, because its size changed.
    pub async fn forget_summary(&self, channel: &ChannelId) {
        self.summaries.invalidate(channel).await;
    }

    /// Returns the bot's own profile.
    ///
    /// # Errors
    /// Fails when the platform is not available.
    pub async fn bot(&self) -> Result<BotInfo, Arc<PlatformError>> {
        self.bot.try_get_with((), self.platform.bot()).await
    }
}

fn known<T>(answer: Result<T, PlatformError>) -> Result<Option<T>, PlatformError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(PlatformError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
