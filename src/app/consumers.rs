//! Monitoring of the bus' durable consumers. Messages that a consumer has not finished are retained
//! and count against the bound of the backlog, so one that nobody serves would stop the ingress in
//! time.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::{Bus, BusError, ConsumerStatus};
use chatkeep_core::health::Health;
use chatkeep_core::metric;
use chatkeep_services::processes::running;
use chatkeep_store::Store;
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
    /// Bound of the backlog.
    pub(super) max_backlog: u64,
    /// Idle time after which a consumer of no known stage is removed; `None`: never.
    pub(super) remove_after: Option<Duration>,
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
        let mut orphaned = HashMap::new();
        // After a panic, those of before.
        let mut raised = self.raised();
        let mut pause = FIRST;
        while stop.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            match self.check(&mut orphaned).await {
                Ok(found) => self.report(&mut raised, found),
                Err(error) => {
                    log_failure!(warn, error.as_ref(), "cannot check the consumers of the bus");
                }
            }
            pause = if raised.is_empty() { INTERVAL } else { RECHECK_INTERVAL };
        }
    }

    /// Returns the parts of this monitor's problems that are raised.
    fn raised(&self) -> BTreeSet<String> {
        let parts = self.health.problems().into_iter().map(|problem| problem.part);
        parts.filter(|part| part.starts_with(PREFIX)).collect()
    }

    /// Returns the present problems, by part.
    async fn check(
        &self,
        orphaned: &mut HashMap<String, Instant>,
    ) -> anyhow::Result<Vec<(String, String)>> {
        self.retire().await?;
        let served: BTreeSet<_> = running(&self.store)
            .await?
            .into_iter()
            .flat_map(|record| record.process.stages)
            .collect();
        let mut problems = Vec::new();
        let consumers = self.bus.consumers().await?;
        // Served again, or removed: the gauge would show the last backlog for ever.
        orphaned.retain(|name, _| {
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
            let since = *orphaned.entry(consumer.name.clone()).or_insert_with(Instant::now);
            if self.is_abandoned(&consumer, since)
                && self.bus.remove_consumer(&consumer.name).await?
            {
                warn!(consumer = consumer.name, "removed a consumer that no process serves");
                continue;
            }
            show(&consumer.name, consumer.backlog);
            problems.extend(orphan(&consumer));
        }
        Ok(problems)
    }

    /// Returns true if the consumer is of no known stage and has been idle for long enough.
    fn is_abandoned(&self, consumer: &ConsumerStatus, since: Instant) -> bool {
        let Some(after) = self.remove_after else { return false };
        let idle = consumer.idle_seconds.map(Duration::from_secs);
        StageName::parse(&consumer.name).is_none()
            && idle.unwrap_or_else(|| since.elapsed()) >= after
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
    if StageName::parse(name).is_none() {
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
        bus.ensure(&StageName::Backup.consumer(LEASE)).await.unwrap();
        let store = Store::open(&Database::Sqlite, folder.path(), 1).await.unwrap();
        let health = Health::new(clock);
        ConsumerMonitor { bus, store, health, max_backlog: 10, remove_after: None }
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
        let mut orphaned = HashMap::new();
        for remove_after in [None, Some(Duration::from_hours(1))] {
            consumers.remove_after = remove_after;
            let problems = consumers.check(&mut orphaned).await.unwrap();
            let parts: Vec<_> = problems.into_iter().map(|(part, _)| part).collect();
            assert_eq!(parts, ["consumer:forgotten"], "told, and still there");
            assert_eq!(names(&consumers).await, ["backup", "forgotten"]);
        }
        consumers.remove_after = Some(Duration::ZERO);
        assert!(consumers.check(&mut orphaned).await.unwrap().is_empty());
        assert_eq!(names(&consumers).await, ["backup"], "a stage's consumer stays");
    }
}
