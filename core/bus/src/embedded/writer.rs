//! Task that owns the writing connection. While one group is committed, the next gathers in the
//! channel; so the number of syncs does not grow with the number of publishers.

use std::fs::File;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::causes::with_causes;
use chatkeep_core::outage::{Failure, Work};
use chatkeep_core::{log_reason, panics};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::commit::{self, Written};
use super::file::BusFile;
use super::housekeeping::{DueCheckpoint, Housekeeping};
use super::ops::{Group, Op, RoutedMessage, Waiting, send_reply};
use super::state::Changes;
use super::{Shared, consumers, schema};
use crate::fault::outage_of;
use crate::{BusError, Stream};

/// Maximum number of messages in one transaction, roughly: a call is never split.
const GROUP: usize = 1024;

/// Name of the writer in logs and metrics.
const PART: &str = "bus_writer";

/// Pause before changes in memory are written again after the file could not be written.
const RETRY_DELAY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Writer {
    file: BusFile,
    shared: Arc<Shared>,
    ops: mpsc::Receiver<Op>,
    /// Lock held as long as this process serves; the operating system frees it after a crash.
    lock: Option<File>,
    housekeeping: Housekeeping,
}

impl Writer {
    pub(super) fn new(
        file: BusFile,
        shared: Arc<Shared>,
        ops: mpsc::Receiver<Op>,
        lock: Option<File>,
    ) -> Self {
        let housekeeping = Housekeeping::new(lock.is_some());
        Self { file, shared, ops, lock, housekeeping }
    }

    pub(super) fn spawn(self) {
        panics::spawn(PART, self.run());
    }

    async fn run(mut self) {
        loop {
            match panics::catch(PART, self.round()).await {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(close)) => return self.end(close).await,
                // Who waits for the round gets an error, and the connection goes back to the last
                // commit.
                Err(panicked) => {
                    self.shared.availability.fails(Work::Writing, &panicked.to_string());
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    /// Gathers a group of operations and writes it. Breaks when nobody needs the writer any more,
    /// with whom to tell.
    async fn round(&mut self) -> ControlFlow<Option<oneshot::Sender<()>>> {
        let mut group = Group::default();
        let mut waiting = Waiting::default();
        let open = self.first(&mut group, &mut waiting).await;
        while group.size() < GROUP && waiting.close.is_none() {
            let Ok(op) = self.ops.try_recv() else { break };
            self.take(op, &mut group, &mut waiting);
        }
        self.add_due(&mut group, waiting.flush || !open);
        let close = waiting.close.take();
        let remove = std::mem::take(&mut waiting.remove);
        group.is_synced = group.size() > 0 || waiting.flush || !open;
        self.write(group, waiting).await;
        for (name, done) in remove {
            send_reply(done, self.remove(&name).await);
        }
        if close.is_some() || !open { ControlFlow::Break(close) } else { ControlFlow::Continue(()) }
    }

    /// Waits for the first operation, or until something is due. `false` when no caller is left.
    async fn first(&mut self, group: &mut Group, waiting: &mut Waiting) -> bool {
        loop {
            let due = self.housekeeping.next_or(self.shared.state().flush_at());
            tokio::select! {
                biased;
                op = self.ops.recv() => match op {
                    Some(op) => {
                        self.take(op, group, waiting);
                        return true;
                    }
                    None => return false,
                },
                () = until(due) => return true,
                // Only the time of the next flush has changed.
                () = self.shared.nudge.notified() => {}
            }
        }
    }

    fn take(&self, op: Op, group: &mut Group, waiting: &mut Waiting) {
        match op {
            Op::Publish { messages, done } => match self.admit(messages, group) {
                Ok(()) => waiting.plain.push(done),
                Err(full) => send_reply(done, Err(full)),
            },
            Op::RetryDead { id, done } => {
                group.retry_dead.push(id);
                waiting.retry_dead.push(done);
            }
            Op::DropDead { id, done } => {
                group.drop_dead.push(id);
                waiting.drop_dead.push(done);
            }
            Op::RemoveConsumer { name, done } => {
                // The positions of the other consumers go first: what they have finished is
                // removed, too.
                waiting.flush = true;
                waiting.remove.push((name, done));
            }
            Op::Flush { done } => {
                waiting.flush = true;
                waiting.plain.push(done);
            }
            Op::Close { done } => {
                waiting.flush = true;
                waiting.close = Some(done);
            }
        }
    }

    /// Adds a call's messages to the group, all or none.
    fn admit(&self, messages: Vec<RoutedMessage>, group: &mut Group) -> Result<(), BusError> {
        let mut new = [0_u64; 2];
        for message in &messages {
            new[message.stream.index()] += 1;
        }
        let state = self.shared.state();
        for (stream, new) in Stream::ALL.into_iter().zip(new) {
            let backlog = state.waiting(stream) + group.messages[stream.index()].len() as u64;
            if new > 0 && backlog + new > self.shared.limits.max_backlog {
                return Err(BusError::Full { backlog });
            }
        }
        drop(state);
        for message in messages {
            group.messages[message.stream.index()].push(message);
        }
        Ok(())
    }

    /// Adds the changes in memory and housekeeping when due or requested.
    fn add_due(&mut self, group: &mut Group, flush: bool) {
        let now = Instant::now();
        let mut state = self.shared.state();
        if flush || state.flush_at().is_some_and(|at| at <= now) {
            group.changes = state.take_changes();
        }
        drop(state);
        if self.housekeeping.begin(now) {
            let window = self.shared.limits.dedupe_window.as_millis();
            let window = i64::try_from(window).unwrap_or(i64::MAX);
            group.forget_before = Some(self.shared.clock.now().millis().saturating_sub(window));
        }
    }

    async fn write(&mut self, group: Group, waiting: Waiting) {
        let result = self.commit_or_panicked(&group).await;
        if matches!(&result, Ok(written) if written.more_to_forget) {
            self.housekeeping.continue_soon();
        }
        let (is_round, now) = (group.forget_before.is_some(), Instant::now());
        if group.size() > 0 || !group.changes.finished.is_empty() {
            self.housekeeping.note_work(now);
        } else if is_round {
            self.housekeeping.note_idle();
        }
        if is_round && let Some(due) = self.housekeeping.due_checkpoint(now) {
            self.scrub(due).await;
        }
        match result {
            Ok(written) => {
                let wrote = group.size() > 0 || !group.changes.finished.is_empty();
                let work = if wrote { Work::Writing } else { Work::Reading };
                self.shared.availability.works(work);
                self.written(&written, waiting);
            }
            Err(error) => self.failed(&error, group.changes, waiting),
        }
    }

    /// Commits a group. A panic is an error like others: what was taken from memory is restored, and
    /// the connection goes back to the last commit.
    async fn commit_or_panicked(&mut self, group: &Group) -> Result<Written, BusError> {
        match panics::catch(PART, self.commit(group)).await {
            Ok(result) => result,
            Err(panicked) => {
                self.shared.availability.fails(Work::Writing, &panicked.to_string());
                Err(sqlx::Error::Protocol(panicked.to_string()).into())
            }
        }
    }

    async fn remove(&mut self, name: &str) -> Result<bool, BusError> {
        let shared = Arc::clone(&self.shared);
        let through = |seq| shared.state().is_through_but_for(name, seq);
        let mut conn = self.file.take(&self.shared).await?;
        let done = consumers::remove(&mut conn, name, through).await;
        let Some(removed) = self.file.put_back(conn, done).await? else {
            return Ok(false);
        };
        self.shared.change(|state| state.remove(name, &removed));
        Ok(true)
    }

    async fn commit(&mut self, group: &Group) -> Result<Written, BusError> {
        let mut conn = if group.is_synced {
            self.file.take(&self.shared).await?
        } else {
            self.file.take_unsynced(&self.shared).await?
        };
        let now = self.shared.clock.now();
        let high = *self.shared.high.borrow();
        let done = commit::write(&mut conn, group, now, high).await;
        Ok(self.file.put_back(conn, done).await?)
    }

    async fn scrub(&mut self, due: DueCheckpoint) {
        let done = self.checkpoint_wal(due).await;
        let is_complete = matches!(done, Ok(true));
        self.shared.checkpoints.note(is_complete);
        if !is_complete {
            self.housekeeping.repeat_checkpoint(Instant::now());
        }
        if let Err(error) = done {
            log_reason!(
                warn,
                Failure::new(&error, error.is_outage()),
                "cannot run a WAL checkpoint on the bus file"
            );
        }
    }

    async fn checkpoint_wal(&mut self, due: DueCheckpoint) -> Result<bool, BusError> {
        let mut conn = self.file.take(&self.shared).await?;
        let done = commit::checkpoint_wal(&mut conn, due).await;
        Ok(self.file.put_back(conn, done).await?)
    }

    fn written(&self, written: &Written, waiting: Waiting) {
        let mut state = self.shared.state();
        for (stream, added) in Stream::ALL.into_iter().zip(written.added) {
            state.add_waiting(stream, added);
        }
        drop(state);
        self.shared.high.send_if_modified(|high| {
            let grown = written.high > *high;
            *high = written.high.max(*high);
            grown
        });
        for done in waiting.plain {
            send_reply(done, Ok(()));
        }
        let dead = waiting.retry_dead.into_iter().zip(&written.retried_dead);
        for (done, &found) in dead.chain(waiting.drop_dead.into_iter().zip(&written.dropped_dead)) {
            send_reply(done, Ok(found));
        }
    }

    fn failed(&self, error: &BusError, changes: Changes, waiting: Waiting) {
        self.shared.state().restore(changes, Instant::now() + RETRY_DELAY);
        let cause = match error {
            BusError::Storage(cause) => Arc::clone(cause),
            other => Arc::new(sqlx::Error::Protocol(other.to_string())),
        };
        let outage = outage_of(&cause);
        if let Some(work) = outage {
            self.shared.availability.fails(work, &with_causes(&cause));
        }
        log_reason!(error, Failure::new(&*cause, outage.is_some()), "cannot write the bus file");
        for done in waiting.plain {
            send_reply(done, Err(BusError::Storage(Arc::clone(&cause))));
        }
        for done in waiting.retry_dead.into_iter().chain(waiting.drop_dead) {
            send_reply(done, Err(BusError::Storage(Arc::clone(&cause))));
        }
    }

    async fn end(mut self, close: Option<oneshot::Sender<()>>) {
        if self.lock.is_some()
            && let Err(error) = self.mark_clean().await
        {
            log_reason!(
                warn,
                Failure::new(&error, error.is_outage()),
                "cannot mark the bus file as closed"
            );
        }
        if let Err(error) = self.file.close().await {
            tracing::warn!(%error, "cannot close the bus file");
        }
        drop(self.lock);
        if let Some(close) = close {
            close.send(()).ok();
        }
    }
}

impl Writer {
    async fn mark_clean(&mut self) -> Result<(), BusError> {
        let mut conn = self.file.take(&self.shared).await?;
        let done = schema::set_unclean(&mut conn, false).await;
        self.file.put_back(conn, done).await?;
        Ok(())
    }
}

/// Waits until then; for ever without a time.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
