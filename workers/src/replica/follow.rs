//! Following the event log: read changes, write them, commit them with the new position.

use std::mem;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::backoff::Backoff;
use chatkeep_core::health::Health;
use chatkeep_core::metric;
use chatkeep_core::outage::{Failure, Work};
use chatkeep_core::panics::{self, Panicked};
use chatkeep_index::search::IndexError;
use chatkeep_store::{LogState, LoggedChanges};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{debug, info, warn};

use super::changes::changes_to;
use super::pages::{ChannelPages, StorePages};
use super::{LogPosition, Replica, ReplicaError, ReplicaPhase, ReplicaWork, SAVE};

/// Maximum number of log rows in one commit. A commit costs about as much as indexing a thousand
/// messages.
const ROWS: u32 = 5_000;
/// Poll interval of the log when no wake-up comes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum interval between two reads of new rows, so that a steady trickle does not commit every
/// message: a commit takes as long as indexing a thousand messages, with the merges that follow from
/// it. The interval is short for a row that comes after a quiet time, and doubles while more keep
/// coming.
const PACE: Backoff =
    Backoff { first: Duration::from_millis(50), longest: Duration::from_millis(500) };
/// Time without new rows after which the interval is short again.
const QUIET: Duration = Duration::from_secs(2);
/// Maximum time for which a position is not committed when only the position moves: the purge of the
/// log must not overtake it, and a restart should read little again.
const HELD: Duration = Duration::from_mins(1);
/// Pauses after a failure.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(5) };
/// Time of failure after which a replica counts as behind, and gets no more requests.
const FAILING: Duration = Duration::from_secs(10);
/// The name of this part in readiness.
const PART: &str = "search";

/// State of a replica's task between rounds.
#[derive(Default)]
struct Round {
    rebuild: Option<AbortOnDropHandle<Result<Result<(), ReplicaError>, Panicked>>>,
    /// `true` if a rebuilt index replaced the one in use, and nothing went well since.
    superseded: bool,
    failing_since: Option<Instant>,
    backoff: Option<Duration>,
    taken: Option<RowsTaken>,
    held: Option<HeldPosition>,
}

/// The last read of new rows.
#[derive(Clone, Copy, Debug)]
struct RowsTaken {
    at: Instant,
    /// Interval to the next one.
    pace: Duration,
}

/// Position after rows that change nothing in the index. It is as good as a committed one, except
/// that it is lost with the process.
#[derive(Clone, Debug)]
struct HeldPosition {
    position: LogPosition,
    /// Position of the index, which is another one once the index was replaced.
    committed: LogPosition,
    since: Instant,
}

impl Round {
    /// Returns the position up to which the log was read into an index with that committed position.
    fn position(&mut self, committed: LogPosition) -> LogPosition {
        self.held.take_if(|held| held.committed != committed);
        self.held.as_ref().map_or(committed, |held| held.position.clone())
    }
}

impl RowsTaken {
    /// Returns a read of now that follows another one.
    fn after(last: Option<Self>) -> Self {
        let at = Instant::now();
        let last = last.filter(|last| at - last.at < QUIET);
        Self { at, pace: PACE.after(last.map(|last| last.pace)) }
    }
}

impl Replica {
    /// Updates the replica until `stop` is cancelled.
    #[boxed]
    pub async fn run(self, health: Health, stop: CancellationToken) {
        let mut round = Round::default();
        while !stop.is_cancelled() {
            let stepped = stop.run_until_cancelled(self.step(&mut round)).await;
            let pause = match stepped {
                None => break,
                Some(Ok(more)) => {
                    self.went_well(&mut round, more, &health);
                    if more { Duration::ZERO } else { POLL_INTERVAL }
                }
                Some(Err(error)) => self.failed(&mut round, &error, &health).await,
            };
            if pause > Duration::ZERO && !self.rest(pause, &round, &stop).await {
                break;
            }
        }
    }

    /// Brings the replica up to date once, for a process that does nothing else.
    ///
    /// # Errors
    /// Fails when the index or the store fails.
    #[boxed]
    pub async fn catch_up(&self) -> Result<(), ReplicaError> {
        let mut round = Round::default();
        loop {
            let more = match self.step(&mut round).await {
                // The rebuild ended before this step, which was about the index that it replaced.
                Err(ReplicaError::Index(IndexError::Superseded)) if round.rebuild.is_some() => {
                    self.writer.abandon().await;
                    true
                }
                stepped => stepped?,
            };
            if let Some(rebuild) = round.rebuild.take() {
                rebuild.await???;
                continue;
            }
            if !more {
                self.commit_held(&mut round, Duration::ZERO).await?;
                self.set_phase(ReplicaPhase::Ready);
                return Ok(());
            }
        }
    }

    /// Waits for a wake-up, a moment at least; `false` if cancelled.
    async fn rest(&self, pause: Duration, round: &Round, stop: &CancellationToken) -> bool {
        let news = async {
            tokio::select! {
                () = self.wake.notified(), if round.backoff.is_none() => {}
                () = sleep(pause) => {}
            }
            if let Some(last) = round.taken {
                tokio::time::sleep_until(last.at + last.pace).await;
            }
        };
        stop.run_until_cancelled(news).await.is_some()
    }

    /// Applies the next part of the log to the index. Returns whether there may be more already.
    async fn step(&self, round: &mut Round) -> Result<bool, ReplicaError> {
        let Some(committed) = self.position() else {
            return self.fill_instead(round, "it is new").await;
        };
        let position = round.position(committed.clone());
        let changes = self.store.outbox().logged_changes(position.last, ROWS).await?;
        // Read after them: what was purged until then may be missing from them.
        let log = self.store.outbox().log_state().await?;
        if let Some(reason) = position.broken(&log) {
            return self.fill_instead(round, reason).await;
        }
        self.start_rebuild(round, &position, &log).await?;
        let Some(changes) = changes else {
            self.record_loss(&position).await?;
            return self.fill_instead(round, "it has what the database has lost").await;
        };
        let more = changes.more;
        if changes.next.at == position.last.at {
            self.commit_held(round, HELD).await?;
            return Ok(false);
        }
        let position = LogPosition { last: changes.next, ..position };
        if changes.messages.is_empty() && changes.channels.is_empty() {
            self.hold(round, Some(committed), position).await?;
        } else {
            self.take(changes, &position).await?;
            round.held = None;
        }
        round.taken = Some(RowsTaken::after(round.taken));
        Ok(more)
    }

    /// Fills the index instead of following the log. There is more to follow afterwards.
    async fn fill_instead(&self, round: &mut Round, reason: &str) -> Result<bool, ReplicaError> {
        // The new index may begin at the same position as the one before.
        round.held = None;
        self.fill(reason).await?;
        Ok(true)
    }

    /// Records that the database has lost what is in the index, so that nobody takes it for silence.
    async fn record_loss(&self, position: &LogPosition) -> Result<(), ReplicaError> {
        let (lost, now) = (position.last, self.clock.now());
        let (from, to) = self.store.outbox().record_loss(lost, now).await?;
        warn!(%from, %to, "the database has lost events that were in the search index: see the coverage of channels");
        Ok(())
    }

    /// Moves on over rows that change nothing in the index, without a commit for each.
    async fn hold(
        &self,
        round: &mut Round,
        committed: Option<LogPosition>,
        position: LogPosition,
    ) -> Result<(), ReplicaError> {
        self.note(Some(&position));
        let since = round.held.as_ref().map_or_else(Instant::now, |held| held.since);
        round.held = committed.map(|committed| HeldPosition { position, committed, since });
        self.commit_held(round, HELD).await
    }

    /// Commits a position that has been held for that long.
    async fn commit_held(&self, round: &mut Round, age: Duration) -> Result<(), ReplicaError> {
        if let Some(held) = round.held.take_if(|held| held.since.elapsed() >= age) {
            self.writer.begin().commit(Vec::new(), &held.position).await?;
            self.note_position();
        }
        Ok(())
    }

    async fn take(
        &self,
        changes: LoggedChanges,
        position: &LogPosition,
    ) -> Result<(), ReplicaError> {
        let mut sequence = self.writer.begin();
        for channel in changes.channels {
            info!(%channel, "reindexing a channel");
            let mut pages = ChannelPages::new(&self.store, channel);
            while let Some(page) = pages.next().await? {
                sequence.write(page).await?;
            }
        }
        let read = changes_to(&self.store, &changes.messages).await?;
        metric::SEARCH_INDEXED.add([], read.len() as u64);
        sequence.commit(read, position).await?;
        self.note_position();
        Ok(())
    }

    /// Fills the index from the store, replacing its content.
    async fn fill(&self, reason: &str) -> Result<(), ReplicaError> {
        info!(reason, folder = %self.folder.display(), "filling the search index");
        let log = self.store.outbox().log_state().await?;
        let total =
            u64::try_from(self.store.messages().count_messages().await?).unwrap_or_default();
        self.state.send_modify(|state| {
            state.phase = ReplicaPhase::Filling;
            state.work = Some(ReplicaWork { done: 0, total });
        });
        let mut sequence = self.writer.begin();
        sequence.wipe().await?;
        let mut pages = StorePages::new(&self.store);
        let mut done = 0_u64;
        while let Some(page) = pages.next().await? {
            let read = page.len() as u64;
            let save = done / SAVE != (done + read) / SAVE;
            done += read;
            sequence.write(page).await?;
            if save {
                sequence.save().await?;
            }
            self.state.send_modify(|state| state.work = Some(ReplicaWork { done, total }));
        }
        let position = LogPosition::start(&log);
        sequence.commit(Vec::new(), &position).await?;
        self.state.send_modify(|state| {
            state.phase = ReplicaPhase::CatchingUp;
            state.work = None;
        });
        self.note_position();
        info!(messages = done, "the search index was filled");
        Ok(())
    }

    /// Starts a requested rebuild, and handles one that has ended.
    async fn start_rebuild(
        &self,
        round: &mut Round,
        position: &LogPosition,
        log: &LogState,
    ) -> Result<(), ReplicaError> {
        if let Some(rebuild) = round.rebuild.take_if(|rebuild| rebuild.is_finished()) {
            self.state.send_modify(|state| state.work = None);
            rebuild.await???;
            self.note_position();
        } else if round.rebuild.is_none() && position.is_rebuild_due(log) {
            let replica = self.clone();
            let rebuild = async move { replica.rebuild().await };
            let rebuild = panics::spawn("search_rebuild", rebuild);
            round.rebuild = Some(AbortOnDropHandle::new(rebuild));
        }
        Ok(())
    }

    fn went_well(&self, round: &mut Round, more: bool, health: &Health) {
        round.superseded = false;
        round.failing_since = None;
        round.backoff = None;
        self.available.works(Work::Reading);
        if !more {
            self.set_phase(ReplicaPhase::Ready);
        }
        match self.state().unready() {
            // Being filled or behind is work in progress, and no fault to be warned of.
            Some(text) => health.raise(PART, Failure { text, is_explained: true }),
            None => health.clear(PART),
        }
        self.show();
    }

    /// Records a failure, and returns the time to wait.
    async fn failed(&self, round: &mut Round, error: &ReplicaError, health: &Health) -> Duration {
        // The rebuilt index continues from its own position, unless it is one that cannot be read
        // here.
        let superseded = matches!(error, ReplicaError::Index(IndexError::Superseded));
        if superseded && !mem::replace(&mut round.superseded, true) {
            return Duration::ZERO;
        }
        let failure = crate::failure::of(error);
        let reason = failure.text.clone();
        if !failure.is_explained {
            self.available.fails(Work::Reading, &reason);
        }
        self.writer.abandon().await;
        round.held = None;
        let since = *round.failing_since.get_or_insert_with(Instant::now);
        let pause = BACKOFF.after(round.backoff);
        round.backoff = Some(pause);
        debug!(reason, "the search index cannot be brought up to date");
        self.state.send_modify(|state| state.error = Some(reason.clone()));
        if since.elapsed() >= FAILING {
            self.state.send_modify(|state| state.phase = ReplicaPhase::Failing);
            let text = format!("the search index cannot follow the store: {reason}");
            // What it cannot do for lack of something else, and that it failed, is logged above.
            health.raise(PART, Failure { text, is_explained: true });
        }
        self.show();
        pause
    }

    fn set_phase(&self, phase: ReplicaPhase) {
        self.state.send_if_modified(|state| {
            let changed = state.phase != phase || state.error.is_some();
            state.phase = phase;
            state.error = None;
            changed
        });
    }

    fn show(&self) {
        metric::SEARCH_MESSAGES.count([], self.state.borrow().messages);
        metric::SEARCH_READY.flag([], self.is_ready());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn reads_are_rarer_while_changes_keep_coming() {
        let mut last = None;
        let mut next = async |pause: Duration| {
            tokio::time::advance(pause).await;
            let taken = RowsTaken::after(last);
            last = Some(taken);
            taken.pace.as_millis()
        };
        let mut paces = vec![];
        for _ in 0..6 {
            paces.push(next(Duration::from_millis(500)).await);
        }
        assert_eq!(paces, [50, 100, 200, 400, 500, 500]);
        assert_eq!(next(QUIET).await, 50, "after a quiet time");
    }
}
