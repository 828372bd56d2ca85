//! Monitoring of the bus' durable consumers. Messages that a consumer has not finished are retained
//! and count against the bound of the backlog, so one that nobody serves would stop the ingress in
//! time.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::{Bus, BusError, ConsumerStatus};
use chatkeep_core::health::Health;
use chatkeep_core::metric;
use chatkeep_core::time::SharedClock;
use chatkeep_services::processes::{LIVE, running};
use chatkeep_store::{Store, StoreError};
use chatkeep_workers::{StageName, log_failure};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// Interval between two checks.
const INTERVAL: Duration = Duration::from_mins(1);
/// Interval between two checks while there is a problem that somebody may be mending.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Delay of the first check: the other processes register themselves first.
const FIRST: Duration = Duration::from_secs(5);
/// Beginning of the names of its problems.
const PREFIX: &str = "consumer:";
/// Percentage of the bound at which a backlog is reported.
const BACKLOG_WARNING_PERCENT: u64 = 80;

/// Monitor of the durable consumers.
#[derive(Debug)]
pub(super) struct ConsumerMonitor {
    pub(super) bus: Bus,
    pub(super) store: Store,
    pub(super) health: Health,
    pub(super) clock: SharedClock,
    /// Id of this process.
    pub(super) process: String,
    /// Bound of the backlog.
    pub(super) max_backlog: u64,
    /// Idle time after which a consumer of no known stage is removed; `None`: never.
    pub(super) remove_after: Option<Duration>,
}

/// Observations of a monitor from one check to the next.
#[derive(Debug, Default)]
struct ConsumerObservations {
    /// Consumers that no process serves, each with the time since when.
    orphaned: HashMap<String, Instant>,
    /// Last time at which the heartbeat of this process itself was late.
    late_heartbeat: Option<Instant>,
}

impl ConsumerMonitor {
    /// Removes consumers of stages that no longer exist, at once.
    ///
    /// # Errors
    /// Returns an error if the bus cannot be reached.
    pub(super) async fn retire(&self) -> Result<(), BusError> {
        for name in StageName::RETIRED {
            if self.bus.remove_consumer(name).await? {
                info!(consumer = name, "removed the consumer of a former stage");
            }
        }
        Ok(())
    }

    /// Monitors consumers until `stop` is cancelled.
    pub(super) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut observed = ConsumerObservations::default();
        // After a panic, those of before.
        let mut raised = self.raised();
        let mut pause = FIRST;
        while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            let mut is_over = true;
            match self.check(&mut observed).await {
                Ok(Some(found)) => self.report(&mut raised, found),
                Ok(None) => is_over = false,
                Err(error) => {
                    log_failure!(warn, error.as_ref(), "cannot check the consumers of the bus");
                }
            }
            pause = if is_over && raised.is_empty() { INTERVAL } else { RECHECK_INTERVAL };
        }
    }

    /// Returns the parts of this monitor's problems that are raised.
    fn raised(&self) -> BTreeSet<String> {
        let parts = self.health.problems().into_iter().map(|problem| problem.part);
        parts.filter(|part| part.starts_with(PREFIX)).collect()
    }

    /// Returns the present problems, by part; `None` while nobody can tell which consumers are served.
    async fn check(
        &self,
        observed: &mut ConsumerObservations,
    ) -> anyhow::Result<Option<Vec<(String, String)>>> {
        self.retire().await?;
        let Some(served) = self.served(observed).await? else { return Ok(None) };
        let mut problems = Vec::new();
        let consumers = self.bus.consumers().await?;
        // Served again, or removed: the gauge would show the last backlog for ever.
        observed.orphaned.retain(|name, _| {
            let is_there = consumers.iter().any(|consumer| consumer.name == *name);
            let stays = is_there && !served.contains(name);
            if !stays {
                show(name, 0);
            }
            stays
        });
        for consumer in consumers {
            if served.contains(&consumer.name) {
                problems.extend(self.filling(&consumer));
                continue;
            }
            let since =
                *observed.orphaned.entry(consumer.name.clone()).or_insert_with(Instant::now);
            if self.is_abandoned(&consumer, since)
                && self.bus.remove_consumer(&consumer.name).await?
            {
                warn!(consumer = consumer.name, "removed a consumer that no process serves");
                continue;
            }
            show(&consumer.name, consumer.backlog);
            problems.extend(orphan(&consumer));
        }
        Ok(Some(problems))
    }

    /// Returns the stages that some process runs; `None` while the heartbeat of this process itself
    /// is late, as after a stall of the database, and for a while after that: those of others are
    /// late, too.
    async fn served(
        &self,
        observed: &mut ConsumerObservations,
    ) -> Result<Option<BTreeSet<String>>, StoreError> {
        let running = running(&self.store).await?;
        let own = running.iter().find(|record| record.process.id == self.process);
        // Others sent their last one a little earlier, maybe.
        if own.is_none_or(|own| own.silent_for > LIVE / 2) {
            observed.late_heartbeat = Some(Instant::now());
        }
        if observed.late_heartbeat.is_some_and(|late| late.elapsed() < LIVE) {
            return Ok(None);
        }
        Ok(Some(running.into_iter().flat_map(|record| record.process.stages).collect()))
    }

    /// Returns true if the consumer is of no known stage and has been idle for long enough.
    fn is_abandoned(&self, consumer: &ConsumerStatus, since: Instant) -> bool {
        let Some(after) = self.remove_after else { return false };
        // It is the difference between the time of the server and that of this process.
        let idle = consumer.idle_seconds.filter(|_| self.clock.is_confirmed());
        let idle = idle.map(Duration::from_secs);
        !StageName::has_consumer(&consumer.name) && idle.unwrap_or_else(|| since.elapsed()) >= after
    }

    fn filling(&self, consumer: &ConsumerStatus) -> Option<(String, String)> {
        let percent = consumer.backlog.saturating_mul(100) / self.max_backlog.max(1);
        let ConsumerStatus { name, backlog, .. } = consumer;
        (percent >= BACKLOG_WARNING_PERCENT).then(|| {
            let why = format!(
                "{backlog} messages are pending for the stage {name}, {percent} % of the bus's \
                 capacity"
            );
            (format!("{PREFIX}{name}"), why)
        })
    }

    fn report(&self, raised: &mut BTreeSet<String>, problems: Vec<(String, String)>) {
        let parts: BTreeSet<_> = problems.iter().map(|(part, _)| part.clone()).collect();
        for gone in raised.difference(&parts) {
            self.health.clear(gone);
        }
        for (part, why) in problems {
            self.health.raise(&part, why);
        }
        *raised = parts;
    }
}

/// Returns the problem with a consumer that no process serves.
fn orphan(consumer: &ConsumerStatus) -> Option<(String, String)> {
    let ConsumerStatus { name, backlog, .. } = consumer;
    if !StageName::has_consumer(name) {
        let why = format!(
            "no process serves the consumer {name}, and {backlog} messages are pending: remove it \
             with `chatkeep bus remove-consumer {name}`"
        );
        return Some((format!("{PREFIX}{name}"), why));
    }
    let why = format!("no process runs the stage {name}, and {backlog} messages are pending");
    (*backlog > 0).then(|| (format!("{PREFIX}{name}"), why))
}

fn show(consumer: &str, backlog: u64) {
    metric::ORPHANED_BACKLOG.count([consumer.to_owned().into()], backlog);
}

#[cfg(test)]
mod tests {

    use chatkeep_bus::embedded::EmbeddedBus;
    use chatkeep_bus::{BusLimits, ConsumerSpec, Stream};
    use chatkeep_core::config::Database;
    use chatkeep_core::time::SystemClock;
    use chatkeep_store::NewProcess;
    use tempfile::TempDir;

    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    async fn with_orphans(folder: &TempDir) -> ConsumerMonitor {
        let clock = Arc::new(SystemClock);
        let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), clock.clone());
        let bus = Bus::Embedded(bus.await.unwrap());
        let unknown = ConsumerSpec {
            name: "forgotten",
            stream: Stream::Events,
            queue: None,
            lease: LEASE,
            max_in_flight: 1,
        };
        bus.ensure(&unknown).await.unwrap();
        for stage in [StageName::Backup, StageName::ExternalMedia] {
            bus.ensure(&stage.consumer(LEASE)).await.unwrap();
        }
        let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
        let health = Health::new(clock.clone());
        let process = "own".to_owned();
        ConsumerMonitor { bus, store, health, clock, process, max_backlog: 10, remove_after: None }
    }

    /// Writes the heartbeat of the monitor's process, which runs no stage.
    async fn beat(consumers: &ConsumerMonitor) {
        let process = NewProcess {
            id: consumers.process.clone(),
            host: "here".to_owned(),
            pid: 1,
            ..NewProcess::default()
        };
        consumers.store.processes().heartbeat(&process, None).await.unwrap();
    }

    async fn names(consumers: &ConsumerMonitor) -> Vec<String> {
        let listed = consumers.bus.consumers().await.unwrap();
        let mut names: Vec<_> = listed.into_iter().map(|consumer| consumer.name).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn only_what_no_stage_reads_is_removed_after_its_time() {
        let folder = TempDir::new().unwrap();
        let mut consumers = with_orphans(&folder).await;
        beat(&consumers).await;
        let mut observed = ConsumerObservations::default();
        for remove_after in [None, Some(Duration::from_hours(1))] {
            consumers.remove_after = remove_after;
            let problems = consumers.check(&mut observed).await.unwrap().unwrap();
            let parts: Vec<_> = problems.into_iter().map(|(part, _)| part).collect();
            assert_eq!(parts, ["consumer:forgotten"], "reported, and still there");
            assert_eq!(names(&consumers).await, ["backup", "external_media", "forgotten"]);
        }
        consumers.remove_after = Some(Duration::ZERO);
        assert_eq!(consumers.check(&mut observed).await.unwrap(), Some(Vec::new()));
        let stay = ["backup", "external_media"];
        assert_eq!(names(&consumers).await, stay, "a stage's consumer stays");
    }

    #[tokio::test]
    async fn a_process_without_its_own_heartbeat_judges_nobody() {
        let folder = TempDir::new().unwrap();
        let mut consumers = with_orphans(&folder).await;
        consumers.remove_after = Some(Duration::ZERO);
        let mut observed = ConsumerObservations::default();
        assert_eq!(consumers.check(&mut observed).await.unwrap(), None);
        beat(&consumers).await;
        assert_eq!(consumers.check(&mut observed).await.unwrap(), None, "others may be late");
        assert_eq!(names(&consumers).await, ["backup", "external_media", "forgotten"]);
        observed.late_heartbeat = None;
        assert_eq!(consumers.check(&mut observed).await.unwrap(), Some(Vec::new()));
        assert_eq!(names(&consumers).await, ["backup", "external_media"]);
    }
}
