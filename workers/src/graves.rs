//! Graves: dead letters hold events as they came, texts included. Those of messages that were taken
//! back or deleted meanwhile, and of people who were erased, are dropped, whether or not the message
//! was ever kept.
//!
//! Each letter is read once; what stays in memory is what it is about. A letter is checked when it
//! is read, and the known ones of a channel whenever something was taken back there: what is taken
//! back leaves a note in the store with its own transaction. Several processes may do this on one
//! bus. Notes are read before letters, and settled only by who has read every letter then, so a
//! letter is either among those that are checked for a note, or is read, and checked, after it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chatkeep_core::bus::{Bus, BusError, DeadLetter};
use chatkeep_core::event::{Envelope, Trace};
use chatkeep_core::id::ChannelId;
use chatkeep_core::log_reason;
use chatkeep_core::platform;
use chatkeep_core::store::{Store, Takeback};
use chatkeep_core::time::{SharedClock, Timestamp};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::outcome::Outcome;

/// How often is looked.
const LOOK: Duration = Duration::from_mins(1);
/// Every letter is read anew after this: what became too old by itself goes, and what is known of
/// letters that somebody else dropped is forgotten.
const ANEW: Duration = Duration::from_hours(6);
/// Letters read from the bus at once, and traces checked at once.
const PAGE: usize = 200;
/// Letters read in one look, at most; the next look goes on.
const LETTERS: usize = 2_000;
/// Letters of which is known what they are about, at most. When there are more, all are read anew
/// whenever something is taken back.
const KNOWN: usize = 100_000;
/// Channels dealt with in one look, at most.
const CHANNELS: u32 = 500;

/// Looks after dead letters.
#[derive(Debug)]
pub struct Graves {
    store: Store,
    bus: Bus,
    clock: SharedClock,
    /// The last letter that was read.
    after: Option<String>,
    /// When reading began with the first one.
    since: Option<Timestamp>,
    /// What letters are about, by their ids.
    known: BTreeMap<String, Trace>,
    /// Whether there are letters of which that is not known.
    overflown: bool,
    /// Notes that are being dealt with.
    notes: Vec<Takeback>,
}

impl Graves {
    /// Looks after the dead letters of `bus`; `store` knows what was taken back.
    pub const fn new(store: Store, bus: Bus, clock: SharedClock) -> Self {
        Self {
            store,
            bus,
            clock,
            after: None,
            since: None,
            known: BTreeMap::new(),
            overflown: false,
            notes: Vec::new(),
        }
    }

    /// Looks until `stop` is cancelled.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut looks = tokio::time::interval(LOOK);
        while stop.run_until_cancelled(looks.tick()).await.is_some() {
            match self.clear().await {
                Ok(0) => {}
                Ok(letters) => info!(letters, "dead letters of what was taken back are dropped"),
                Err(Outcome::Wait(failure) | Outcome::Retry(failure)) => {
                    log_reason!(warn, failure, "cannot look through the dead letters");
                }
                Err(outcome) => warn!(?outcome, "cannot look through the dead letters"),
            }
        }
    }

    /// Drops the dead letters of what was taken back, as far as this look gets, and says how many.
    ///
    /// # Errors
    /// [`Outcome::Wait`] or [`Outcome::Retry`] when bus or store fail; the next look goes on.
    pub async fn clear(&mut self) -> Result<usize, Outcome> {
        let now = self.clock.now();
        if self.notes.is_empty() {
            self.notes = self.store.takebacks(CHANNELS).await?;
            self.begin(now);
        }
        let (mut dropped, complete) = self.read_new(now).await?;
        dropped += self.check_known(now).await?;
        if complete {
            self.store.settle_takebacks(&self.notes).await?;
            self.notes.clear();
        }
        Ok(dropped)
    }

    /// Begins with the first letter where that is due.
    fn begin(&mut self, now: Timestamp) {
        let due = self.since.is_none_or(|since| now.since(since) >= ANEW);
        if due || (self.overflown && !self.notes.is_empty()) {
            self.known.clear();
            (self.after, self.since, self.overflown) = (None, Some(now), false);
        }
    }

    /// Reads letters that were not read before, and drops those of them that are to go. Says how
    /// many, and whether no letter is left to read.
    async fn read_new(&mut self, now: Timestamp) -> Result<(usize, bool), Outcome> {
        let mut dropped = 0;
        for _ in 0..LETTERS / PAGE {
            let letters = self.bus.dead_letters_after(self.after.as_deref(), PAGE).await?;
            let last = letters.len() < PAGE;
            let after = letters.last().map(|letter| letter.id.clone());
            let traces =
                letters.iter().filter_map(|letter| Some((letter.id.clone(), trace(letter)?)));
            let mut traces: BTreeMap<_, _> = traces.collect();
            dropped += self.drop_gone(&mut traces, now).await?;
            self.remember(traces);
            self.after = after.or(self.after.take());
            if last {
                return Ok((dropped, true));
            }
        }
        Ok((dropped, false))
    }

    fn remember(&mut self, traces: BTreeMap<String, Trace>) {
        for (letter, trace) in traces {
            if self.known.len() < KNOWN {
                self.known.insert(letter, trace);
            } else {
                self.overflown = true;
            }
        }
    }

    /// Checks what is known in the channels of the notes.
    async fn check_known(&mut self, now: Timestamp) -> Result<usize, Outcome> {
        if self.notes.is_empty() || self.known.is_empty() {
            return Ok(0);
        }
        let channels: BTreeSet<ChannelId> =
            self.notes.iter().map(|note| note.channel.clone()).collect();
        let concerned = |_: &String, trace: &mut Trace| {
            channels.contains(&trace.channel) || channels.contains(&trace.chat)
        };
        let mut concerned: Vec<_> = self.known.extract_if(.., concerned).collect();
        let mut dropped = 0;
        while !concerned.is_empty() {
            let rest = concerned.split_off(concerned.len().min(PAGE));
            let mut page: BTreeMap<_, _> = concerned.into_iter().collect();
            let done = self.drop_gone(&mut page, now).await;
            self.known.extend(page);
            concerned = rest;
            match done {
                Ok(done) => dropped += done,
                Err(outcome) => {
                    self.known.extend(concerned);
                    return Err(outcome);
                }
            }
        }
        Ok(dropped)
    }

    /// Drops the letters that are to go, and takes them out. Says how many were there.
    async fn drop_gone(
        &self,
        traces: &mut BTreeMap<String, Trace>,
        now: Timestamp,
    ) -> Result<usize, Outcome> {
        let gone = self.store.taken_back(&traces.values().collect::<Vec<_>>(), now).await?;
        let gone: BTreeSet<_> = gone.into_iter().collect();
        let ids = traces.keys().enumerate().filter(|(nth, _)| gone.contains(nth));
        let ids: Vec<_> = ids.map(|(_, id)| id.clone()).collect();
        let mut dropped = 0;
        for id in ids {
            dropped += usize::from(self.drop(&id).await?);
            traces.remove(&id);
        }
        Ok(dropped)
    }

    async fn drop(&self, letter: &str) -> Result<bool, BusError> {
        self.bus.drop_dead_letter(letter).await
    }
}

/// What a dead letter is about; `None` for what holds nothing that anybody said, such as jobs.
fn trace(letter: &DeadLetter) -> Option<Trace> {
    let envelope: Envelope = serde_json::from_slice(&letter.payload).ok()?;
    platform::trace(&envelope)
}
