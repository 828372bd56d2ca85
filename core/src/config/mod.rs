//! Settings: the commented default file, then `chatkeep.toml` (of the working folder, or of the
//! installed service in `/etc/chatkeep`), then the environment, then flags, each overriding the one
//! before.
//!
//! `deploy/chatkeep.toml` is both the documentation and the defaults. The list of settings, their
//! types and their environment names come from it; nothing else in the workspace reads the
//! environment.

mod deserialize;
mod disk;
mod error;
mod file;
mod hints;
mod http;
mod inspect;
mod layers;
mod line;
mod media;
mod memory;
mod redact;
mod retention;
mod s3;
mod sections;
mod shown;
mod snapshot;
mod sources;
mod unused;
mod values;
mod web;
mod webhooks;

pub use disk::{DiskConfig, INGRESS_RESERVE};
pub use error::ConfigError;
pub use hints::name_hint;
pub use http::HttpConfig;
pub use inspect::{EffectiveSetting, Inspection, SettingValue};
pub use line::LineConfig;
pub use media::MediaConfig;
pub use memory::MemoryConfig;
pub use redact::{has_password, public};
pub use retention::RetentionConfig;
pub use s3::S3Config;
pub use sections::{
    BusLimitsConfig, Config, IngressConfig, LogConfig, LogFormat, MetricsConfig, PoolConfig,
    ReplyConfig, ShutdownConfig, TelemetryConfig, UsageConfig, WorkersConfig,
};
pub use snapshot::SnapshotConfig;
pub use sources::{Override, Sources, UsualFiles};
pub use values::{BlobsKind, BusKind, Database};
pub use web::{ApiConfig, ConsoleConfig, LoginConfig, RateLimitConfig};
pub use webhooks::WebhooksConfig;

/// Commented default settings.
pub const DEFAULTS: &str = include_str!("../../../deploy/chatkeep.toml");

#[cfg(test)]
mod tests;
