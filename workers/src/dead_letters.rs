//! Clean-up of dead letters, which hold events as they came, texts included. Those of messages that
//! were retracted or deleted meanwhile, and of people who were erased, are dropped, whether or not
//! the message was ever stored.
//!
//! Each letter is read once; only its origin stays in memory. A letter is checked when it is read,
//! and the known ones of a channel whenever something was retracted there: a retraction leaves a
//! note in the store in its own transaction. Several processes may do this on one bus. Notes are
//! read before letters, and settled only by a process that has read every letter then, so a letter
//! is either among those that are checked for a note, or is read, and checked, after it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_bus::{Bus, BusError, DeadLetter};
use chatkeep_core::event::{Envelope, EventOrigin};
use chatkeep_core::id::ChannelId;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{Retraction, Store};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::outcome::Unfinished;
use crate::periodic::{JobFailure, JobScope, PeriodicJob};

/// Interval after which every letter is read anew: expired ones are dropped, and origins of letters
/// that were dropped elsewhere are removed.
const REREAD_INTERVAL: Duration = Duration::from_hours(6);
/// Batch size of reading letters and checking origins.
const PAGE: usize = 200;
/// Maximum number of letters read in one tick; the next tick continues.
const LETTERS: usize = 2_000;
/// Maximum number of letters whose origins are in memory. If there are more, all are read anew
/// whenever something is retracted.
const MAX_CHECKED: usize = 100_000;
/// Maximum number of channels handled in one tick.
const CHANNELS: u32 = 500;

/// Cleans up dead letters.
#[derive(Debug)]
pub struct DeadLetterCleaner {
    store: Store,
    bus: Bus,
    clock: SharedClock,
    /// Identity of the bus whose letters were read: ids begin anew on one that has lost its data.
    identity: Option<String>,
    /// Id of the last letter that was read.
    after: Option<String>,
    /// Time at which reading began with the first letter.
    since: Option<Timestamp>,
    /// Traces of letters, by their ids.
    known: BTreeMap<String, EventOrigin>,
    /// `true` if there are letters whose origins are not in memory.
    overflown: bool,
    /// Notes that are being handled.
    notes: Vec<Retraction>,
}

impl DeadLetterCleaner {
    /// Creates the clean-up of the dead letters of `bus`; `store` knows the retractions.
    pub const fn new(store: Store, bus: Bus, clock: SharedClock) -> Self {
        Self {
            store,
            bus,
            clock,
            identity: None,
            after: None,
            since: None,
            known: BTreeMap::new(),
            overflown: false,
            notes: Vec::new(),
        }
    }

    /// Drops the dead letters of retracted content, as far as this tick gets, and returns how many.
    ///
    /// # Errors
    /// [`Unfinished::Unavailable`] or [`Unfinished::Retry`] if bus or store fail; the next tick
    /// continues.
    #[boxed]
    pub async fn clear(&mut self) -> Result<usize, Unfinished> {
        let now = self.clock.now();
        let identity = Some(self.bus.state().await?.identity);
        if self.identity != identity {
            (self.identity, self.since) = (identity, None);
            self.begin(now);
        }
        if self.notes.is_empty() {
            self.notes = self.store.messages().retractions(CHANNELS).await?;
            self.begin(now);
        }
        let (mut dropped, complete) = self.read_new(now).await?;
        dropped += self.check_present(now).await?;
        if complete {
            self.store.messages().settle_retractions(&self.notes).await?;
            self.notes.clear();
        }
        Ok(dropped)
    }

    /// Starts over with the first letter if that is due.
    fn begin(&mut self, now: Timestamp) {
        let due = self.since.is_none_or(|since| now.since(since) >= REREAD_INTERVAL);
        if due || (self.overflown && !self.notes.is_empty()) {
            self.known.clear();
            (self.after, self.since, self.overflown) = (None, Some(now), false);
        }
    }

    /// Reads new letters, and drops those that have to go. Returns their number, and whether no
    /// letter is left to read.
    async fn read_new(&mut self, now: Timestamp) -> Result<(usize, bool), Unfinished> {
        let mut dropped = 0;
        for _ in 0..LETTERS / PAGE {
            let letters = self.bus.dead_letters_after(self.after.as_deref(), PAGE).await?;
            let last = letters.len() < PAGE;
            let after = letters.last().map(|letter| letter.id.clone());
            let origins =
                letters.iter().filter_map(|letter| Some((letter.id.clone(), origin(letter)?)));
            let mut origins: BTreeMap<_, _> = origins.collect();
            dropped += self.drop_gone(&mut origins, now).await?;
            self.remember(origins);
            self.after = after.or(self.after.take());
            if last {
                return Ok((dropped, true));
            }
        }
        Ok((dropped, false))
    }

    fn remember(&mut self, origins: BTreeMap<String, EventOrigin>) {
        for (letter, origin) in origins {
            if self.known.len() < MAX_CHECKED {
                self.known.insert(letter, origin);
            } else {
                self.overflown = true;
            }
        }
    }

    /// Checks the known letters in the channels of the notes.
    async fn check_present(&mut self, now: Timestamp) -> Result<usize, Unfinished> {
        if self.notes.is_empty() || self.known.is_empty() {
            return Ok(0);
        }
        let channels: BTreeSet<ChannelId> =
            self.notes.iter().map(|note| note.channel.clone()).collect();
        let concerned = |_: &String, origin: &mut EventOrigin| {
            channels.contains(&origin.channel) || channels.contains(&origin.chat)
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

    /// Drops the letters that have to go, and removes them. Returns how many were there.
    async fn drop_gone(
        &self,
        origins: &mut BTreeMap<String, EventOrigin>,
        now: Timestamp,
    ) -> Result<usize, Unfinished> {
        let gone =
            self.store.messages().taken_back(&origins.values().collect::<Vec<_>>(), now).await?;
        let gone: BTreeSet<_> = gone.into_iter().collect();
        let gone = origins.iter().enumerate().filter(|(nth, _)| gone.contains(nth));
        let gone: Vec<_> = gone.map(|(_, (id, trace))| (id.clone(), trace.clone())).collect();
        let mut dropped = 0;
        for (id, trace) in gone {
            dropped += usize::from(self.drop(&id, &trace).await?);
            origins.remove(&id);
        }
        Ok(dropped)
    }

    /// Drops a letter, unless it is another one by now: the bus may have lost its data meanwhile, and
    /// counts its letters anew.
    async fn drop(&self, id: &str, trace: &EventOrigin) -> Result<bool, BusError> {
        let letter = self.bus.dead_letter(id).await?;
        if letter.and_then(|letter| origin(&letter)).as_ref() != Some(trace) {
            return Ok(false);
        }
        self.bus.drop_dead_letter(id).await
    }
}

/// The clean-up as a periodic job.
#[derive(Debug)]
pub struct DeadLetterJob {
    store: Store,
    bus: Bus,
    clock: SharedClock,
    /// State of earlier runs; `None` before the first run, and after one that panicked.
    cleaner: Mutex<Option<DeadLetterCleaner>>,
}

impl DeadLetterJob {
    /// Creates the job for the dead letters of `bus`; `store` knows the retractions.
    pub const fn new(store: Store, bus: Bus, clock: SharedClock) -> Self {
        Self { store, bus, clock, cleaner: Mutex::const_new(None) }
    }
}

impl PeriodicJob for DeadLetterJob {
    const NAME: &'static str = "dead_letters";
    const PERIOD: Duration = Duration::from_mins(1);
    const FAILURE: &'static str = "cannot look through the dead letters";
    const SCOPE: JobScope = JobScope::Deployment;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let mut kept = self.cleaner.lock().await;
        let fresh =
            || DeadLetterCleaner::new(self.store.clone(), self.bus.clone(), self.clock.clone());
        let mut cleaner = kept.take().unwrap_or_else(fresh);
        let cleared = cleaner.clear().await;
        *kept = Some(cleaner);
        match cleared? {
            0 => {}
            letters => info!(letters, "dropped dead letters of retracted messages"),
        }
        Ok(())
    }
}

/// Returns the origin of a dead letter; `None` without user content, as of jobs.
fn origin(letter: &DeadLetter) -> Option<EventOrigin> {
    let envelope: Envelope = serde_json::from_slice(&letter.payload).ok()?;
    chatkeep_platform::origin(&envelope)
}
