//! Names of people and chats, as the platform says: fetched in bounded time, and stored.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chatkeep_core::cache::Cache;
use chatkeep_core::event::{ChannelRef, Event, EventKind};
use chatkeep_core::id::{ChannelId, UserId};
use chatkeep_core::profile::{ChannelSummary, Profile};
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::{Bots, Directory, PlatformError};
use chatkeep_store::{NamelessChannel, NamelessMember, OptOuts, Store, StoreError};
use futures_util::StreamExt as _;
use tracing::debug;

use super::people_in;

/// Maximum age of a stored name or picture before the platform is called again.
pub(super) const STALE: Duration = Duration::from_hours(24);
/// Concurrent calls to the platform for one batch, about people and about chats each.
const CALLS: usize = 32;
/// Pause after a failed call before the platform is called again about the same one.
const RETRY_PAUSE: Duration = Duration::from_mins(1);
/// Default time in which the platform returns the names of one batch, about people and about chats at
/// once. Far below the timeout of a call of a stage: nobody's membership waits for names.
const WITHIN: Duration = Duration::from_secs(30);

/// Chat of a batch.
#[derive(Debug)]
struct Chat<'a> {
    bot: &'a str,
    channel: &'a ChannelRef,
    /// Its size changed in the batch.
    changed: bool,
}

/// Fetches names, and stores them.
#[derive(Debug)]
pub(super) struct NameFetcher {
    pub(super) store: Store,
    bots: Bots,
    clock: SharedClock,
    /// Time in which the platform has to return the names of one batch.
    within: Duration,
    /// People and channels for which the platform failed recently.
    failed: Cache<String, ()>,
}

impl NameFetcher {
    pub(super) fn new(store: Store, bots: Bots, clock: SharedClock) -> Self {
        let failed = Cache::new(10_000, RETRY_PAUSE);
        Self { store, bots, clock, within: WITHIN, failed }
    }

    pub(super) const fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// Fetches names of people and chats from the platform that are missing or old. Best effort:
    /// what fails, or is not there in time, is fetched with a later event or by
    /// [`MissingNames`](super::MissingNames).
    pub(super) async fn refresh(
        &self,
        events: &[Event],
        opt_outs: &OptOuts,
    ) -> Result<(), StoreError> {
        let (profiles, summaries) =
            tokio::join!(self.profiles(events, opt_outs), self.summaries(events));
        let now = self.clock.now();
        self.store.members().save_fetched_profiles(&profiles?, now).await?;
        self.store.channels().save_summaries(&summaries?, now).await
    }

    /// Fetches profiles of people; those who opted out are not asked about.
    async fn profiles(
        &self,
        events: &[Event],
        opt_outs: &OptOuts,
    ) -> Result<BTreeMap<UserId, (ChannelId, Option<Profile>)>, StoreError> {
        let now = self.clock.now();
        let mut people = people_of(events);
        people.retain(|user, (_, channel)| !opt_outs.refuse(&channel.id, user, now));
        if people.is_empty() {
            return Ok(BTreeMap::new());
        }
        let users: Vec<_> = people.keys().cloned().collect();
        let unknown = self.store.members().without_profile(&users, self.stale()).await?;
        let asked: Vec<_> = unknown
            .into_iter()
            .filter_map(|user| people.get_key_value(&user))
            .map(|(user, (bot, channel))| self.profile(bot, user, channel))
            .collect();
        Ok(self.in_time(asked).await)
    }

    /// Fetches names, pictures and sizes of chats.
    async fn summaries(
        &self,
        events: &[Event],
    ) -> Result<BTreeMap<ChannelId, ChannelSummary>, StoreError> {
        let channels = channels_of(events);
        if channels.is_empty() {
            return Ok(BTreeMap::new());
        }
        let known: Vec<_> = channels.keys().map(|id| (*id).clone()).collect();
        let old = self.store.channels().without_summary(&known, self.stale()).await?;
        let old: BTreeSet<_> = old.iter().collect();
        let asked: Vec<_> = channels
            .iter()
            .filter(|(id, chat)| chat.changed || old.contains(*id))
            .map(|(_, chat)| self.summary(chat))
            .collect();
        Ok(self.in_time(asked).await)
    }

    /// Makes calls to the platform, and returns the results of those that end in time. Those that
    /// failed have none.
    pub(super) async fn in_time<K: Ord, V>(
        &self,
        calls: Vec<impl Future<Output = Option<(K, V)>>>,
    ) -> BTreeMap<K, V> {
        let (all, mut ended) = (calls.len(), 0);
        let over = tokio::time::sleep(self.within);
        let results = futures_util::stream::iter(calls).buffer_unordered(CALLS).take_until(over);
        let results: Vec<_> = results.inspect(|_| ended += 1).collect().await;
        if ended < all {
            debug!(left = all - ended, "the platform is slow; names are fetched with later events");
        }
        results.into_iter().flatten().collect()
    }

    async fn profile(
        &self,
        bot: &str,
        user: &UserId,
        channel: &ChannelRef,
    ) -> Option<(UserId, (ChannelId, Option<Profile>))> {
        let directory = self.directory_of(bot, user.as_str())?;
        match directory.profile(channel, user).await {
            Ok(profile) => Some((user.clone(), (channel.id.clone(), profile))),
            Err(error) => {
                self.gave_up(bot, user.as_str(), &error);
                None
            }
        }
    }

    async fn summary(&self, chat: &Chat<'_>) -> Option<(ChannelId, ChannelSummary)> {
        let Chat { bot, channel, changed } = *chat;
        let directory = self.directory_of(bot, channel.id.as_str())?;
        if changed {
            directory.forget_summary(&channel.id);
        }
        match directory.summary(channel).await {
            Ok(summary) => Some((channel.id.clone(), summary.unwrap_or_default())),
            Err(error) => {
                self.gave_up(bot, channel.id.as_str(), &error);
                None
            }
        }
    }

    /// Returns the time before which stored names are refreshed.
    fn stale(&self) -> Timestamp {
        self.clock.now().minus(STALE).max(Timestamp::from_millis(1))
    }

    /// Fetches the profiles of people who have none.
    pub(super) async fn fetch_people(
        &self,
        people: &[NamelessMember],
    ) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let opt_outs = self.store.members().opt_outs(people.iter().map(|one| &one.user)).await?;
        let asked: Vec<_> = people
            .iter()
            .filter(|one| !opt_outs.refuse(&one.channel.id, &one.user, now))
            .map(|one| self.profile(&one.bot, &one.user, &one.channel))
            .collect();
        let profiles = self.in_time(asked).await;
        self.store.members().save_fetched_profiles(&profiles, self.clock.now()).await?;
        Ok(profiles.values().filter(|(_, profile)| profile.is_some()).count())
    }

    /// Fetches the names, pictures and sizes of chats that have none.
    pub(super) async fn fetch_channels(
        &self,
        channels: &[NamelessChannel],
    ) -> Result<usize, StoreError> {
        let chats: Vec<_> = channels
            .iter()
            .map(|one| Chat { bot: &one.bot, channel: &one.channel, changed: false })
            .collect();
        let asked = chats.iter().map(|chat| self.summary(chat)).collect();
        let summaries = self.in_time(asked).await;
        self.store.channels().save_summaries(&summaries, self.clock.now()).await?;
        Ok(summaries.values().filter(|summary| summary.name.is_some()).count())
    }

    /// Returns the bot to call about a person or chat; `None` if it failed recently, or is not
    /// configured any more: its evidence counts all the same.
    pub(super) fn directory_of(&self, bot: &str, key: &str) -> Option<&Directory> {
        if self.failed.contains(&failure_key(bot, key)) {
            return None;
        }
        self.bots
            .get(bot)
            .inspect_err(|error| debug!(code = error.code(), bot, "not called: unknown bot"))
            .ok()
    }

    pub(super) fn gave_up(&self, bot: &str, key: &str, error: &PlatformError) {
        debug!(code = error.code(), bot, "the platform returned no profile");
        self.failed.insert(failure_key(bot, key), ());
    }
}

/// Returns the cache key of a failure by bot: another bot may know what one does not.
fn failure_key(bot: &str, key: &str) -> String {
    format!("{bot}:{key}")
}

/// Returns the people whose names are needed, each with a bot and a channel where it can see them.
fn people_of(events: &[Event]) -> BTreeMap<UserId, (&str, &ChannelRef)> {
    let mut people = BTreeMap::new();
    for event in events {
        let Some(channel) = &event.channel else {
            continue;
        };
        if matches!(event.kind, EventKind::BotLeft | EventKind::MembersLeft(_)) {
            continue;
        }
        for user in people_in(event) {
            people.insert(user.clone(), (event.bot.as_str(), channel));
        }
    }
    people
}

/// Returns the chats of a batch that the bot has not left.
fn channels_of(events: &[Event]) -> BTreeMap<&ChannelId, Chat<'_>> {
    let mut chats: BTreeMap<_, Chat<'_>> = BTreeMap::new();
    for event in events.iter().filter(|e| !matches!(e.kind, EventKind::BotLeft)) {
        let Some(channel) = &event.channel else {
            continue;
        };
        let changed = matches!(
            event.kind,
            EventKind::BotJoined | EventKind::MembersJoined(_) | EventKind::MembersLeft(_)
        );
        let chat = Chat { bot: &event.bot, channel, changed };
        chats.entry(&channel.id).or_insert(chat).changed |= changed;
    }
    chats
}
