//! What the platform told about people and chats, remembered for a while so that it is not asked
//! again for every message.
//!
//! Every cache is bounded and forgets; that the platform does not know somebody is remembered for a
//! short while only. Who asks about the same one at the same time waits for one call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;

use super::{BotInfo, ChannelSummary, PlatformError, Profile, SharedPlatform};
use crate::event::ChannelRef;
use crate::id::{ChannelId, UserId};

/// A name or picture may be this old.
const PROFILE_AGE: Duration = Duration::from_hours(1);
/// A chat's name and size may be this old.
const SUMMARY_AGE: Duration = Duration::from_mins(10);
/// That the platform does not know somebody may be this old: they may come in any moment.
const UNKNOWN_AGE: Duration = Duration::from_mins(1);
/// The bot's own name and picture may be this old.
const BOT_AGE: Duration = Duration::from_mins(10);
/// People remembered at most; about 200 bytes each.
const PEOPLE: u64 = 50_000;
/// Chats remembered at most.
const CHANNELS: u64 = 10_000;

/// The platform's answers about people and chats, cached. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Directory {
    platform: SharedPlatform,
    profiles: Cache<(ChannelId, UserId), Option<Profile>>,
    summaries: Cache<ChannelId, Option<ChannelSummary>>,
    bot: Cache<(), BotInfo>,
}

/// How long an answer is remembered.
#[derive(Clone, Copy, Debug)]
struct Age(Duration);

impl<K, V> Expiry<K, Option<V>> for Age {
    fn expire_after_create(&self, _: &K, answer: &Option<V>, _: Instant) -> Option<Duration> {
        Some(if answer.is_some() { self.0 } else { UNKNOWN_AGE })
    }
}

impl Directory {
    /// An empty directory over `platform`.
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

    /// The platform itself.
    pub fn platform(&self) -> &SharedPlatform {
        &self.platform
    }

    /// A person's profile; `None` when the platform does not know them in that chat.
    ///
    /// # Errors
    /// When the platform cannot tell now.
    pub async fn profile(
        &self,
        channel: &ChannelRef,
        user: &UserId,
    ) -> Result<Option<Profile>, Arc<PlatformError>> {
        let key = (channel.id.clone(), user.clone());
        let asked = async { known(self.platform.profile(channel, user).await) };
        self.profiles.try_get_with(key, asked).await
    }

    /// A chat's name, picture and size; `None` when the platform does not know it.
    ///
    /// # Errors
    /// When the platform cannot tell now.
    pub async fn summary(
        &self,
        channel: &ChannelRef,
    ) -> Result<Option<ChannelSummary>, Arc<PlatformError>> {
        let asked = async { known(self.platform.summary(channel).await) };
        self.summaries.try_get_with_by_ref(&channel.id, asked).await
    }

    /// Forgets a chat's summary, because its size changed.
    pub async fn forget_summary(&self, channel: &ChannelId) {
        self.summaries.invalidate(channel).await;
    }

    /// The bot's own profile.
    ///
    /// # Errors
    /// When the platform cannot tell now.
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
