//! Settings of client connections: their number and their least speed.

use std::time::Duration;

use super::ConfigError;
use super::reader::Reader;
use crate::http::minimum_rate::MinimumRate;

/// Limits of client connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpConfig {
    /// Maximum number of concurrent connections.
    pub max_connections: usize,
    /// Maximum number of concurrent connections of one public address.
    pub max_per_address: usize,
    /// Timeout for the head of a request.
    pub header: Duration,
    /// Idle timeout between two requests of a connection.
    pub idle: Duration,
    /// Least speed of a request body.
    pub body: MinimumRate,
    /// Least speed at which a client reads a response.
    pub answer: MinimumRate,
}

impl HttpConfig {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self, ConfigError> {
        let bytes_per_second = read.number("http.min_bytes_per_second", 1, 1_000_000)?;
        let speed = |window| MinimumRate { window, bytes_per_second };
        Ok(Self {
            max_connections: read.number("http.max_connections", 16, 1_000_000)?,
            max_per_address: read.number("http.max_per_address", 1, 1_000_000)?,
            header: read.seconds("http.header_seconds", 1, 300)?,
            idle: read.seconds("http.idle_seconds", 1, 3_600)?,
            body: speed(read.seconds("http.body_seconds", 1, 300)?),
            answer: speed(read.seconds("http.answer_seconds", 1, 3_600)?),
        })
    }
}
