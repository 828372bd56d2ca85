//! Status of the whole deployment: what runs, what waits, what fails, and what expires.

mod disks;
mod inquiries;

use chatkeep_bus::{Bus, BusError, ConsumerStatus};
use chatkeep_core::config::Config;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{ProcessRecord, Store, StoreError};
use chatkeep_workers::replica::ReplicaState;
use serde::Serialize;

pub(crate) use self::disks::{DiskFigures, DiskStatus};
pub(crate) use self::inquiries::{Expiry, Inquiries, SnapshotStatus, expiries, snapshots};
pub(super) use self::inquiries::{ExpiryTime, expiry_times};
use super::operator::Operator;
use super::processes::running;

/// Status of a deployment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeploymentStatus {
    /// Version of the program that asked.
    pub(crate) version: &'static str,
    pub(crate) processes: Vec<ProcessStatus>,
    /// Durable consumers of the bus, most of which are stages.
    pub(crate) consumers: Vec<ConsumerStatus>,
    pub(crate) dead_letters: u64,
    pub(crate) disks: Vec<DiskStatus>,
    pub(crate) media: MediaStatistics,
    pub(crate) webhooks: WebhookStatistics,
    pub(crate) expiries: Vec<Expiry>,
    /// Snapshots; `None` when the settings name no place for them, or nobody asked.
    pub(crate) snapshots: Option<SnapshotStatus>,
}

/// A process that runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProcessStatus {
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) version: String,
    pub(crate) roles: Vec<String>,
    pub(crate) stages: Vec<String>,
    pub(crate) started_at: String,
    pub(crate) started_seconds_ago: u64,
    pub(crate) seen_seconds_ago: u64,
    /// State of its search replica.
    pub(crate) search: Option<ReplicaState>,
}

/// Media files of all channels.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MediaStatistics {
    /// Different files that are stored.
    pub(crate) files: i64,
    pub(crate) bytes: i64,
    pub(crate) pending: i64,
    pub(crate) failed: i64,
}

/// Outgoing webhooks of all users.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebhookStatistics {
    pub(crate) enabled: i64,
    pub(crate) failing: i64,
    /// Disabled automatically.
    pub(crate) disabled: i64,
    /// Deliveries that are due.
    pub(crate) due: i64,
    /// Age of the oldest of those.
    pub(crate) oldest_due_seconds: Option<u64>,
}

/// Status of a deployment. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct StatusService {
    store: Store,
    /// `None` while no process has run on it.
    bus: Option<Bus>,
    clock: SharedClock,
}

/// Error of reading the status.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StatusError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bus(#[from] BusError),
}

impl StatusService {
    /// Creates the service; commands have it without the others.
    pub(crate) const fn new(store: Store, bus: Option<Bus>, clock: SharedClock) -> Self {
        Self { store, bus, clock }
    }

    /// Returns the present status, with what other machines answered.
    ///
    /// # Errors
    /// Returns an error when the store or the bus fails.
    pub(crate) async fn status(
        &self,
        _: &Operator,
        config: &Config,
        Inquiries { expiries, snapshots }: Inquiries,
    ) -> Result<DeploymentStatus, StatusError> {
        let (consumers, dead_letters) = match &self.bus {
            Some(bus) => (bus.consumers().await?, bus.count_dead_letters().await?),
            None => (Vec::new(), 0),
        };
        let processes = running(&self.store).await?;
        let now = self.clock.now();
        let media = self.store.media().media_figures().await?;
        Ok(DeploymentStatus {
            version: env!("CARGO_PKG_VERSION"),
            processes: processes.into_iter().map(|one| ProcessStatus::new(one, now)).collect(),
            consumers,
            dead_letters,
            disks: disks::statuses(config),
            media: MediaStatistics {
                files: media.files,
                bytes: media.bytes,
                pending: media.pending,
                failed: media.failed,
            },
            webhooks: self.webhooks().await?,
            expiries,
            snapshots,
        })
    }

    async fn webhooks(&self) -> Result<WebhookStatistics, StoreError> {
        let now = self.clock.now();
        let figures = self.store.webhooks().webhook_figures().await?;
        let queue = self.store.webhooks().webhook_queue(now).await?;
        Ok(WebhookStatistics {
            enabled: figures.enabled,
            failing: figures.failing,
            disabled: figures.disabled,
            due: queue.due,
            oldest_due_seconds: queue.oldest_due.map(|at| now.since(at).as_secs()),
        })
    }
}

impl ProcessStatus {
    fn new(record: ProcessRecord, now: Timestamp) -> Self {
        let process = record.process;
        Self {
            host: process.host,
            pid: process.pid,
            version: process.version,
            roles: process.roles,
            stages: process.stages,
            started_at: record.started_at.to_string(),
            started_seconds_ago: now.since(record.started_at).as_secs(),
            seen_seconds_ago: record.silent_for.as_secs(),
            search: record.search.and_then(|state| serde_json::from_str(&state).ok()),
        }
    }
}
