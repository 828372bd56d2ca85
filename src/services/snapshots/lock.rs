//! Lock of a deployment's snapshots: one is made, or old ones are removed, at a time.
//!
//! On one machine a lock on a file does, which ends with its process however that ends; with
//! PostgreSQL it is a lease in the database.

use std::fs::{File, TryLockError};
use std::future::Future;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chatkeep_core::random::random_name;
use chatkeep_store::Store;
use chatkeep_workers::lease::{LEASE, LostLease, extend_lease};
use tokio::time::{Instant, sleep};
use tracing::debug;

use super::SnapshotError;
use super::files::remove_file;

/// Name of the file in the data folder.
const FILE: &str = "snapshot.lock";
/// Name of the lease: that of the periodic job, which takes it, too.
pub(super) const LEASE_NAME: &str = "snapshots";
/// Time that a command waits for another one: longer than a service takes for its ledger.
const LOCK_TIMEOUT: Duration = Duration::from_secs(45);
/// Interval between two attempts to lock.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Lock on a file, until it is dropped.
#[derive(Debug)]
pub(super) struct SnapshotLock(#[expect(dead_code, reason = "its lock ends with it")] File);

impl SnapshotLock {
    /// Locks the snapshots of a data folder.
    ///
    /// # Errors
    /// [`SnapshotError::Busy`] while another process has the lock.
    pub(super) fn of(data: &Path) -> Result<Self, SnapshotError> {
        Self::take(&data.join(FILE)).map(|lock| lock.ok_or(SnapshotError::Busy))?
    }

    /// Locks the same, waiting a while for another process.
    ///
    /// # Errors
    /// [`SnapshotError::Busy`] when the other one takes longer.
    pub(super) async fn wait(data: &Path) -> Result<Self, SnapshotError> {
        retried_while_busy(async || Self::of(data)).await
    }

    /// Locks a file, which is created; `None` while another process has the lock.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created or locked.
    pub(super) fn take(path: &Path) -> Result<Option<Self>, SnapshotError> {
        loop {
            let file = File::options().create(true).append(true).open(path)?;
            match file.try_lock() {
                // Its last holder may have removed the file since it was opened here, and somebody
                // else may hold the lock of the one that is there now.
                Ok(()) if !is_at(&file, path)? => {}
                Ok(()) => return Ok(Some(Self(file))),
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
    }
}

/// Returns whether a path leads to that open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let file = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (file.dev(), file.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Lock whose file is removed when it ends.
#[derive(Debug)]
pub(super) struct PassingLock {
    path: PathBuf,
    _locked: SnapshotLock,
}

impl PassingLock {
    /// Locks a file, which is created; `None` while another process has the lock.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created or locked.
    pub(super) fn take(path: PathBuf) -> Result<Option<Self>, SnapshotError> {
        Ok(SnapshotLock::take(&path)?.map(|locked| Self { path, _locked: locked }))
    }
}

impl Drop for PassingLock {
    fn drop(&mut self) {
        // Still locked: who opens it until then waits or tries again.
        let _ = remove_file(&self.path);
    }
}

/// Does `work` while this process has the lease of the deployment.
///
/// # Errors
/// [`SnapshotError::Busy`] while another process has it, or when it was lost.
pub(super) async fn leased<T>(
    store: &Store,
    work: impl Future<Output = Result<T, SnapshotError>>,
) -> Result<T, SnapshotError> {
    let process = random_name();
    let take = async || {
        let taken_at = Instant::now();
        let taken = store.jobs().take_job_lease(LEASE_NAME, &process, LEASE).await?;
        if taken { Ok(taken_at) } else { Err(SnapshotError::Busy) }
    };
    let taken_at = retried_while_busy(take).await?;
    let done = tokio::select! {
        done = work => done,
        lost = extend_lease(store, LEASE_NAME, &process, taken_at) => Err(match lost {
            LostLease::Taken => SnapshotError::Busy,
            LostLease::Ended(error) => error.into(),
        }),
    };
    if let Err(error) = store.jobs().release_job_lease(LEASE_NAME, &process).await {
        debug!(%error, "the lease of the snapshots ends later");
    }
    done
}

/// Repeats `attempt` while another process is busy, for a while.
async fn retried_while_busy<T>(
    attempt: impl AsyncFn() -> Result<T, SnapshotError>,
) -> Result<T, SnapshotError> {
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        match attempt().await {
            Err(SnapshotError::Busy) if Instant::now() < end => sleep(POLL_INTERVAL).await,
            done => return done,
        }
    }
}
