//! Settings: the commented default file, then `chatkeep.toml`, then the environment, then flags,
//! each weighing more than the one before.
//!
//! `deploy/chatkeep.toml` is both the documentation and the defaults. The list of settings, their
//! types and their environment names come from it; nothing else in the workspace reads the
//! environment.

mod error;
mod file;
mod layers;
mod reader;
mod redact;
mod s3;
mod sections;
mod sources;
mod values;
mod web;

pub use error::ConfigError;
pub use s3::S3Config;
pub use sections::{
    BusLimitsConfig, Config, IngressConfig, LineConfig, LogConfig, LogFormat, MetricsConfig,
    PoolConfig, ReplyConfig, ShutdownConfig, WorkersConfig,
};
pub use sources::{Override, Sources};
pub use values::{BlobsKind, BusKind, Database};
pub use web::{ApiConfig, LoginConfig, RateLimitConfig};

/// The commented defaults.
pub const DEFAULTS: &str = include_str!("../../../deploy/chatkeep.toml");

#[cfg(test)]
mod tests;
