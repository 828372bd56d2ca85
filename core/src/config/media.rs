//! The settings of media files: how large, how many at once, from where.

use std::time::Duration;

use super::ConfigError;
use super::reader::Reader;

/// Files of messages.
#[derive(Clone, Copy, Debug)]
pub struct MediaConfig {
    /// Bytes of a file, at most.
    pub max_bytes: u64,
    /// Files that a process fetches at once.
    pub parallel: usize,
    /// Times that a file is tried before it is given up.
    pub max_attempts: u32,
    /// Over which the least speed of a file is averaged.
    pub speed_window: Duration,
    /// Whether files may come from private addresses and over plain HTTP.
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
