//! Checkpoints of the write-ahead log of an embedded database, which remove deleted content from
//! its files. The embedded bus makes those of its own file.

use std::time::Duration;

use chatkeep_bus::Bus;
use chatkeep_core::checkpoints::CheckpointWatch;
use chatkeep_core::health::Health;
use chatkeep_store::{Store, StoreError};
use chatkeep_workers::periodic::{JobFailure, PeriodicJob};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Maximum number of checkpoints of one run: a reader seldom takes long, but the next one may have
/// begun by then.
const ATTEMPTS: u32 = 10;
/// Pause between two of them.
const PAUSE: Duration = Duration::from_millis(500);
/// Time after which a log that cannot be emptied is a problem of the process.
const LIMIT: Duration = Duration::from_mins(10);

/// Empties the write-ahead log of an embedded database. A log that cannot be emptied for long, also
/// that of the embedded bus, is a problem of the process: what was erased is still in it.
#[derive(Debug)]
pub struct WalCheckpoint {
    store: Store,
    bus: Bus,
    health: Health,
    watch: CheckpointWatch,
}

impl WalCheckpoint {
    /// Creates the job, which also reports on the file of `bus`.
    pub fn new(store: Store, bus: Bus, health: Health) -> Self {
        Self { store, bus, health, watch: CheckpointWatch::new("database") }
    }

    /// Empties the log, and returns whether it is empty.
    async fn empty(&self, stop: &CancellationToken) -> Result<bool, StoreError> {
        for _ in 1..ATTEMPTS {
            if self.store.checkpoint_wal().await? {
                return Ok(true);
            }
            if stop.run_until_cancelled(sleep(PAUSE)).await.is_none() {
                return Ok(false);
            }
        }
        self.store.checkpoint_wal().await
    }

    fn report(&self, part: &str, overdue: Option<Duration>) {
        match overdue {
            Some(overdue) if overdue >= LIMIT => self.health.raise(
                part,
                format!(
                    "the write-ahead log could not be emptied for {} minutes, as by a read that \
                     does not end: what was erased meanwhile is still in it",
                    overdue.as_secs() / 60
                ),
            ),
            _ => self.health.clear(part),
        }
    }
}

impl PeriodicJob for WalCheckpoint {
    const NAME: &'static str = "wal_checkpoint";
    const PERIOD: Duration = Duration::from_mins(1);
    const FAILURE: &'static str = "cannot checkpoint the database";

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let emptied = self.empty(stop).await;
        if self.store.is_embedded() {
            self.watch.note(matches!(emptied, Ok(true)));
        }
        self.report("database_wal", self.watch.overdue());
        self.report("bus_wal", self.bus.checkpoint_overdue());
        emptied?;
        Ok(())
    }
}
