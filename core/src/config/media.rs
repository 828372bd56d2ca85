//! Settings of media files: size, concurrency, allowed sources.

use std::time::Duration;

use serde::Deserialize;

use super::deserialize::{number, seconds};

/// Settings of media files.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaConfig {
    /// Maximum size of a file, in bytes.
    #[serde(deserialize_with = "number::<1_024, 1_099_511_627_776, _, _>")]
    pub max_bytes: u64,
    /// Concurrent downloads of a process.
    #[serde(deserialize_with = "number::<1, 256, _, _>")]
    pub parallel: usize,
    /// Maximum number of attempts before a file is given up.
    #[serde(deserialize_with = "number::<1, 1_000, _, _>")]
    pub max_attempts: u32,
    /// Window over which the least speed of a download is averaged.
    #[serde(rename = "speed_seconds", deserialize_with = "seconds::<1, 300, _>")]
    pub speed_window: Duration,
    /// `true` if files may come from private addresses and over plain HTTP.
    pub allow_private: bool,
}
