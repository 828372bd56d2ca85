//! Lock of a deployment's snapshots: one is made, or old ones are removed, at a time.
//!
//! On one machine a lock on a file does, which ends with its process however that ends; with
//! PostgreSQL it is a lease in the database.

use std::fs::{File, TryLockError};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use chatkeep_core::random::random_name;
use chatkeep_store::Store;
use tokio::time::{Instant, sleep};

use super::SnapshotError;

/// Name of the file in the data folder.
const FILE: &str = "snapshot.lock";
/// Name of the lease: that of the periodic job, which takes it, too.
pub(super) const LEASE: &str = "snapshots";
/// Duration of a lease.
const LEASED: Duration = Duration::from_secs(30);
/// Time that a command waits for another one: longer than a service takes for its ledger.
const PATIENCE: Duration = Duration::from_secs(45);
/// Interval between two attempts to lock.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval between two extensions of a lease.
const EXTENDED: Duration = Duration::from_secs(10);

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
        patient(async || Self::of(data)).await
    }

    /// Locks a file, which is created; `None` while another process has the lock.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created or locked.
    pub(super) fn take(path: &Path) -> Result<Option<Self>, SnapshotError> {
        let file = File::options().create(true).append(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
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
    let (process, mut work) = (random_name(), pin!(work));
    let claim = async || {
        let claimed = store.jobs().claim_job_lease(LEASE, &process, LEASED).await?;
        if claimed { Ok(()) } else { Err(SnapshotError::Busy) }
    };
    patient(&claim).await?;
    loop {
        claim().await?;
        if let Ok(done) = tokio::time::timeout(EXTENDED, &mut work).await {
            store.jobs().release_job_lease(LEASE, &process).await?;
            return done;
        }
    }
}

/// Repeats `attempt` while another process is busy, for a while.
async fn patient<T>(
    attempt: impl AsyncFn() -> Result<T, SnapshotError>,
) -> Result<T, SnapshotError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match attempt().await {
            Err(SnapshotError::Busy) if Instant::now() < end => sleep(POLL_INTERVAL).await,
            done => return done,
        }
    }
}
