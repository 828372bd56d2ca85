//! The gate before every stage that reads platform events: only events of the bot that owns a
//! channel pass.
//!
//! Bots of one deployment do not trust each other. Whoever has one bot's secret can sign events
//! about any channel; those about another bot's channels end here, before any stage reads them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chatkeep_core::cache::Cache;
use chatkeep_core::event::{Event, EventKind};
use chatkeep_core::health::Health;
use chatkeep_core::id::{ChannelId, EventId};
use chatkeep_core::metric;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{Standing, Store, StoreError};
use tracing::{debug, warn};

use crate::outcome::{Outcome, Unfinished};
use crate::runner::Stage;
use crate::stages::StageName;

/// Time for which the owner of a channel is cached.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum number of channels whose owner is cached.
const OWNED: usize = 100_000;
/// Time for which an event is held the first time it is foreign. The join of its bot, or the leave
/// of the owner, may be in a batch beside it that a slow database has not committed yet.
const HOLD: Duration = Duration::from_secs(5);
/// Maximum time for which an event of a bot whose claim is pending is held.
const PENDING: Duration = Duration::from_mins(1);
/// Period in which a bot may have [`MAX_HELD`] events held; the others are ignored at once.
const PERIOD: Duration = Duration::from_mins(1);
/// Maximum number of held events of one bot: holding costs every bot's events a little.
const MAX_HELD: u32 = 60;
/// Maximum number of channels of a bot whose problems are remembered.
const MAX_PROBLEMS: usize = 1_000;
/// Interval between two log lines about a channel.
const LOG_INTERVAL: Duration = Duration::from_hours(1);

/// Decides which events pass.
#[derive(Debug)]
pub struct Gate {
    store: Store,
    clock: SharedClock,
    health: Health,
    /// Configured bots.
    bots: Vec<String>,
    /// Recent owners of channels.
    owned: Cache<(ChannelId, String), ()>,
    /// Events that were held, with the time of the first time.
    held: Cache<EventId, Timestamp>,
    /// Number of a bot's events that were held recently.
    holds: Cache<String, HeldEvents>,
    /// Channels that were logged recently.
    logged: Cache<(ChannelId, String), ()>,
    /// Channels that a problem was raised about, with its reason, by bot.
    problems: Mutex<HashMap<String, BTreeMap<ChannelId, String>>>,
}

/// Events of a bot that were held in a [`PERIOD`].
#[derive(Clone, Copy, Debug)]
struct HeldEvents {
    since: Timestamp,
    number: u32,
}

/// Decision on an event.
enum Verdict {
    /// The stage handles it unchanged.
    Pass,
    /// The stage handles it as an event of this channel.
    PassAs(ChannelId),
    /// It ends here.
    End(Outcome),
}

impl Gate {
    /// Creates the gate of a deployment in which these bots are configured.
    pub fn new(store: Store, clock: SharedClock, health: Health, bots: Vec<String>) -> Self {
        Self {
            store,
            clock,
            health,
            bots,
            owned: Cache::new(OWNED, FRESH),
            held: Cache::new(10_000, PENDING * 10),
            holds: Cache::new(1_000, PERIOD),
            logged: Cache::new(10_000, LOG_INTERVAL),
            problems: Mutex::default(),
        }
    }

    /// Returns a verdict for each event, in order; `None` if all pass unchanged.
    async fn judge(
        &self,
        stage: StageName,
        events: &[&Event],
    ) -> Result<Option<Vec<Verdict>>, StoreError> {
        if events.iter().all(|event| self.is_known(event)) {
            return Ok(None);
        }
        let standings =
            self.store.channels().admit(events, self.bots.len() == 1, self.clock.now()).await?;
        if standings.iter().all(|standing| *standing == Standing::Own) {
            for event in events {
                self.remember(event);
            }
            return Ok(None);
        }
        let judged = events.iter().zip(standings);
        Ok(Some(judged.map(|(event, standing)| self.verdict(stage, event, standing)).collect()))
    }

    /// Returns whether it passes by the cache. Events that decide on the owner are always checked.
    fn is_known(&self, event: &Event) -> bool {
        use EventKind::{BotJoined, BotLeft};
        event.channel.as_ref().is_none_or(|channel| {
            !matches!(event.kind, BotJoined | BotLeft)
                && self.owned.contains(&(channel.id.clone(), event.bot.clone()))
        })
    }

    fn remember(&self, event: &Event) {
        let Some(channel) = &event.channel else {
            return;
        };
        let key = (channel.id.clone(), event.bot.clone());
        if matches!(event.kind, EventKind::BotLeft) {
            // The next event may find another owner.
            self.owned.remove(&key);
        } else {
            self.owned.insert(key, ());
        }
        self.clear_problem(event, &channel.id);
    }

    fn verdict(&self, stage: StageName, event: &Event, standing: Standing) -> Verdict {
        match standing {
            Standing::Own => {
                self.remember(event);
                Verdict::Pass
            }
            Standing::OwnChat(channel) => Verdict::PassAs(channel),
            Standing::Foreign { pending, .. } if self.waits(event, pending) => {
                let reason = format!("the channel does not belong to the bot {:?} yet", event.bot);
                Verdict::End(Err(Unfinished::Hold(reason.into())))
            }
            Standing::Foreign { owner, .. } => {
                self.ignore(stage, event, &owner);
                Verdict::End(Ok(()))
            }
        }
    }

    /// Returns true for an event to hold: the evidence that its bot took the channel over may be
    /// under way. That is so once for every event for [`HOLD`], and for longer if the bot joined the
    /// channel and only the leave of its owner is missing; but for no more than [`MAX_HELD`] events of a
    /// bot in a [`PERIOD`].
    fn waits(&self, event: &Event, pending: bool) -> bool {
        let (key, now) = (event.key(), self.clock.now());
        let since = self.held.get(&key);
        let young = now.since(event.received_at) < PENDING;
        if !(since.is_none_or(|since| now.since(since) < HOLD) || pending && young) {
            return false;
        }
        if since.is_none() {
            let begun = self.holds.get(&event.bot).filter(|begun| now.since(begun.since) < PERIOD);
            let HeldEvents { since, number } =
                begun.unwrap_or(HeldEvents { since: now, number: 0 });
            if number >= MAX_HELD {
                return false;
            }
            self.holds.insert(event.bot.clone(), HeldEvents { since, number: number + 1 });
            self.held.insert(key, now);
        }
        true
    }

    fn ignore(&self, stage: StageName, event: &Event, owner: &str) {
        // Every stage ignores it; it is counted as one event.
        if stage == StageName::Members {
            metric::FOREIGN_EVENTS.add([event.bot.clone().into()], 1);
        }
        let Some(channel) = event.channel.as_ref().map(|channel| &channel.id) else {
            return;
        };
        debug!(%stage, bot = event.bot, "an event about another bot's channel is ignored");
        let is_decided = self.bots.iter().any(|bot| bot == owner);
        let has_left = matches!(event.kind, EventKind::BotLeft);
        if is_decided || has_left {
            self.clear_problem(event, channel);
        }
        if stage != StageName::Members
            || !self.logged.insert_new(&(channel.clone(), event.bot.clone()), ())
        {
            return;
        }
        warn!(
            %channel, bot = event.bot, owner,
            "events about a channel that belongs to another bot are ignored; should that bot be \
             gone, `chatkeep channel assign` gives the channel to another"
        );
        if channel.is_plain() && !is_decided && !has_left {
            self.raise_problem(event, channel, owner);
        }
    }

    /// Raises a problem: the owner of the channel is not configured, so it never leaves by itself
    /// and somebody has to decide.
    fn raise_problem(&self, event: &Event, channel: &ChannelId, owner: &str) {
        let reason = if owner.is_empty() {
            format!(
                "the imported channel {channel} belongs to no bot yet, so that events about \
                     it are ignored; `chatkeep channel assign` gives it one"
            )
        } else {
            format!(
                "channels of the bot {owner:?}, which is not configured, get events of \
                     {:?}, which are ignored; `chatkeep channel assign` gives them to another \
                     bot",
                event.bot
            )
        };
        let mut problems = self.problems();
        let of_bot = problems.entry(event.bot.clone()).or_default();
        if of_bot.len() < MAX_PROBLEMS || of_bot.contains_key(channel) {
            of_bot.insert(channel.clone(), reason.clone());
        }
        self.health.raise(&part(&event.bot), reason);
    }

    fn clear_problem(&self, event: &Event, channel: &ChannelId) {
        let mut problems = self.problems();
        let Some(of_bot) = problems.get_mut(&event.bot) else { return };
        if of_bot.remove(channel).is_none() {
            return;
        }
        // The others are still there.
        if let Some(reason) = of_bot.values().next() {
            self.health.raise(&part(&event.bot), reason.clone());
        } else {
            problems.remove(&event.bot);
            self.health.clear(&part(&event.bot));
        }
    }

    fn problems(&self) -> MutexGuard<'_, HashMap<String, BTreeMap<ChannelId, String>>> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the part of the process under which a problem with a bot's channels is shown.
fn part(bot: &str) -> String {
    format!("channels:{bot}")
}

/// A stage behind the gate.
#[derive(Debug)]
pub struct Gated<S> {
    stage: S,
    gate: Gate,
}

impl<S> Gated<S> {
    /// Puts a stage behind a gate.
    pub const fn new(stage: S, gate: Gate) -> Self {
        Self { stage, gate }
    }
}

/// Item of a stage that reads platform events.
pub trait EventItem: Send + Sync {
    /// Returns the event.
    fn event(&self) -> &Event;

    /// Returns the item of the same event as it is to be handled.
    #[must_use]
    fn with_event(&self, event: Event) -> Self;
}

impl EventItem for Event {
    fn event(&self) -> &Event {
        self
    }

    fn with_event(&self, event: Event) -> Self {
        event
    }
}

impl<S: Stage<Item: EventItem>> Stage for Gated<S> {
    type Item = S::Item;

    fn name(&self) -> StageName {
        self.stage.name()
    }

    fn batch_size(&self) -> usize {
        self.stage.batch_size()
    }

    fn concurrency(&self) -> usize {
        self.stage.concurrency()
    }

    fn timeout(&self) -> Duration {
        self.stage.timeout()
    }

    fn longest_hold(&self) -> Duration {
        PENDING
    }

    async fn prepare(&self) -> Result<(), String> {
        self.stage.prepare().await
    }

    fn decode(&self, payload: &[u8]) -> Result<S::Item, String> {
        self.stage.decode(payload)
    }

    async fn handle(&self, items: &[S::Item]) -> Vec<Outcome> {
        let events: Vec<_> = items.iter().map(EventItem::event).collect();
        let verdicts = match self.gate.judge(self.name(), &events).await {
            Ok(Some(verdicts)) => verdicts,
            Ok(None) => return self.stage.handle(items).await,
            Err(error) => return vec![Err(error.into()); items.len()],
        };
        let mut passed = Vec::with_capacity(items.len());
        for (item, verdict) in items.iter().zip(&verdicts) {
            let mut event = match verdict {
                Verdict::Pass | Verdict::PassAs(_) => item.event().clone(),
                Verdict::End(_) => continue,
            };
            if let (Verdict::PassAs(channel), Some(chat)) = (verdict, &mut event.channel) {
                chat.id = channel.clone();
            }
            passed.push(item.with_event(event));
        }
        let handled = if passed.is_empty() { Vec::new() } else { self.stage.handle(&passed).await };
        let mut handled = handled.into_iter();
        let lost = || Err(Unfinished::Retry("the stage lost count of its events".into()));
        let outcome = |verdict| match verdict {
            Verdict::End(outcome) => outcome,
            Verdict::Pass | Verdict::PassAs(_) => handled.next().unwrap_or_else(lost),
        };
        verdicts.into_iter().map(outcome).collect()
    }

    async fn on_dead_letter(&self, item: &S::Item, reason: &str) {
        self.stage.on_dead_letter(item, reason).await;
    }
}
