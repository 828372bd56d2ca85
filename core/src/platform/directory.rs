//! What the platform told about people and chats, remembered for a while so that it is not asked
//! again for every message.

use std::time::Duration;

use moka::future::Cache;

use super::{BotInfo, ChannelSummary, PlatformError, Profile, SharedPlatform};
use crate::event::ChannelRef;
use crate::id::{ChannelId, UserId};

/// A name or picture may be this old.
const PROFILE_AGE: Duration = Duration::from_hours(1);
/// A chat's name and size may be this old.
const SUMMARY_AGE: Duration = Duration::from_mins(10);
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

impl Directory {
    /// An empty directory over `platform`.
    pub fn new(platform: SharedPlatform) -> Self {
        let cache = |capacity, age| Cache::builder().max_capacity(capacity).time_to_live(age);
        Self {
            platform,
            profiles: cache(PEOPLE, PROFILE_AGE).build(),
            summaries: Cache::builder().max_capacity(CHANNELS).time_to_live(SUMMARY_AGE).build(),
            bot: Cache::builder().max_capacity(1).time_to_live(SUMMARY_AGE).build(),
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
    ) -> Result<Option<Profile>, PlatformError> {
        let key = (channel.id.clone(), user.clone());
        if let Some(known) = self.profiles.get(&key).await {
            return Ok(known);
        }
        let profile = known(self.platform.profile(channel, user).await)?;
        self.profiles.insert(key, profile.clone()).await;
        Ok(profile)
    }

    /// A chat's name, picture and size; `None` when the platform does not know it.
    ///
    /// # Errors
    /// When the platform cannot tell now.
    pub async fn summary(
        &self,
        channel: &ChannelRef,
    ) -> Result<Option<ChannelSummary>, PlatformError> {
        if let Some(known) = self.summaries.get(&channel.id).await {
            return Ok(known);
        }
        let summary = known(self.platform.summary(channel).await)?;
        self.summaries.insert(channel.id.clone(), summary.clone()).await;
        Ok(summary)
    }

    /// Forgets a chat's summary, because its size changed.
    pub async fn forget_summary(&self, channel: &ChannelId) {
        self.summaries.invalidate(channel).await;
    }

    /// The bot's own profile.
    ///
    /// # Errors
    /// When the platform cannot tell now.
    pub async fn bot(&self) -> Result<BotInfo, PlatformError> {
        if let Some(known) = self.bot.get(&()).await {
            return Ok(known);
        }
        let bot = self.platform.bot().await?;
        self.bot.insert((), bot.clone()).await;
        Ok(bot)
    }
}

fn known<T>(answer: Result<T, PlatformError>) -> Result<Option<T>, PlatformError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(PlatformError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}
