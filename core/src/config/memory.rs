//! Settings of the memory of a process.

use serde::Deserialize;

use super::deserialize::number;

/// Bounds of the memory of a process, in bytes, each of one part.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryConfig {
    /// Compiled rules of active channels.
    #[serde(deserialize_with = "number::<1_048_576, 1_099_511_627_776, _, _>")]
    pub assistant_bytes: u64,
    /// Changes of the search index between two commits.
    #[serde(deserialize_with = "number::<15_000_000, 1_099_511_627_776, _, _>")]
    pub index_bytes: usize,
    /// Page caches of all connections to SQLite together.
    #[serde(deserialize_with = "number::<1_048_576, 1_099_511_627_776, _, _>")]
    pub database_bytes: u64,
}
