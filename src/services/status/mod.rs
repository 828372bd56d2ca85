//! Status of the whole deployment: what runs, what waits, what fails, and what expires.

mod disks;
mod inquiries;

use std::error::Error;

use async_recursion::async_recursion as boxed;
use chatkeep_bus::{Bus, ConsumerStatus};
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::Config;
use chatkeep_core::time::{SharedClock, Timestamp};
use chatkeep_store::{ChannelFigures, MediaFigures, ProcessRecord, Store, StoreError};
use chatkeep_workers::notifier::FAILING_AFTER;
use chatkeep_workers::replica::ReplicaState;
use serde::Serialize;

pub use self::disks::{DiskFigures, DiskStatus};
pub use self::inquiries::{Expiry, Inquiries, SnapshotStatus, expiries, snapshots};
pub(super) use self::inquiries::{ExpiryTime, expiry_times};
use super::operator::Operator;
use super::processes::running;

/// Status of a deployment, as far as it could be read: a part that could not is `None`, and
/// [`DeploymentStatus::unread`] says why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentStatus {
    /// Version of the program that asked.
    pub version: &'static str,
    pub processes: Option<Vec<ProcessStatus>>,
    /// Durable consumers of the bus, most of which are stages.
    pub consumers: Option<Vec<ConsumerStatus>>,
    pub dead_letters: Option<u64>,
    pub disks: Vec<DiskStatus>,
    pub channels: Option<ChannelStatistics>,
    pub media: Option<MediaStatistics>,
    pub webhooks: Option<WebhookStatistics>,
    pub expiries: Vec<Expiry>,
    /// Snapshots; `None` when the settings name no place for them, or nobody asked.
    pub snapshots: Option<SnapshotStatus>,
    /// Parts that could not be read.
    pub unread: Vec<Unread>,
}

/// Part of a status that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unread {
    /// The part: `database`, `bus`, or what is read from them.
    pub part: &'static str,
    /// The error with its causes. Never holds a secret.
    pub error: String,
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

/// Channels with subscribers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStatistics {
    pub backed_up: i64,
    /// Those of which nothing is stored, because the quota of every subscriber is used up.
    pub paused: i64,
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
    /// Deliveries that are due, without those to webhooks that pause or have been failing for a
    /// minute.
    pub due: i64,
    /// Age of the oldest of those.
    pub oldest_due_seconds: Option<u64>,
}

/// Reader of a deployment's status. Cheap to clone.
#[derive(Clone, Debug)]
pub struct StatusService {
    store: Result<Store, String>,
    bus: Result<Option<Bus>, String>,
    clock: SharedClock,
}

impl StatusService {
    /// Creates the service of what could be opened, or the errors; commands have it without the
    /// others. The bus is `None` while no process has run on it.
    pub const fn new(
        store: Result<Store, String>,
        bus: Result<Option<Bus>, String>,
        clock: SharedClock,
    ) -> Self {
        Self { store, bus, clock }
    }

    /// Returns the present status, with what other machines answered.
    #[boxed]
    pub async fn status(
        &self,
        _: &Operator,
        config: &Config,
        Inquiries { expiries, snapshots, mut unread }: Inquiries,
    ) -> DeploymentStatus {
        let closed = [("database", self.store.as_ref().err()), ("bus", self.bus.as_ref().err())];
        let error = |(part, error): (_, Option<&String>)| Some((part, error?.clone()));
        let closed = closed.into_iter().filter_map(error);
        unread.extend(closed.map(|(part, error)| Unread { part, error }));
        let of_bus = async {
            match &self.bus {
                Ok(Some(bus)) => Some(tokio::join!(bus.consumers(), bus.count_dead_letters())),
                Ok(None) => Some((Ok(Vec::new()), Ok(0))),
                Err(_) => None,
            }
        };
        let of_store = async {
            let Ok(store) = &self.store else { return (None, None, None, None) };
            let (media, channels) = (store.media(), store.channels());
            let (processes, channels, media, webhooks) = tokio::join!(
                running(store),
                channels.channel_figures(),
                media.media_figures(),
                self.webhooks(store)
            );
            (Some(processes), Some(channels), Some(media), Some(webhooks))
        };
        let (of_bus, (processes, channels, media, webhooks)) = tokio::join!(of_bus, of_store);
        let (consumers, dead_letters) = of_bus.unzip();
        let now = self.clock.now();
        let processes = read(&mut unread, "processes", processes);
        let processes =
            processes.map(|all| all.into_iter().map(|one| ProcessStatus::new(one, now)).collect());
        let consumers = read(&mut unread, "consumers", consumers);
        let dead_letters = read(&mut unread, "dead letters", dead_letters);
        let channels = read(&mut unread, "channels", channels).map(ChannelStatistics::from);
        let media = read(&mut unread, "media files", media).map(MediaStatistics::from);
        let webhooks = read(&mut unread, "webhooks", webhooks);
        DeploymentStatus {
            version: env!("CARGO_PKG_VERSION"),
            processes,
            consumers,
            dead_letters,
            disks: disks::statuses(config),
            channels,
            media,
            webhooks,
            expiries,
            snapshots,
            unread,
        }
    }

    async fn webhooks(&self, store: &Store) -> Result<WebhookStatistics, StoreError> {
        let now = self.clock.now();
        let figures = store.webhooks().webhook_figures().await?;
        let queue = store.webhooks().webhook_queue(now.minus(FAILING_AFTER), now).await?;
        Ok(WebhookStatistics {
            enabled: figures.enabled,
            failing: figures.failing,
            disabled: figures.disabled,
            due: queue.due,
            oldest_due_seconds: queue.oldest_due.map(|at| now.since(at).as_secs()),
        })
    }
}

/// Returns what was read; notes the error of what was not.
fn read<T, E: Error + 'static>(
    unread: &mut Vec<Unread>,
    part: &'static str,
    found: Option<Result<T, E>>,
) -> Option<T> {
    match found? {
        Ok(found) => Some(found),
        Err(error) => {
            unread.push(Unread { part, error: with_causes(&error) });
            None
        }
    }
}

impl From<ChannelFigures> for ChannelStatistics {
    fn from(figures: ChannelFigures) -> Self {
        let ChannelFigures { subscribed, paused } = figures;
        Self { backed_up: subscribed - paused, paused }
    }
}

impl From<MediaFigures> for MediaStatistics {
    fn from(figures: MediaFigures) -> Self {
        let MediaFigures { files, bytes, pending, failed } = figures;
        Self { files, bytes, pending, failed }
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
