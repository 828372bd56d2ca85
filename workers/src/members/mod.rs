//! Members: membership of channels, and names of people and channels.

mod cursor;
mod missing;
mod names;
mod plausibility;
mod quiet_groups;
mod quiet_members;

use std::time::Duration;

use chatkeep_core::event::{Event, EventKind};
use chatkeep_core::id::UserId;
use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_store::{PresenceEvidence, PresenceEvidenceKind, Store, StoreError};

use crate::backup::decode_event;
use crate::outcome::{Outcome, Unfinished};
use crate::runner::Stage;
use crate::stages::StageName;

pub use self::missing::MissingNames;
use self::names::NameFetcher;
pub use self::quiet_groups::QuietGroups;
pub use self::quiet_members::QuietMembers;

/// Maximum number of events of one batch: the platform may have to be called about each.
const BATCH: usize = 1_000;

/// The members stage.
#[derive(Debug)]
pub struct Members {
    store: Store,
    clock: SharedClock,
    batch: usize,
    names: NameFetcher,
}

impl Members {
    /// Creates a members stage that handles up to `batch` events at once, and 1,000 at most.
    pub fn new(store: Store, bots: Bots, clock: SharedClock, batch: usize) -> Self {
        let names = NameFetcher::new(store.clone(), bots, SharedClock::clone(&clock));
        Self { store, clock, batch: batch.min(BATCH), names }
    }

    /// Sets the time in which the platform has to return the names of one batch, instead of 30
    /// seconds. Those that come later are fetched with later events, or by [`MissingNames`].
    #[must_use]
    pub fn with_names_within(self, time: Duration) -> Self {
        Self { names: self.names.within(time), ..self }
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
        self.names.refresh(events, &opt_outs).await
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
        let outcome = self.learn(events).await.map_err(Unfinished::from);
        vec![outcome; events.len()]
    }
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
