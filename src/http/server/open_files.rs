//! Number of connections within the limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

/// Files that the process needs beside its connections: databases, the index, outgoing calls.
const OTHERS: u64 = 512;
/// Files of those that nothing can do without.
const OTHERS_AT_LEAST: u64 = 112;
/// Number of files below which a start warns.
const FEW: u64 = 600;
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
    let connections = room_of(files);
    if connections >= wanted {
        return wanted;
    }
    let sentence = "the system allows fewer open files than http.max_connections";
    if files < FEW {
        warn!(files, connections, "{sentence}");
    } else {
        info!(files, connections, "{sentence}");
    }
    connections
}

/// Returns the number of connections for which there is room within that many open files.
fn room_of(files: u64) -> usize {
    let half = (files / 2).min(files.saturating_sub(OTHERS_AT_LEAST));
    let room = files.saturating_sub(OTHERS).max(half);
    usize::try_from(room).unwrap_or(usize::MAX).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_few_files_keeps_those_that_it_needs() {
        for (files, connections) in [(64, 16), (128, 16), (200, 88), (512, 256), (4_096, 3_584)] {
            assert_eq!(room_of(files), connections, "{files}");
        }
    }
}
