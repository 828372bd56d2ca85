//! Typed settings, section by section, and the checks of each value.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use chrono_tz::Tz;

use super::http::HttpConfig;
use super::layers::Layers;
use super::line::LineConfig;
use super::media::MediaConfig;
use super::reader::Reader;
use super::retention::RetentionConfig;
use super::s3::S3Config;
use super::web::{ApiConfig, LoginConfig, RateLimitConfig};
use super::webhooks::WebhooksConfig;
use super::{BlobsKind, BusKind, ConfigError, Database, Sources};
use crate::telemetry;

/// All settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// Path of the settings file that was read, as it was given.
    pub file: Option<String>,
    /// Listen address of webhooks and the API.
    pub listen: SocketAddr,
    /// Data folder.
    pub data: PathBuf,
    /// The database.
    pub database: Database,
    /// The bus.
    pub bus: BusKind,
    /// Location of media files.
    pub blobs: BlobsKind,
    /// Default time zone in which the days of channels begin.
    pub time_zone: Tz,
    /// The object store for media files.
    pub s3: S3Config,
    /// The LINE bots; at least one.
    pub line: Vec<LineConfig>,
    /// Client connections.
    pub http: HttpConfig,
    /// The ingress.
    pub ingress: IngressConfig,
    /// The API.
    pub api: ApiConfig,
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
    /// Shutdown.
    pub shutdown: ShutdownConfig,
    /// Likely mistakes that are not certainly errors, to be logged.
    pub warnings: Vec<String>,
}

/// Settings of the ingress.
#[derive(Clone, Debug)]
pub struct IngressConfig {
    /// Maximum size of a webhook body, in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of webhooks with a wrong signature per address and minute.
    pub rejected_per_minute: u32,
}

/// Limits of the bus.
#[derive(Clone, Debug)]
pub struct BusLimitsConfig {
    /// Maximum number of pending messages.
    pub max_backlog: u64,
    /// Window in which a repeated event is recognised.
    pub dedupe_window: Duration,
    /// Replicas of each JetStream stream: 1, 3 or 5.
    pub replicas: usize,
    /// Idle time after which a consumer of no known stage is removed; `None` for never.
    pub remove_consumers: Option<Duration>,
}

/// Settings of the worker stages.
#[derive(Clone, Debug)]
pub struct WorkersConfig {
    /// Maximum number of messages in one transaction.
    pub batch: usize,
    /// Concurrency of the assistant, in events.
    pub concurrency: usize,
    /// Duration of a message's lease.
    pub lease: Duration,
    /// Maximum number of deliveries before a message becomes a dead letter.
    pub max_attempts: u32,
}

/// Settings of replies.
#[derive(Clone, Debug)]
pub struct ReplyConfig {
    /// `true` if a push may stand in for an expired reply token.
    pub push_fallback: bool,
    /// Maximum time from an event to its reply.
    pub deadline: Duration,
}

/// Settings of quota usage.
#[derive(Clone, Debug)]
pub struct UsageConfig {
    /// `true` if users are notified when their usage crosses a threshold.
    pub tell_users: bool,
}

/// Settings of the database pool.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// Maximum number of connections.
    pub max_connections: u32,
}

/// Settings of metrics.
#[derive(Clone, Debug)]
pub struct MetricsConfig {
    /// Listen address of `/metrics`; `None` to disable it.
    pub listen: Option<SocketAddr>,
}

/// Format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text, with colours on a terminal.
    Auto,
    /// Text.
    Text,
    /// One JSON object a line.
    Json,
}

/// Settings of logs.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Format.
    pub format: LogFormat,
    /// Filter, as tracing directives.
    pub filter: String,
}

/// Settings of the shutdown.
#[derive(Clone, Debug)]
pub struct ShutdownConfig {
    /// Time for finishing the work under way.
    pub drain: Duration,
}

impl Config {
    /// Loads all settings.
    ///
    /// # Errors
    /// Returns the first invalid setting: its origin, its key, and the allowed values.
    pub fn load(sources: Sources) -> Result<Self, ConfigError> {
        let file = sources.file.as_ref().map(|(path, _)| path.clone());
        let layers = Layers::merge(sources)?;
        let read = Reader(&layers);
        let data = PathBuf::from(read.filled("data")?);
        Ok(Self {
            file,
            listen: read.parsed("listen", ADDRESS, Reader::address)?,
            database: read.parsed("database", Database::ALLOWED, Database::parse)?,
            bus: read.parsed("bus", BusKind::ALLOWED, BusKind::parse)?,
            blobs: read.parsed("blobs", BlobsKind::ALLOWED, |t| BlobsKind::parse(t, &data))?,
            data,
            time_zone: read.zone("time_zone")?,
            s3: S3Config::read(&read)?,
            line: LineConfig::read_all(&read, &layers.bots)?,
            http: HttpConfig::read(&read)?,
            ingress: IngressConfig {
                max_body_bytes: read.number("ingress.max_body_bytes", 1_024, 16_777_216)?,
                rejected_per_minute: read.number("ingress.rejected_per_minute", 1, 1_000_000)?,
            },
            api: ApiConfig::read(&read)?,
            rate_limit: RateLimitConfig::read(&read)?,
            login: LoginConfig::read(&read)?,
            bus_limits: BusLimitsConfig {
                max_backlog: read.number("bus_limits.max_backlog", 1_000, 1_000_000_000)?,
                dedupe_window: read.seconds("bus_limits.dedupe_window_seconds", 10, 86_400)?,
                replicas: read
                    .checked("bus_limits.replicas", "1, 3 or 5", |n| matches!(n, 1 | 3 | 5))?,
                remove_consumers: Some(read.days("bus_limits.remove_consumers_days", 0, 3_650)?)
                    .filter(|time| !time.is_zero()),
            },
            workers: WorkersConfig {
                batch: read.number("workers.batch", 1, 5_000)?,
                concurrency: read.number("workers.concurrency", 1, 1_024)?,
                lease: read.seconds("workers.lease_seconds", 5, 3_600)?,
                max_attempts: read.number("workers.max_attempts", 1, 100)?,
            },
            media: MediaConfig::read(&read)?,
            webhooks: WebhooksConfig::read(&read)?,
            retention: RetentionConfig::read(&read)?,
            reply: ReplyConfig {
                push_fallback: read.switch("reply.push_fallback")?,
                deadline: read.seconds("reply.deadline_seconds", 1, 60)?,
            },
            usage: UsageConfig { tell_users: read.switch("usage.tell_users")? },
            database_pool: PoolConfig {
                max_connections: read.number("database_pool.max_connections", 1, 200)?,
            },
            metrics: MetricsConfig {
                listen: read.optional("metrics.listen", ADDRESS, Reader::address)?,
            },
            log: LogConfig {
                format: read.parsed("log.format", "\"auto\", \"text\" or \"json\"", log_format)?,
                filter: read.parsed("log.filter", FILTER, log_filter)?,
            },
            shutdown: ShutdownConfig { drain: read.seconds("shutdown.drain_seconds", 1, 600)? },
            warnings: layers.warnings.clone(),
        })
    }
}

const ADDRESS: &str = "an address and port, such as \"127.0.0.1:8080\"";
const FILTER: &str = "a level (off, error, warn, info, debug, trace) or tracing directives such as \
                      \"info,chatkeep_workers=debug\"";

fn log_format(name: &str) -> Option<LogFormat> {
    match name {
        "auto" => Some(LogFormat::Auto),
        "text" => Some(LogFormat::Text),
        "json" => Some(LogFormat::Json),
        _ => None,
    }
}

fn log_filter(text: &str) -> Option<String> {
    telemetry::filter(text).is_ok().then(|| text.to_owned())
}
