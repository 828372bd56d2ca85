//! Following the event log: each new message is compared with the saved searches once.
//!
//! One process at a time does it, by a lease that only saves work: the position in the log and the
//! hits are stored together, so that two at once, or one that dies half-way, tell nothing twice and
//! leave nothing out.

use std::collections::HashSet;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::id::{ChannelId, MessageId};
use chatkeep_core::metric;
use chatkeep_core::time::SharedClock;
use chatkeep_index::search::IndexDoc;
use chatkeep_store::{LoggedChanges, OutboxPosition, SavedSearchMatch, Store, WatchingSearch};
use chatkeep_workers::log_failure;
use chrono_tz::Tz;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::CompareError;
use super::matcher::{SearchMatcher, UserQuery};
use super::present::PresentMessages;
use crate::MessageBatch;

/// Maximum number of log rows compared at once.
const ROWS: u32 = 1_000;
/// Maximum number of saved searches compared at once, which bounds the matches in memory.
const SEARCHES: usize = 200;
/// Maximum number of matches reported in one transaction.
const MATCHES: usize = 2_000;
/// Maximum number of message ids in one statement.
const IDS: usize = 5_000;
/// Poll interval of the log when no wake-up comes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum interval between two comparisons: most of their cost is per saved search, so more
/// messages at once cost little more.
const PACE: Duration = Duration::from_millis(250);
/// Interval at which the position moves on while nobody has a saved search.
const IDLE_INTERVAL: Duration = Duration::from_mins(1);
/// Pause after a failure.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Name and duration of the lease.
const LEASE: (&str, Duration) = ("saved_searches", Duration::from_secs(30));

/// Follower of the event log for saved searches.
#[derive(Clone, Debug)]
pub struct SavedSearchFollower {
    store: Store,
    clock: SharedClock,
    matcher: SearchMatcher,
    /// Id of this process as the holder of the lease.
    process: String,
}

/// State between steps.
#[derive(Debug, Default)]
struct Pace {
    /// Time until which this process surely holds the lease.
    leased_until: Option<Instant>,
    /// Last time at which the position was moved for nobody.
    idled_at: Option<Instant>,
    /// `true` once the position was compared with what the log holds.
    is_checked: bool,
}

/// Result of comparing a part of the log.
#[derive(Clone, Copy, Debug)]
struct ComparedPart {
    /// Number of events that were logged.
    logged: u64,
    /// `true` at the end of the log.
    is_last: bool,
}

impl SavedSearchFollower {
    /// Creates a follower; days in queries of several channels are days of `time_zone`, `process` is
    /// the id of this process.
    pub fn new(store: Store, clock: SharedClock, time_zone: Tz, process: String) -> Self {
        Self { matcher: SearchMatcher::new(store.clone(), time_zone), store, clock, process }
    }

    /// Follows the log until `stop` is cancelled.
    #[boxed]
    pub async fn run(self, stop: CancellationToken) {
        let mut news = self.store.watch_log();
        let mut pace = Pace::default();
        while !stop.is_cancelled() {
            let begun = Instant::now();
            let pause = match stop.run_until_cancelled(self.round(&mut pace)).await {
                None => break,
                Some(Ok(true)) => Duration::ZERO,
                Some(Ok(false)) => {
                    let wait = tokio::time::timeout(POLL_INTERVAL, news.changed());
                    stop.run_until_cancelled(wait).await;
                    PACE.saturating_sub(begun.elapsed())
                }
                Some(Err(error)) => {
                    log_failure!(warn, &error, "cannot compare new messages with saved searches");
                    RETRY_DELAY
                }
            };
            stop.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
        self.release().await;
    }

    /// Compares everything that is logged by now; returns the number of events that it logged. For
    /// tests; [`SavedSearchFollower::run`] goes on until it is stopped.
    ///
    /// # Errors
    /// Returns an error when the store or the comparison fails.
    #[boxed]
    pub async fn catch_up(&self) -> Result<u64, CompareError> {
        let mut logged = 0;
        loop {
            let step = self.step().await?;
            logged += step.logged;
            if step.is_last {
                return Ok(logged);
            }
        }
    }

    /// Compares the next part of the log, if it is this process' turn. Returns whether there may be
    /// more already.
    async fn round(&self, pace: &mut Pace) -> Result<bool, CompareError> {
        if !self.store.saved_searches().any_enabled().await? {
            metric::SAVED_SEARCH_LAG_SECONDS.set([], 0.0);
            if pace.idled_at.is_some_and(|at| at.elapsed() < IDLE_INTERVAL) {
                return Ok(false);
            }
        }
        if !self.is_leased(pace).await? {
            metric::SAVED_SEARCH_LAG_SECONDS.set([], 0.0);
            return Ok(false);
        }
        if !pace.is_checked {
            self.check_position().await?;
            pace.is_checked = true;
        }
        self.show_lag().await?;
        let is_last = self.step().await?.is_last;
        if is_last {
            // One batch at a time: new messages do not wait until all is swept.
            let has_more = self.store.saved_searches().sweep().await?;
            pace.idled_at = (!has_more).then(Instant::now);
        }
        Ok(!is_last)
    }

    /// Claims or extends the lease, if it ends soon.
    async fn is_leased(&self, pace: &mut Pace) -> Result<bool, CompareError> {
        let (name, time) = LEASE;
        let now = Instant::now();
        // An embedded database has no other process.
        if self.store.is_embedded() || pace.leased_until.is_some_and(|until| until > now) {
            return Ok(true);
        }
        let taken = self.store.jobs().take_job_lease(name, &self.process, time).await?;
        pace.leased_until = taken.then(|| now + time / 2);
        Ok(taken)
    }

    async fn release(&self) {
        if self.store.is_embedded() {
            return;
        }
        if let Err(error) = self.store.jobs().release_job_lease(LEASE.0, &self.process).await {
            debug!(%error, "the lease of the saved searches ends later");
        }
    }

    /// Warns if events were purged before they could be compared: nothing followed the log for as
    /// long as events are kept.
    async fn check_position(&self) -> Result<(), CompareError> {
        let position = self.store.saved_searches().position().await?;
        let log = self.store.outbox().log_state().await?;
        if position < log.purged && position != OutboxPosition::default() {
            warn!("events were purged before they were compared with saved searches");
        }
        Ok(())
    }

    async fn show_lag(&self) -> Result<(), CompareError> {
        let position = self.store.saved_searches().position().await?;
        let next = self.store.outbox().next_logged(position).await?;
        let lag = next.map(|at| self.clock.now().since(at)).unwrap_or_default();
        metric::SAVED_SEARCH_LAG_SECONDS.set([], lag.as_secs_f64());
        Ok(())
    }

    /// Compares the next part of the log.
    async fn step(&self) -> Result<ComparedPart, CompareError> {
        let from = self.store.saved_searches().position().await?;
        // The position is in the same database, which cannot have lost its event alone.
        let changes = self.store.outbox().logged_changes(from.into(), ROWS).await?;
        let Some(changes) = changes.filter(|changes| changes.next.at != from) else {
            return Ok(ComparedPart { logged: 0, is_last: true });
        };
        let logged = self.report(from, &changes).await?;
        metric::SAVED_SEARCH_MATCHES.add([], logged);
        self.forget_gone(&changes).await?;
        // Another process may have moved on meanwhile; then the rest is its own, or the next step's.
        self.store.saved_searches().advance(from, changes.next.at).await?;
        Ok(ComparedPart { logged, is_last: false })
    }

    /// Tells what the saved searches find in a part of the log that begins after `from`, unless
    /// another process has moved on. Returns the number of events.
    async fn report(
        &self,
        from: OutboxPosition,
        changes: &LoggedChanges,
    ) -> Result<u64, CompareError> {
        // Read after the log: whatever was saved before one of its rows is there.
        let watching = self.watching(changes).await?;
        if watching.is_empty() {
            return Ok(0);
        }
        let batch = MessageBatch::of(self.docs(changes, &watching).await?).await?;
        let mut logged = 0;
        for searches in watching.chunks(SEARCHES) {
            let matches = self.matches(&batch, searches, changes).await?;
            for part in matches.chunks(MATCHES) {
                let now = self.clock.now();
                match self.store.saved_searches().report(from, part, now).await? {
                    Some(new) => logged += new,
                    None => return Ok(logged),
                }
            }
        }
        Ok(logged)
    }

    /// Returns the saved searches that search a channel with new messages.
    async fn watching(&self, changes: &LoggedChanges) -> Result<Vec<WatchingSearch>, CompareError> {
        let mut channels: Vec<_> =
            changes.news.keys().map(|(channel, _)| channel.clone()).collect();
        channels.dedup();
        if channels.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.store.saved_searches().watching(&channels).await?)
    }

    /// Returns the new messages of the channels that are searched, as the index has them.
    async fn docs(
        &self,
        changes: &LoggedChanges,
        watching: &[WatchingSearch],
    ) -> Result<Vec<IndexDoc>, CompareError> {
        let searched: HashSet<&ChannelId> =
            watching.iter().flat_map(|search| &search.within).collect();
        let wanted = changes.news.keys().filter(|(channel, _)| searched.contains(channel));
        let present = PresentMessages::of(&self.store, &wanted.cloned().collect()).await?;
        Ok(present.stored)
    }

    async fn matches<'a>(
        &self,
        batch: &'a MessageBatch,
        searches: &'a [WatchingSearch],
        changes: &LoggedChanges,
    ) -> Result<Vec<SavedSearchMatch<'a>>, CompareError> {
        let queries: Vec<_> = searches.iter().map(UserQuery::from).collect();
        let found = self.matcher.matches(batch, &queries).await?;
        let mut matches = Vec::new();
        for (search, places) in searches.iter().zip(found) {
            for key in places.into_iter().map(|place| batch.key(place)) {
                if changes.news.get(key).is_some_and(|logged| *logged > search.since) {
                    let (channel, message) = key;
                    matches.push(SavedSearchMatch { search, channel, message });
                }
            }
        }
        Ok(matches)
    }

    /// Forgets that messages were reported which are not stored any more.
    async fn forget_gone(&self, changes: &LoggedChanges) -> Result<(), CompareError> {
        let keys: Vec<(ChannelId, MessageId)> = changes.messages.iter().cloned().collect();
        for part in keys.chunks(IDS) {
            let matched = self.store.saved_searches().matched_messages(part).await?;
            let gone = PresentMessages::of(&self.store, &matched).await?.gone;
            if !gone.is_empty() {
                self.store.saved_searches().forget_messages(&gone).await?;
            }
        }
        Ok(())
    }
}

impl<'a> From<&'a WatchingSearch> for UserQuery<'a> {
    fn from(search: &'a WatchingSearch) -> Self {
        let WatchingSearch { user, query, channels, within, .. } = search;
        Self { user, query, channels: channels.as_deref(), within }
    }
}
