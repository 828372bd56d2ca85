//! Members: membership of channels, and names of people and channels.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chatkeep_core::cache::Cache;
use chatkeep_core::event::{ChannelRef, Event, EventKind};
use chatkeep_core::id::UserId;
use chatkeep_core::profile::Profile;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::{Bots, Directory, PlatformError};
use chatkeep_store::{OptOuts, PresenceEvidence, PresenceEvidenceKind, Store, StoreError};
use futures_util::StreamExt as _;
use tracing::debug;

use crate::backup::decode_event;
use crate::outcome::Outcome;
use crate::runner::Stage;
use crate::stages::StageName;

/// Maximum age of a stored name or picture before the platform is called again.
const STALE: Duration = Duration::from_hours(24);
/// Pause after a failed call before the platform is called again about the same one.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of events of one batch: the platform may have to be called about each.
const BATCH: usize = 1_000;
/// Concurrent calls to the platform for one batch.
const CALLS: usize = 8;

/// The members stage.
#[derive(Debug)]
pub struct Members {
    store: Store,
    bots: Bots,
    clock: SharedClock,
    batch: usize,
    /// People and channels for which the platform failed recently.
    failed: Cache<String, ()>,
}

impl Members {
    /// Creates a members stage that handles up to `batch` events at once, and 1,000 at most.
    pub fn new(store: Store, bots: Bots, clock: SharedClock, batch: usize) -> Self {
        let failed = Cache::new(10_000, TIMEOUT);
        Self { store, bots, clock, batch: batch.min(BATCH), failed }
    }

    async fn learn(&self, events: &[Event]) -> Result<(), StoreError> {
        let opt_outs = self.store.members().opt_outs(events.iter().flat_map(people_in)).await?;
        let evidence = |event| {
            // Membership is what access is decided by; that somebody who opted out wrote is not.
            let quiet = opt_outs.refuse_event(event);
            evidence_of(event).into_iter().filter(move |item| {
                !(quiet && matches!(item.kind, PresenceEvidenceKind::Present(_)))
            })
        };
        let evidence: Vec<_> = events.iter().flat_map(evidence).collect();
        self.store.members().record_presence(&evidence, self.clock.now()).await?;
        self.refresh_names(events, &opt_outs).await
    }

    /// Returns the time before which stored names are refreshed.
    fn stale(&self) -> Timestamp {
        let age = i64::try_from(STALE.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.clock.now().millis().saturating_sub(age).max(1))
    }

    /// Fetches names from the platform that are missing or old. Best effort: a failed call is
    /// repeated with a later event. People who opted out are not asked about.
    async fn refresh_names(&self, events: &[Event], opt_outs: &OptOuts) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut people = people_of(events);
        people.retain(|user, (_, channel)| !opt_outs.refuse(&channel.id, user, now));
        let users: Vec<_> = people.keys().cloned().collect();
        if !users.is_empty() {
            let unknown = self.store.members().without_profile(&users, self.stale()).await?;
            let mut asked = Vec::with_capacity(unknown.len());
            for user in unknown {
                if let Some((bot, channel)) = people.get(&user) {
                    asked.push(self.profile(bot, user, (*channel).clone()));
                }
            }
            let answers: Vec<_> =
                futures_util::stream::iter(asked).buffer_unordered(CALLS).collect().await;
            let profiles: BTreeMap<_, _> = answers.into_iter().flatten().collect();
            self.store.members().save_profiles(&profiles, self.clock.now()).await?;
        }
        for (bot, channel, changed) in channels_of(events) {
            self.summary(bot, channel, changed).await?;
        }
        Ok(())
    }

    async fn profile(
        &self,
        bot: &str,
        user: UserId,
        channel: ChannelRef,
    ) -> Option<(UserId, Option<Profile>)> {
        let directory = self.asked(bot, user.as_str())?;
        match directory.profile(&channel, &user).await {
            Ok(profile) => Some((user, profile)),
            Err(error) => {
                self.gave_up(bot, user.as_str(), &error);
                None
            }
        }
    }

    /// Returns the bot to call about a person or chat; `None` if it failed recently, or is not
    /// configured any more: its evidence counts all the same.
    fn asked(&self, bot: &str, key: &str) -> Option<&Directory> {
        if self.failed.contains(&failure_key(bot, key)) {
            return None;
        }
        self.bots
            .get(bot)
            .inspect_err(|error| debug!(code = error.code(), bot, "not called: unknown bot"))
            .ok()
    }

    async fn summary(
        &self,
        bot: &str,
        channel: &ChannelRef,
        changed: bool,
    ) -> Result<(), StoreError> {
        let Some(directory) = self.asked(bot, channel.id.as_str()) else {
            return Ok(());
        };
        if changed {
            directory.forget_summary(&channel.id);
        } else if !self.store.channels().lacks_summary(&channel.id, self.stale()).await? {
            return Ok(());
        }
        match directory.summary(channel).await {
            Ok(summary) => {
                let summary = summary.unwrap_or_default();
                self.store.channels().save_summary(&channel.id, &summary, self.clock.now()).await?;
            }
            Err(error) => self.gave_up(bot, channel.id.as_str(), &error),
        }
        Ok(())
    }

    fn gave_up(&self, bot: &str, key: &str, error: &PlatformError) {
        debug!(code = error.code(), bot, "the platform returned no profile");
        self.failed.insert(failure_key(bot, key), ());
    }
}

impl Stage for Members {
    type Item = Event;

    fn name(&self) -> StageName {
        StageName::Members
    }

    fn batch_size(&self) -> usize {
        self.batch
    }

    fn concurrency(&self) -> usize {
        2
    }

    fn decode(&self, payload: &[u8]) -> Result<Event, String> {
        decode_event(payload)
    }

    async fn handle(&self, events: &[Event]) -> Vec<Outcome> {
        let outcome = self.learn(events).await.map_or_else(Outcome::from, |()| Outcome::Done);
        vec![outcome; events.len()]
    }
}

/// Returns the cache key of a failure by bot: another bot may know what one does not.
fn failure_key(bot: &str, key: &str) -> String {
    format!("{bot}:{key}")
}

/// Returns the presence evidence of an event.
pub(crate) fn evidence_of(event: &Event) -> Vec<PresenceEvidence> {
    let Some(channel) = &event.channel else {
        return Vec::new();
    };
    let kinds: Vec<PresenceEvidenceKind> = match &event.kind {
        EventKind::BotJoined => vec![PresenceEvidenceKind::BotJoined],
        EventKind::BotLeft => vec![PresenceEvidenceKind::BotLeft],
        EventKind::MembersJoined(users) => {
            users.iter().cloned().map(PresenceEvidenceKind::Joined).collect()
        }
        EventKind::MembersLeft(users) => {
            users.iter().cloned().map(PresenceEvidenceKind::Left).collect()
        }
        _ => Vec::new(),
    };
    // Whoever acts is present; following and blocking is about the bot itself.
    let present = match event.kind {
        EventKind::MembersLeft(_) | EventKind::BotLeft => None,
        _ => event.sender.clone().map(PresenceEvidenceKind::Present),
    };
    kinds
        .into_iter()
        .chain(present)
        .chain([PresenceEvidenceKind::Channel])
        .map(|kind| PresenceEvidence {
            channel: channel.clone(),
            platform: event.platform,
            bot: event.bot.clone(),
            at: event.at,
            kind,
        })
        .collect()
}

/// Returns the people whom an event is about.
fn people_in(event: &Event) -> impl Iterator<Item = &UserId> {
    let joined: &[UserId] = match &event.kind {
        EventKind::MembersJoined(users) => users,
        _ => &[],
    };
    joined.iter().chain(&event.sender)
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

/// Returns the channels of a batch with the bot in them, and whether their size changed in it.
fn channels_of(events: &[Event]) -> Vec<(&str, &ChannelRef, bool)> {
    let mut seen = BTreeSet::new();
    let mut channels = Vec::new();
    for event in events.iter().filter(|e| !matches!(e.kind, EventKind::BotLeft)) {
        let Some(channel) = &event.channel else {
            continue;
        };
        let changed = matches!(
            event.kind,
            EventKind::BotJoined | EventKind::MembersJoined(_) | EventKind::MembersLeft(_)
        );
        if seen.insert((channel.id.as_str(), changed)) {
            channels.push((event.bot.as_str(), channel, changed));
        }
    }
    channels
}
