//! Typed settings, section by section, and the checks of each value.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;
use serde::Deserialize;

use super::deserialize::{
    address, days_if_any, folder, log_filter, number, optional_address, optional_web_address,
    ratio, replicas, seconds, zone,
};
use super::disk::DiskConfig;
use super::http::HttpConfig;
use super::layers::Layers;
use super::line::{self, LineConfig};
use super::media::MediaConfig;
use super::memory::MemoryConfig;
use super::retention::RetentionConfig;
use super::s3::S3Config;
use super::snapshot::SnapshotConfig;
use super::web::{ApiConfig, ConsoleConfig, LoginConfig, RateLimitConfig};
use super::webhooks::WebhooksConfig;
use super::{BlobsKind, BusKind, ConfigError, Database, Sources};

/// All settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Path of the settings file that was read, as it was given.
    #[serde(skip)]
    pub file: Option<String>,
    /// Listen address of webhooks and the API.
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// Data folder.
    #[serde(deserialize_with = "folder")]
    pub data: PathBuf,
    /// The database.
    pub database: Database,
    /// The bus.
    pub bus: BusKind,
    /// Location of media files.
    pub blobs: BlobsKind,
    /// True if the location is that of the data folder, for no setting names one.
    #[serde(skip)]
    pub blobs_in_data: bool,
    /// Default time zone in which the days of channels begin.
    #[serde(deserialize_with = "zone")]
    pub time_zone: Tz,
    /// The object store for media files.
    pub s3: S3Config,
    /// The LINE bots; at least one.
    #[serde(skip)]
    pub line: Vec<LineConfig>,
    /// Reserves of free disk space.
    pub disk: DiskConfig,
    /// Bounds of memory.
    pub memory: MemoryConfig,
    /// Client connections.
    pub http: HttpConfig,
    /// The ingress.
    pub ingress: IngressConfig,
    /// The API.
    pub api: ApiConfig,
    /// The web console.
    pub console: ConsoleConfig,
    /// Rate limits of a caller.
    pub rate_limit: RateLimitConfig,
    /// The identity provider.
    pub login: LoginConfig,
    /// Limits of the bus.
    pub bus_limits: BusLimitsConfig,
    /// The worker stages.
    pub workers: WorkersConfig,
    /// Media files.
    pub media: MediaConfig,
    /// Outgoing webhooks.
    pub webhooks: WebhooksConfig,
    /// Retention times.
    pub retention: RetentionConfig,
    /// Snapshots.
    pub snapshot: SnapshotConfig,
    /// Replies.
    pub reply: ReplyConfig,
    /// Quota usage.
    pub usage: UsageConfig,
    /// Database connections.
    pub database_pool: PoolConfig,
    /// Metrics.
    pub metrics: MetricsConfig,
    /// Logs.
    pub log: LogConfig,
    /// Traces.
    pub telemetry: TelemetryConfig,
    /// Shutdown.
    pub shutdown: ShutdownConfig,
    /// Likely mistakes that are not certainly errors, to be logged.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// Warnings about settings that have no effect on a service without another one.
    #[serde(skip)]
    pub unused: Vec<String>,
    /// All settings as a file without secrets, for snapshots.
    #[serde(skip)]
    pub shown: String,
}

/// Settings of the ingress.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IngressConfig {
    /// Maximum size of a webhook body, in bytes.
    #[serde(deserialize_with = "number::<1_024, 16_777_216, _, _>")]
    pub max_body_bytes: usize,
    /// Maximum number of webhooks with a wrong signature per address and minute.
    #[serde(deserialize_with = "number::<1, 1_000_000, _, _>")]
    pub rejected_per_minute: u32,
}

/// Limits of the bus.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BusLimitsConfig {
    /// Maximum number of pending messages.
    #[serde(deserialize_with = "number::<1_000, 1_000_000_000, _, _>")]
    pub max_backlog: u64,
    /// Window in which a repeated event is recognised.
    #[serde(rename = "dedupe_window_seconds", deserialize_with = "seconds::<10, 86_400, _>")]
    pub dedupe_window: Duration,
    /// Replicas of each JetStream stream: 1, 3 or 5.
    #[serde(deserialize_with = "replicas")]
    pub replicas: usize,
    /// Idle time after which a consumer of no known stage is removed; `None` for never.
    #[serde(rename = "remove_consumers_days", deserialize_with = "days_if_any::<3_650, _>")]
    pub remove_consumers: Option<Duration>,
}

/// Settings of the worker stages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkersConfig {
    /// Maximum number of messages in one transaction.
    #[serde(deserialize_with = "number::<1, 5_000, _, _>")]
    pub batch: usize,
    /// Concurrency of the assistant, in events.
    #[serde(deserialize_with = "number::<1, 1_024, _, _>")]
    pub concurrency: usize,
    /// Duration of a message's lease.
    #[serde(rename = "lease_seconds", deserialize_with = "seconds::<5, 3_600, _>")]
    pub lease: Duration,
    /// Maximum number of deliveries before a message becomes a dead letter.
    #[serde(deserialize_with = "number::<1, 100, _, _>")]
    pub max_attempts: u32,
}

/// Settings of replies.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplyConfig {
    /// `true` if a push may stand in for an expired reply token.
    pub push_fallback: bool,
    /// Maximum age of an event that a push may still answer.
    #[serde(rename = "push_max_age_seconds", deserialize_with = "seconds::<60, 86_400, _>")]
    pub push_max_age: Duration,
    /// Maximum time from an event to its reply.
    #[serde(rename = "deadline_seconds", deserialize_with = "seconds::<1, 60, _>")]
    pub deadline: Duration,
}

/// Settings of quota usage.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageConfig {
    /// `true` if users are notified when their usage crosses a threshold.
    pub tell_users: bool,
}

/// Settings of the database pool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    /// Maximum number of connections.
    #[serde(deserialize_with = "number::<1, 200, _, _>")]
    pub max_connections: u32,
}

/// Settings of metrics.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricsConfig {
    /// Listen address of `/metrics`; `None` to disable it.
    #[serde(deserialize_with = "optional_address")]
    pub listen: Option<SocketAddr>,
}

/// Format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum LogFormat {
    /// Text, with colours on a terminal.
    Auto,
    /// Text.
    Text,
    /// One JSON object a line.
    Json,
}

/// Settings of logs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogConfig {
    /// Format.
    pub format: LogFormat,
    /// Filter, as tracing directives.
    #[serde(deserialize_with = "log_filter")]
    pub filter: String,
}

/// Settings of traces.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetryConfig {
    /// Base address of an OpenTelemetry collector that traces are exported to by OTLP over HTTP;
    /// `None` for no traces.
    #[serde(deserialize_with = "optional_web_address")]
    pub endpoint: Option<String>,
    /// Ratio of the traces begun here that are recorded, from 0 to 1.
    #[serde(deserialize_with = "ratio")]
    pub sample_ratio: f64,
    /// `true` if a request continues the trace that its `traceparent` header names.
    pub trust_incoming: bool,
}

/// Settings of the shutdown.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShutdownConfig {
    /// Time for finishing the work under way.
    #[serde(rename = "drain_seconds", deserialize_with = "seconds::<1, 600, _>")]
    pub drain: Duration,
}

impl Config {
    /// Loads all settings.
    ///
    /// # Errors
    /// Returns the first invalid setting: its origin, its key, and the allowed values.
    pub fn load(sources: Sources) -> Result<Self, ConfigError> {
        let (config, layers) = Self::read(sources);
        match (layers.problems.into_iter().next(), config) {
            (None, Some(config)) => Ok(config),
            (Some(problem), _) => Err(problem),
            (None, None) => Err(ConfigError::Incomplete),
        }
    }

    /// Reads all settings; `None` if some are so wrong that not even defaults help.
    pub(super) fn read(sources: Sources) -> (Option<Self>, Layers) {
        let file = sources.file.as_ref().map(|(path, _)| path.clone());
        let mut layers = Layers::merge(sources);
        let config: Option<Self> = layers.settle(|layers| layers.all_but(line::SECTION));
        if let Some(Err((key, allowed))) = config.as_ref().map(|config| config.login.validate()) {
            let problem = layers.invalid(key, allowed);
            layers.problems.push(problem);
        }
        let line = layers.settle(LineConfig::read_all);
        let config = config.zip(line).map(|(config, line)| Self {
            file,
            line,
            blobs_in_data: config.blobs.is_unnamed(),
            blobs: config.blobs.in_folder(&config.data),
            shown: layers.shown(),
            warnings: layers.warnings.clone(),
            unused: layers.unused(),
            ..config
        });
        (config, layers)
    }
}

impl TryFrom<String> for LogFormat {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        match &*name {
            "auto" => Ok(Self::Auto),
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("\"auto\", \"text\" or \"json\""),
        }
    }
}
