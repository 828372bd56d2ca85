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
    let scope = pid_scope();
    let same_machine = !scope.is_empty() && process.id.starts_with(&format!("{scope}-"));
    let folder = PathBuf::from(format!("/proc/{}", process.pid));
    same_machine && Path::new("/proc/self").exists() && !folder.exists()
}

/// Returns the scope in which the id of this process is unique: the run of the kernel, which no other
/// machine has, whatever its name is, and the namespace of process ids. Empty where it is not known.
pub fn pid_scope() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let namespace: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let boot: String = boot.chars().filter(char::is_ascii_hexdigit).collect();
    if boot.is_empty() || namespace.is_empty() {
        String::new()
    } else {
        format!("{boot}.{namespace}")
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_core::time::Timestamp;
    use chatkeep_store::NewProcess;

    use super::*;

    /// No process has this id: it is above the kernel's limit.
    const NOBODY: u32 = u32::MAX;

    fn record(id: String, pid: u32) -> ProcessRecord {
        ProcessRecord {
            process: NewProcess { id, pid, ..NewProcess::default() },
            search: None,
            started_at: Timestamp::from_millis(0),
            silent_for: Duration::ZERO,
        }
    }

    #[test]
    fn only_a_process_of_this_machine_is_known_to_have_died() {
        let here = format!("{}-a", pid_scope());
        assert!(has_died(&record(here.clone(), NOBODY)));
        assert!(!has_died(&record(here.clone(), std::process::id())));
        // A machine of the same name, with another run of its kernel.
        let elsewhere = format!("0{here}");
        assert!(!has_died(&record(elsewhere, NOBODY)));
        assert!(!has_died(&record("4026531836-a".to_owned(), NOBODY)), "an earlier version");
    }
}
