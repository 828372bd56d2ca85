//! The settings of connections: how many, and how slow they may be.

use std::time::Duration;

use super::ConfigError;
use super::reader::Reader;
use crate::http::pace::LeastSpeed;

/// Connections of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpConfig {
    /// Connections at once, at most.
    pub max_connections: usize,
    /// Connections of one public address at once, at most.
    pub max_per_address: usize,
    /// Time for the head of a request.
    pub header: Duration,
    /// Time between two requests of a connection.
    pub idle: Duration,
    /// The least speed at which the body of a request comes.
    pub body: LeastSpeed,
    /// The least speed at which an answer is taken.
    pub answer: LeastSpeed,
}

impl HttpConfig {
    pub(super) fn read(read: &Reader<'_>) -> Result<Self, ConfigError> {
        let bytes_per_second = read.number("http.min_bytes_per_second", 1, 1_000_000)?;
        let speed = |window| LeastSpeed { window, bytes_per_second };
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
