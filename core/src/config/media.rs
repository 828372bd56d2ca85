//! Settings of media files: size, concurrency, allowed sources.

use std::time::Duration;

use super::ConfigError;
use super::reader::Reader;

/// Settings of media files.
#[derive(Clone, Copy, Debug)]
pub struct MediaConfig {
    /// Maximum size of a file, in bytes.
    pub max_bytes: u64,
    /// Concurrent downloads of a process.
    pub parallel: usize,
    /// Maximum number of attempts before a file is given up.
    pub max_attempts: u32,
    /// Window over which the least speed of a download is averaged.
    pub speed_window: Duration,
    /// `true` if files may come from private addresses and over plain HTTP.
    pub allow_private: bool,
}

impl MediaConfig {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            max_bytes: read.number("media.max_bytes", 1_024, 1_099_511_627_776)?,
            parallel: read.number("media.parallel", 1, 256)?,
            max_attempts: read.number("media.max_attempts", 1, 1_000)?,
            speed_window: read.seconds("media.speed_seconds", 1, 300)?,
            allow_private: read.switch("media.allow_private")?,
        })
    }
}
