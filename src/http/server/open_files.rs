//! Number of connections within the limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

/// Files that the process needs beside its connections: databases, the index, outgoing calls.
const OTHERS: u64 = 512;
/// Minimum number of connections, however few files there are.
const LEAST: usize = 16;

/// Returns the number of connections, of those `wanted`, that fit after raising the limit of open
/// files as far as allowed.
pub fn room_for(wanted: usize) -> usize {
    let needed = u64::try_from(wanted).unwrap_or(u64::MAX).saturating_add(OTHERS);
    let limit = getrlimit(Resource::Nofile);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let mut files = limit.current.unwrap_or(u64::MAX);
    if files < needed {
        let raised = needed.min(hard);
        let current = Some(raised);
        match setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum }) {
            Ok(()) => files = raised,
            Err(error) => warn!(%error, "cannot raise the limit of open files"),
        }
    }
    let room = usize::try_from(files.saturating_sub(OTHERS).max(files / 2)).unwrap_or(usize::MAX);
    if room < wanted {
        let connections = room.max(LEAST);
        info!(files, connections, "the system allows fewer open files than http.max_connections");
        return connections;
    }
    wanted
}
