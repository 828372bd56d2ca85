//! Settings of client connections: their number and their least speed.

use std::time::Duration;

use serde::Deserialize;

use super::deserialize::{number, seconds};
use crate::http::minimum_rate::MinimumRate;

/// Limits of client connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "HttpSection")]
pub struct HttpConfig {
    /// Maximum number of concurrent connections.
    pub max_connections: usize,
    /// Maximum number of concurrent connections of one public address.
    pub max_per_address: usize,
    /// Maximum size of a request head, in bytes.
    pub max_head: usize,
    /// Maximum number of header fields of a request.
    pub max_headers: usize,
    /// Maximum memory of the bodies of all requests under way, in bytes.
    pub max_bodies: usize,
    /// Timeout for the head of a request.
    pub header: Duration,
    /// Idle timeout between two requests of a connection.
    pub idle: Duration,
    /// Least speed of a request body.
    pub body: MinimumRate,
    /// Least speed at which a client reads a response.
    pub answer: MinimumRate,
}

/// The section as it is written: one speed for both directions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpSection {
    #[serde(deserialize_with = "number::<16, 1_000_000, _, _>")]
    max_connections: usize,
    #[serde(deserialize_with = "number::<1, 1_000_000, _, _>")]
    max_per_address: usize,
    #[serde(deserialize_with = "number::<8_192, 1_048_576, _, _>")]
    max_head_bytes: usize,
    #[serde(deserialize_with = "number::<16, 1_000, _, _>")]
    max_headers: usize,
    #[serde(deserialize_with = "number::<16_777_216, 1_099_511_627_776, _, _>")]
    max_bodies_bytes: usize,
    #[serde(deserialize_with = "seconds::<1, 300, _>")]
    header_seconds: Duration,
    #[serde(deserialize_with = "seconds::<1, 3_600, _>")]
    idle_seconds: Duration,
    #[serde(deserialize_with = "number::<1, 1_000_000, _, _>")]
    min_bytes_per_second: u64,
    #[serde(deserialize_with = "seconds::<1, 300, _>")]
    body_seconds: Duration,
    #[serde(deserialize_with = "seconds::<1, 3_600, _>")]
    answer_seconds: Duration,
}

impl From<HttpSection> for HttpConfig {
    fn from(section: HttpSection) -> Self {
        let bytes_per_second = section.min_bytes_per_second;
        let speed = |window| MinimumRate { window, bytes_per_second };
        Self {
            max_connections: section.max_connections,
            max_per_address: section.max_per_address,
            max_head: section.max_head_bytes,
            max_headers: section.max_headers,
            max_bodies: section.max_bodies_bytes,
            header: section.header_seconds,
            idle: section.idle_seconds,
            body: speed(section.body_seconds),
            answer: speed(section.answer_seconds),
        }
    }
}
