//! The embedded bus: one SQLite file in the data folder, one serving process.
//!
//! All writes go through one task that puts everything waiting into one transaction, so that many
//! publishers share one sync to the disk (`writer`, `commit`). Leases and attempts live in
//! memory (`state`, `position`) and follow into the file with those transactions.

mod commit;
mod consumer;
mod consumers;
mod copy;
mod dead;
mod delays;
mod file;
mod folder;
mod housekeeping;
mod leases;
mod ops;
mod position;
mod pubsub;
mod read;
mod schema;
mod state;
mod writer;

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::checkpoints::CheckpointWatch;
use chatkeep_core::outage::Availability;
use chatkeep_core::time::SharedClock;
use sqlx::sqlite::SqlitePool;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

pub use self::consumer::{EmbeddedConsumer, EmbeddedLease};
pub use self::copy::{bus_copy_size, check_bus_copy, copy_bus};
use self::file::BusFile;
use self::ops::{Op, RoutedMessage};
use self::pubsub::PubSub;
use self::state::State;
use self::writer::Writer;
use super::{BusError, BusLimits, ConsumerSpec, DeadLetter, Outgoing};

/// Capacity of the queue of calls to the writer; more callers wait.
const QUEUE: usize = 1024;

/// The embedded bus. Cheap to clone.
#[derive(Clone, Debug)]
pub struct EmbeddedBus {
    inner: Arc<Inner>,
}

/// State shared by the bus, its consumers and its leases.
#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    ops: mpsc::Sender<Op>,
    readers: SqlitePool,
    /// `true` if this process delivers messages; the command line only attaches.
    serving: bool,
    /// `true` if the previous process ended without closing.
    unclean: bool,
    /// Identity of the bus file.
    identity: String,
    pubsub: PubSub,
}

/// State that the writer task shares with the others; it does not keep the writer alive.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the writer when memory is ahead of the file.
    nudge: Notify,
    /// Last sequence number in the file.
    high: watch::Sender<i64>,
    closed: AtomicBool,
    limits: BusLimits,
    clock: SharedClock,
    availability: Availability,
    checkpoints: CheckpointWatch,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the state usable: no step in it stops half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and schedules its write to the file.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let result = change(&mut state);
        if state.touch(Instant::now()) {
            self.nudge.notify_one();
        }
        result
    }
}

impl EmbeddedBus {
    /// Opens the bus of a data folder for serving. Only one process can.
    ///
    /// # Errors
    /// [`BusError::Locked`] when another process serves from this folder, [`BusError::Storage`]
    /// when the file cannot be used.
    #[boxed]
    pub async fn open(
        folder: &Path,
        limits: BusLimits,
        clock: SharedClock,
    ) -> Result<Self, BusError> {
        let lock = folder::lock(folder)?;
        Self::start(folder, limits, clock, Some(lock)).await
    }

    /// Opens the bus beside a serving process, to publish and to manage dead letters, not to
    /// consume.
    ///
    /// # Errors
    /// [`BusError::Storage`] when the file cannot be used.
    #[boxed]
    pub async fn attach(
        folder: &Path,
        limits: BusLimits,
        clock: SharedClock,
    ) -> Result<Self, BusError> {
        Self::start(folder, limits, clock, None).await
    }

    /// Opens the bus as [`EmbeddedBus::attach`] does, if there is one.
    ///
    /// # Errors
    /// [`BusError::Missing`] when no process has served from this folder, [`BusError::Storage`]
    /// when the file cannot be used.
    #[boxed]
    pub async fn attach_existing(
        folder: &Path,
        limits: BusLimits,
        clock: SharedClock,
    ) -> Result<Self, BusError> {
        if !schema::file(folder).try_exists().map_err(sqlx::Error::Io)? {
            return Err(BusError::Missing(format!("in {}", folder.display())));
        }
        Self::attach(folder, limits, clock).await
    }

    async fn start(
        folder: &Path,
        limits: BusLimits,
        clock: SharedClock,
        lock: Option<File>,
    ) -> Result<Self, BusError> {
        let serving = lock.is_some();
        let mut conn = schema::writer(folder).await?;
        let identity = folder::identity(folder).map_err(sqlx::Error::Io)?;
        let unclean = serving && schema::set_unclean(&mut conn, true).await?;
        let mut state = schema::load(&mut conn).await?;
        if serving {
            consumers::sweep(&mut conn, &mut state).await?;
        }
        let high = schema::high(&mut conn).await?;
        let (ops, queue) = mpsc::channel(QUEUE);
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            nudge: Notify::new(),
            high: watch::Sender::new(high),
            closed: AtomicBool::new(false),
            limits,
            clock,
            availability: Availability::new(
                "bus",
                schema::file(folder).display().to_string(),
                "CHATKEEP_DATA",
            ),
            checkpoints: CheckpointWatch::new("bus"),
        });
        let file = BusFile::new(folder.to_owned(), conn);
        Writer::new(file, Arc::clone(&shared), queue, lock).spawn();
        let readers = schema::readers(folder);
        let pubsub = PubSub::default();
        Ok(Self {
            inner: Arc::new(Inner { shared, ops, readers, serving, unclean, identity, pubsub }),
        })
    }

    pub(super) fn availability(&self) -> &Availability {
        &self.inner.shared.availability
    }

    /// Returns the time for which the write-ahead log could not be emptied; `None` while it can,
    /// and in a process that does not serve the file.
    pub(super) fn checkpoint_overdue(&self) -> Option<Duration> {
        self.inner.shared.checkpoints.overdue()
    }

    pub(super) async fn publish(&self, messages: Vec<Outgoing>) -> Result<(), BusError> {
        if messages.is_empty() {
            return Ok(());
        }
        let messages: Result<Vec<_>, _> = messages.into_iter().map(RoutedMessage::of).collect();
        let messages = messages?;
        self.inner.request_writer(|done| Op::Publish { messages, done }).await
    }

    pub(super) async fn ensure(&self, spec: &ConsumerSpec) -> Result<(), BusError> {
        self.register(spec).await.map(drop)
    }

    pub(super) async fn consume(&self, spec: &ConsumerSpec) -> Result<EmbeddedConsumer, BusError> {
        let key = self.register(spec).await?;
        Ok(EmbeddedConsumer::new(Arc::clone(&self.inner), key))
    }

    async fn register(&self, spec: &ConsumerSpec) -> Result<usize, BusError> {
        if !self.inner.serving {
            return Err(BusError::Config("only the serving process consumes".into()));
        }
        let unclean = self.inner.unclean;
        let key = self.inner.shared.change(|state| state.ensure(spec, unclean))?;
        self.inner.flush().await?;
        Ok(key)
    }

    pub(super) async fn ready(&self) -> Result<(), BusError> {
        self.inner.flush().await
    }

    pub(super) async fn backlog(&self, spec: &ConsumerSpec) -> Result<u64, BusError> {
        read::backlog(&self.inner, spec).await
    }

    pub(super) async fn dead_letters(
        &self,
        consumer: Option<&str>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, BusError> {
        // No letter has a non-numeric id, so an unparsable cursor means "from the start".
        let after = after.and_then(|id| id.parse().ok()).unwrap_or(0);
        dead::list(&self.inner.readers, consumer, after, limit).await
    }

    pub(super) async fn count_dead_letters(&self) -> Result<u64, BusError> {
        dead::count(&self.inner.readers).await
    }

    pub(super) async fn dead_letter(&self, id: &str) -> Result<Option<DeadLetter>, BusError> {
        match id.parse() {
            Ok(id) => dead::find(&self.inner.readers, id).await,
            Err(_) => Ok(None),
        }
    }

    pub(super) async fn retry_dead_letter(&self, id: &str) -> Result<bool, BusError> {
        let Ok(id) = id.parse() else { return Ok(false) };
        self.inner.request_writer(|done| Op::RetryDead { id, done }).await
    }

    pub(super) async fn drop_dead_letter(&self, id: &str) -> Result<bool, BusError> {
        let Ok(id) = id.parse() else { return Ok(false) };
        self.inner.request_writer(|done| Op::DropDead { id, done }).await
    }

    pub(super) async fn close(&self) {
        self.inner.shared.closed.store(true, Ordering::Release);
        self.inner.pubsub.close();
        // Readers first: the last connection to close moves the WAL into the file.
        self.inner.readers.close().await;
        let (done, closed) = oneshot::channel();
        // Either error means that the writer has ended already.
        if self.inner.ops.send(Op::Close { done }).await.is_ok() {
            closed.await.ok();
        }
    }
}

impl Inner {
    /// Sends an operation to the writer and waits until it is durable.
    async fn request_writer<T>(
        &self,
        op: impl FnOnce(oneshot::Sender<Result<T, BusError>>) -> Op,
    ) -> Result<T, BusError> {
        let (done, answer) = oneshot::channel();
        self.ops.send(op(done)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Waits until all changes in memory are in the file.
    async fn flush(&self) -> Result<(), BusError> {
        self.request_writer(|done| Op::Flush { done }).await
    }

    fn check_open(&self) -> Result<(), BusError> {
        if self.shared.closed.load(Ordering::Acquire) { Err(closed()) } else { Ok(()) }
    }
}

fn closed() -> BusError {
    BusError::Unavailable("the bus is closed".into())
}

#[cfg(test)]
mod model_tests;
