//! Processes of the deployment that run now, by their registrations in the store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_store::{ProcessRecord, Store, StoreError};

/// Time without a heartbeat after which a process is considered dead.
pub const LIVE: Duration = Duration::from_secs(20);
/// Name of the media store's identity among the settings that processes share.
pub const MEDIA: &str = "the media store";

/// Returns the processes of the deployment that run now.
///
/// # Errors
/// Returns an error when the store fails.
#[boxed]
pub async fn running(store: &Store) -> Result<Vec<ProcessRecord>, StoreError> {
    let mut running = store.processes().list(LIVE).await?;
    running.retain(|record| !has_died(record));
    Ok(running)
}

/// Returns the identity of a process' media store, where it is known.
pub fn media_store_of(record: &ProcessRecord) -> Option<&str> {
    record.process.shared.get(MEDIA).map(String::as_str)
}

/// Returns true if a process of the same machine has ended without deregistering.
pub fn has_died(other: &ProcessRecord) -> bool {
    let process = &other.process;
    let host = gethostname::gethostname();
    let same_machine = host.to_string_lossy() == process.host
        && !namespace().is_empty()
        && process.id.starts_with(&format!("{}-", namespace()));
    let folder = PathBuf::from(format!("/proc/{}", process.pid));
    same_machine && Path::new("/proc/self").exists() && !folder.exists()
}

/// Returns the namespace of this process' process id.
pub fn namespace() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let name = link.to_string_lossy();
    name.chars().filter(char::is_ascii_digit).collect()
}
