//! Status of the whole deployment: what runs, what waits, what fails, and what expires.

mod disks;
mod inquiries;

use async_recursion::async_recursion as boxed;
use chatkeep_bus::{Bus, BusError, ConsumerStatus};
use chatkeep_core::config::Config;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{ProcessRecord, Store, StoreError};
use chatkeep_workers::replica::ReplicaState;
use serde::Serialize;

pub use self::disks::{DiskFigures, DiskStatus};
pub use self::inquiries::{Expiry, Inquiries, SnapshotStatus, expiries, snapshots};
pub(super) use self::inquiries::{ExpiryTime, expiry_times};
use super::operator::Operator;
use super::processes::running;

/// Status of a deployment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentStatus {
    /// Version of the program that asked.
    pub version: &'static str,
    pub processes: Vec<ProcessStatus>,
    /// Durable consumers of the bus, most of which are stages.
    pub consumers: Vec<ConsumerStatus>,
    pub dead_letters: u64,
    pub disks: Vec<DiskStatus>,
    pub media: MediaStatistics,
    pub webhooks: WebhookStatistics,
    pub expiries: Vec<Expiry>,
    /// Snapshots; `None` when the settings name no place for them, or nobody asked.
    pub snapshots: Option<SnapshotStatus>,
}

/// A process that runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessStatus {
    pub host: String,
    pub pid: u32,
    pub version: String,
    pub roles: Vec<String>,
    pub stages: Vec<String>,
    pub started_at: String,
    pub started_seconds_ago: u64,
    pub seen_seconds_ago: u64,
    /// State of its search replica.
    pub search: Option<ReplicaState>,
}

/// Media files of all channels.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MediaStatistics {
    /// Different files that are stored.
    pub files: i64,
    pub bytes: i64,
    pub pending: i64,
    pub failed: i64,
}

/// Outgoing webhooks of all users.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookStatistics {
    pub enabled: i64,
    pub failing: i64,
    /// Disabled automatically.
    pub disabled: i64,
    /// Deliveries that are due.
    pub due: i64,
    /// Age of the oldest of those.
    pub oldest_due_seconds: Option<u64>,
}

/// Status of a deployment. Cheap to clone.
#[derive(Clone, Debug)]
pub struct StatusService {
    store: Store,
    /// `None` while no process has run on it.
    bus: Option<Bus>,
    clock: SharedClock,
}

/// Error of reading the status.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Bus(#[from] BusError),
}

impl StatusService {
    /// Creates the service; commands have it without the others.
    pub const fn new(store: Store, bus: Option<Bus>, clock: SharedClock) -> Self {
        Self { store, bus, clock }
    }

    /// Returns the present status, with what other machines answered.
    ///
    /// # Errors
    /// Returns an error when the store or the bus fails.
    #[boxed]
    pub async fn status(
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
