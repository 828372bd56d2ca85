//! Status of the whole deployment: what runs, what waits, what fails, and what expires.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::{Bus, BusError, ConsumerStatus};
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::{BlobsKind, Config};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_platform::{Bots, PlatformError, SharedPlatform};
use chatkeep_store::{ProcessRecord, Store, StoreError};
use chatkeep_workers::replica::ReplicaState;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::certificates;
use super::operator::Operator;
use super::processes::running;
use super::snapshots::{SnapshotError, SnapshotService};
use crate::disk::{DiskReserves, DiskSpace};

/// Timeout of one question to another machine.
const TIMEOUT: Duration = Duration::from_secs(10);

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

/// Disk of a folder on this machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiskStatus {
    /// `data` or `media`.
    pub(crate) folder: &'static str,
    pub(crate) path: PathBuf,
    /// Its space, or the reason why that cannot be read.
    #[serde(flatten, serialize_with = "space_or_error")]
    pub(crate) space: Result<DiskFigures, String>,
}

/// Space of a disk.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiskFigures {
    pub(crate) free_bytes: u64,
    pub(crate) total_bytes: u64,
    /// Free bytes below which the work that fills the folder pauses; 0 where none does.
    pub(crate) reserve_bytes: u64,
    /// True below the reserve. A pause ends with a quarter more than that.
    pub(crate) low: bool,
}

/// Serializes the figures, or the reason as `error`.
fn space_or_error<S: Serializer>(
    space: &Result<DiskFigures, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match space {
        Ok(figures) => figures.serialize(serializer),
        Err(error) => {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry("error", error)?;
            map.end()
        }
    }
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

/// Snapshots of the deployment.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SnapshotStatus {
    /// Location.
    pub(crate) place: String,
    /// Time of the newest whole one; `None` when there is none.
    pub(crate) newest_at: Option<String>,
    pub(crate) newest_seconds_ago: Option<u64>,
    /// Reason why the place cannot be read.
    pub(crate) error: Option<String>,
}

/// Answers of other machines that are part of the status.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inquiries {
    pub(crate) expiries: Vec<Expiry>,
    pub(crate) snapshots: Option<SnapshotStatus>,
}

/// A certificate or a token that expires.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Expiry {
    /// `certificate`, or `access_token` of a bot.
    pub(crate) kind: &'static str,
    /// Address of the certificate, or name of the bot.
    pub(crate) name: String,
    /// `None` when that is not known.
    pub(crate) expires_at: Option<String>,
    pub(crate) seconds_left: Option<u64>,
    /// Reason why it cannot be used or asked for.
    pub(crate) error: Option<String>,
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
            disks: disks(config),
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

/// Returns the disks of the folders on this machine.
fn disks(config: &Config) -> Vec<DiskStatus> {
    let reserves = DiskReserves::new(config);
    let mut folders = vec![("data", &config.data, reserves.ingress)];
    if let BlobsKind::Folder(folder) = &config.blobs {
        folders.push(("media", folder, reserves.media));
    }
    let status = |(folder, path, reserve): (&'static str, &PathBuf, DiskReserve)| {
        let figures = |DiskSpace { free, total }| DiskFigures {
            free_bytes: free,
            total_bytes: total,
            reserve_bytes: reserve.minimum(),
            low: reserve.record(free),
        };
        let space = DiskSpace::of(path).map(figures).map_err(|error| error.to_string());
        DiskStatus { folder, path: path.clone(), space }
    };
    folders.into_iter().map(status).collect()
}

/// Asks when the certificate of the public address and the access tokens of the bots expire: the
/// address itself, and the platform.
pub(crate) async fn expiries(
    _: &Operator,
    base_url: Option<&str>,
    bots: &Bots,
    clock: &SharedClock,
) -> Vec<Expiry> {
    let found = expiry_times(base_url, bots, clock).await;
    found.into_iter().map(|(kind, name, at)| Expiry::new(kind, &name, at, clock)).collect()
}

/// Time at which something expires; `None` if it does not, or that is not known.
pub(super) type ExpiryTime = Result<Option<Timestamp>, String>;

/// Asks the same. Returns kind, name and time of each.
pub(super) async fn expiry_times(
    base_url: Option<&str>,
    bots: &Bots,
    clock: &SharedClock,
) -> Vec<(&'static str, String, ExpiryTime)> {
    let mut found = Vec::new();
    if let Some(address) = base_url.filter(|address| address.starts_with("https://")) {
        let expiry = answered(certificates::expiry(address)).await;
        found.push(("certificate", address.to_owned(), expiry.map(Some)));
    }
    for bot in bots.names() {
        let Ok(directory) = bots.get(bot) else { continue };
        let left = answered(token_lifetime(directory.platform())).await;
        let at = left.map(|left| left.map(|left| clock.now().plus(left)));
        found.push(("access_token", bot.to_owned(), at));
    }
    found
}

/// Asks how long an access token is valid. One of which the platform tells nothing may also be one that
/// it refuses.
async fn token_lifetime(platform: &SharedPlatform) -> Result<Option<Duration>, PlatformError> {
    let lifetime = platform.token_lifetime().await?;
    if lifetime.is_none() {
        platform.bot().await?;
    }
    Ok(lifetime)
}

/// Looks at the newest snapshot; `None` when the settings name no place for snapshots.
pub(crate) async fn snapshots(
    _: &Operator,
    config: &Config,
    clock: &SharedClock,
) -> Option<SnapshotStatus> {
    let place = config.snapshot.target.as_ref()?.to_string();
    let newest = async {
        match SnapshotService::open_existing(config, None, Arc::clone(clock))?
            .manifest("latest")
            .await
        {
            Ok(manifest) => Ok(Some(manifest.created_at)),
            Err(SnapshotError::Unknown { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let (at, error) = match answered(newest).await {
        Ok(at) => (at, None),
        Err(error) => (None, Some(error)),
    };
    Some(SnapshotStatus {
        place,
        newest_at: at.map(|at| at.to_string()),
        newest_seconds_ago: at.map(|at| clock.now().since(at).as_secs()),
        error,
    })
}

/// Waits for an answer of another machine.
async fn answered<T, E: std::error::Error + 'static>(
    question: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(TIMEOUT, question).await {
        Ok(answer) => answer.map_err(|error| with_causes(&error)),
        Err(_) => Err("no answer in time".to_owned()),
    }
}

impl Expiry {
    fn new(kind: &'static str, name: &str, at: ExpiryTime, clock: &SharedClock) -> Self {
        let (at, error) = match at {
            Ok(at) => (at, None),
            Err(error) => (None, Some(error)),
        };
        Self {
            kind,
            name: name.to_owned(),
            expires_at: at.map(|at| at.to_string()),
            seconds_left: at.map(|at| at.since(clock.now()).as_secs()),
            error,
        }
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
