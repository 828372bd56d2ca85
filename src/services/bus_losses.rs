//! Events that the bus has lost after accepting them, those in its dead letters among them, or that
//! came after the copy from which the database was restored: nothing has them any more, so coverage
//! shows an outage for their time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chatkeep_bus::{Bus, BusState, DeadLetter};
use chatkeep_core::event::Envelope;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{BusRecord, Store};
use chatkeep_workers::StageName;
use chatkeep_workers::periodic::{FirstRun, JobFailure, JobScope, PeriodicJob};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Number of dead letters of that stage, of those that were given up first, whose events' times are
/// looked at: all are read again each time, with what they hold.
const LETTERS: usize = 200;

/// Last recorded state of the bus, and its present one, read after that: a bus that has lost nothing is
/// never behind it.
#[derive(Clone, Debug)]
pub struct BusReading {
    /// Recorded state; `None` before the first record.
    pub known: Option<BusRecord>,
    /// State of the bus.
    pub state: BusState,
}

/// Compares the bus with its last recorded state, and records its state. A bus that was set back
/// while a process runs, and that has accepted more than it lost before the next run, goes unnoticed.
pub struct BusLosses {
    store: Store,
    bus: Bus,
    clock: SharedClock,
    /// Reading of before this process accepted anything, until it is compared.
    first: Mutex<Option<BusReading>>,
}

impl BusLosses {
    /// Creates the job with the reading of before the process accepted anything.
    pub const fn new(store: Store, bus: Bus, clock: SharedClock, first: BusReading) -> Self {
        Self { store, bus, clock, first: Mutex::new(Some(first)) }
    }

    fn first(&self) -> MutexGuard<'_, Option<BusReading>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time before which the stage that stores messages has handled every accepted event,
    /// and given up none that a retry could still store.
    async fn handled_until(&self) -> Result<Timestamp, JobFailure> {
        let until = self.acknowledged_until().await?;
        let given_up = self.bus.dead_letters_of(StageName::Backup.name(), LETTERS).await?;
        Ok(given_up.iter().map(received_at).fold(until, Timestamp::min))
    }

    /// Returns the time before which that stage has acknowledged every accepted event.
    async fn acknowledged_until(&self) -> Result<Timestamp, JobFailure> {
        let now = self.clock.now();
        let consumers = self.bus.consumers().await?;
        let backup = consumers.iter().find(|consumer| consumer.name == StageName::Backup.name());
        let oldest = backup.and_then(|backup| backup.oldest_seconds);
        // The age is in whole seconds, rounded down.
        Ok(oldest.map_or(now, |seconds| now.minus(Duration::from_secs(seconds.saturating_add(1)))))
    }
}

/// Returns the time at which the event in a dead letter was received; of what is no event, when it was
/// given up.
fn received_at(letter: &DeadLetter) -> Timestamp {
    let envelope = serde_json::from_slice::<Envelope>(&letter.payload);
    envelope.map_or(letter.died_at, |envelope| Timestamp::from_millis(envelope.received_at))
}

impl PeriodicJob for BusLosses {
    const NAME: &'static str = "bus_losses";
    const PERIOD: Duration = Duration::from_mins(1);
    const FAILURE: &'static str = "cannot compare the bus with its last state";
    const FIRST_RUN: FirstRun = FirstRun::Now;
    const SCOPE: JobScope = JobScope::Deployment;
    /// A wrong clock would record a wrong time of what was lost.
    const GOES_BY_AGE: bool = true;

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let processes = self.store.processes();
        let first = self.first().clone();
        let BusReading { known, state } = if let Some(first) = first {
            first
        } else {
            let known = processes.bus_record().await?;
            BusReading { known, state: self.bus.state().await? }
        };
        let found = BusRecord {
            identity: state.identity,
            last_sequence: state.last_sequence,
            handled_until: self.handled_until().await?,
        };
        let now = self.clock.now();
        let is_recorded = processes.replace_bus_record(known.as_ref(), &found, now).await?;
        *self.first() = None;
        if let Some(known) = known.filter(|known| is_recorded && known.is_lost_in(&found)) {
            warn!(
                from = %known.handled_until,
                to = %now,
                "the bus has lost events that it had accepted, or is another one than before, or \
                 the database was restored: coverage shows an outage for the time"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use chatkeep_bus::embedded::EmbeddedBus;
    use chatkeep_bus::{BusLimits, ConsumerSpec, Outgoing, Stream};
    use chatkeep_core::config::Database;
    use chatkeep_core::time::ManualClock;
    use futures_util::future::try_join_all;
    use serde_json::{Value, json};
    use sqlx::{Connection as _, SqliteConnection};
    use tempfile::TempDir;

    use super::*;

    const BACKUP: ConsumerSpec = ConsumerSpec {
        name: StageName::Backup.name(),
        stream: Stream::Events,
        queue: None,
        lease: Duration::from_secs(30),
        max_in_flight: 10,
    };

    struct Deployment {
        folder: TempDir,
        job: BusLosses,
        hands: Arc<ManualClock>,
    }

    impl Deployment {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let hands = Arc::new(ManualClock::new(Timestamp::from_millis(1_000_000)));
            let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
            let clock: SharedClock = hands.clone();
            let bus = bus(&folder, &clock).await;
            let first = BusReading { known: None, state: bus.state().await.unwrap() };
            Self { folder, job: BusLosses::new(store, bus, clock, first), hands }
        }

        async fn accept(&self, id: &str) {
            let (subject, id) = ("event.line.1".to_owned(), id.to_owned());
            let event = Outgoing { subject, id, payload: Bytes::from_static(b"{}"), trace: None };
            self.job.bus.publish(vec![event]).await.unwrap();
        }

        /// Accepts an event that its stage gives up.
        async fn give_up(&self, payload: &Value) {
            let (subject, id) = ("event.line.1".to_owned(), "dead".to_owned());
            let payload = Bytes::from(payload.to_string());
            let event = Outgoing { subject, id, payload, trace: None };
            self.job.bus.publish(vec![event]).await.unwrap();
            let mut consumer = self.job.bus.consume(&BACKUP).await.unwrap();
            let mut leased = consumer.fetch(1, Duration::from_secs(5)).await.unwrap();
            leased.remove(0).dead_letter("refused").await.unwrap();
        }

        async fn run(&self) {
            self.job.run(&CancellationToken::new()).await.unwrap();
        }

        fn pass(&self, seconds: u64) {
            self.hands.advance(Duration::from_secs(seconds));
        }

        /// Returns the outages, in seconds.
        async fn outages(&self) -> Vec<(i64, i64)> {
            let file = self.folder.path().join("chatkeep.db");
            let mut conn = SqliteConnection::connect(file.to_str().unwrap()).await.unwrap();
            let all = "SELECT from_at / 1000, to_at / 1000 FROM outages ORDER BY from_at";
            sqlx::query_as(all).fetch_all(&mut conn).await.unwrap()
        }

        /// Removes the bus file, as a disk that is lost does, and opens the bus anew.
        async fn lose_bus(&mut self, files: &[&str]) {
            self.job.bus.close().await;
            for file in files {
                std::fs::remove_file(self.folder.path().join("bus").join(file)).unwrap();
            }
            self.job.bus = bus(&self.folder, &self.job.clock).await;
        }

        /// Starts the job of another process, which reads both before it accepts anything.
        async fn restart(&mut self) {
            let BusLosses { store, bus, clock, .. } = &self.job;
            let known = store.processes().bus_record().await.unwrap();
            let first = BusReading { known, state: bus.state().await.unwrap() };
            self.job = BusLosses::new(store.clone(), bus.clone(), clock.clone(), first);
        }
    }

    async fn bus(folder: &TempDir, clock: &SharedClock) -> Bus {
        let folder = folder.path().join("bus");
        std::fs::create_dir_all(&folder).unwrap();
        let bus = EmbeddedBus::open(&folder, BusLimits::default(), clock.clone()).await.unwrap();
        let bus = Bus::Embedded(bus);
        bus.ensure(&BACKUP).await.unwrap();
        bus
    }

    #[tokio::test]
    async fn an_outage_begins_with_the_oldest_event_that_was_not_handled() {
        let mut deployment = Deployment::new().await;
        deployment.run().await;
        deployment.pass(60);
        deployment.accept("a").await;
        deployment.pass(30);
        deployment.run().await;
        assert_eq!(deployment.outages().await, []);
        deployment.pass(10);
        deployment.lose_bus(&["bus.db"]).await;
        deployment.run().await;
        assert_eq!(deployment.outages().await, [(1_059, 1_100)]);
        // Recorded once.
        deployment.pass(10);
        deployment.run().await;
        assert_eq!(deployment.outages().await, [(1_059, 1_100)]);
    }

    #[tokio::test]
    async fn another_bus_has_none_of_the_events() {
        let mut deployment = Deployment::new().await;
        deployment.run().await;
        deployment.pass(10);
        deployment.lose_bus(&["bus.db", "bus.id"]).await;
        deployment.accept("a").await;
        deployment.run().await;
        assert_eq!(deployment.outages().await, [(1_000, 1_010)]);
    }

    #[tokio::test]
    async fn a_bus_that_has_caught_up_since_the_start_was_behind() {
        let mut deployment = Deployment::new().await;
        deployment.accept("a").await;
        deployment.run().await;
        deployment.run().await;
        deployment.lose_bus(&["bus.db"]).await;
        deployment.restart().await;
        deployment.accept("b").await;
        deployment.accept("c").await;
        deployment.pass(5);
        deployment.run().await;
        assert_eq!(deployment.outages().await, [(999, 1_005)]);
    }

    #[tokio::test]
    async fn what_was_in_the_dead_letters_is_lost_with_them() {
        let mut deployment = Deployment::new().await;
        deployment.run().await;
        let payload = json!({
            "v": 1, "id": "a", "platform": "line", "bot": "line", "channel": null,
            "received_at": 1_020_000, "raw": {},
        });
        deployment.give_up(&payload).await;
        deployment.pass(3_600);
        deployment.run().await;
        assert_eq!(deployment.outages().await, []);
        deployment.lose_bus(&["bus.db"]).await;
        deployment.run().await;
        assert_eq!(deployment.outages().await, [(1_020, 4_600)]);
        // No other bus has them.
        deployment.pass(60);
        deployment.lose_bus(&["bus.db"]).await;
        deployment.run().await;
        assert_eq!(deployment.outages().await, [(1_020, 4_600)]);
    }

    #[tokio::test]
    async fn dead_letters_of_other_stages_hide_none_of_this_one() {
        let mut deployment = Deployment::new().await;
        deployment.run().await;
        let first = json!({
            "v": 1, "id": "a", "platform": "line", "bot": "line", "channel": null,
            "received_at": 900_000, "raw": {},
        });
        let event = |number: usize| {
            let (subject, id) = ("event.line.1".to_owned(), number.to_string());
            let payload = if number == 0 { first.to_string() } else { "{}".to_owned() };
            Outgoing { subject, id, payload: payload.into(), trace: None }
        };
        {
            let bus = &deployment.job.bus;
            let other = ConsumerSpec { name: StageName::Assistant.name(), ..BACKUP };
            let mut consumer = bus.consume(&other).await.unwrap();
            bus.publish((0..LETTERS).map(event).collect()).await.unwrap();
            let mut given_up = 0;
            while given_up < LETTERS {
                let leased = consumer.fetch(10, Duration::from_secs(5)).await.unwrap();
                given_up += leased.len();
                let ends = leased.into_iter().map(|delivery| delivery.dead_letter("refused"));
                try_join_all(ends).await.unwrap();
            }
            let mut consumer = bus.consume(&BACKUP).await.unwrap();
            let mut leased = consumer.fetch(1, Duration::from_secs(5)).await.unwrap();
            leased.remove(0).dead_letter("refused").await.unwrap();
        }
        deployment.pass(10);
        deployment.run().await;
        deployment.lose_bus(&["bus.db"]).await;
        deployment.run().await;
        assert_eq!(deployment.outages().await, [(900, 1_010)]);
    }

    #[tokio::test]
    async fn a_bus_that_is_opened_again_has_lost_nothing() {
        let mut deployment = Deployment::new().await;
        deployment.accept("a").await;
        deployment.run().await;
        deployment.pass(10);
        deployment.lose_bus(&[]).await;
        deployment.run().await;
        assert_eq!(deployment.outages().await, []);
    }
}
