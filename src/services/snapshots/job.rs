//! Periodic job that keeps the ledger in the archive up to date, and makes and removes snapshots by
//! their schedule.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chatkeep_core::config::SnapshotConfig;
use chatkeep_workers::periodic::{FirstRun, JobFailure, PeriodicJob, Scope};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::create::PresentLedger;
use super::layout::CLOCKS;
use super::lock::{LEASE_NAME, SnapshotLock};
use super::prune::{PruneReport, SnapshotRetention};
use super::{SnapshotError, SnapshotReason, SnapshotService, SnapshotSource};

/// Job of a process with the worker role.
#[derive(Debug)]
pub struct SnapshotJob {
    service: SnapshotService,
    source: SnapshotSource,
    every: Option<Duration>,
    retention: SnapshotRetention,
    /// Ledger that was written last.
    written: Mutex<Option<PresentLedger>>,
}

impl SnapshotJob {
    /// Creates the job of a deployment.
    pub fn new(service: SnapshotService, source: SnapshotSource, config: &SnapshotConfig) -> Self {
        let retention = SnapshotRetention::of(config);
        Self { service, source, every: config.every, retention, written: Mutex::new(None) }
    }

    async fn round(&self) -> Result<(), SnapshotError> {
        self.ledger().await?;
        if !self.is_due().await? {
            return Ok(());
        }
        // With PostgreSQL the job itself is leased.
        let _lock = if self.source.embedded_database {
            Some(SnapshotLock::of(&self.service.data)?)
        } else {
            None
        };
        let made = self.service.create_locked(&self.source, SnapshotReason::Schedule).await?;
        // A wrong clock makes the newest ones look old.
        let gone = if self.service.clock.is_confirmed() {
            self.service.prune_locked(self.retention).await?
        } else {
            PruneReport::default()
        };
        info!(
            snapshot = made.id,
            place = self.service.place(),
            files = made.files,
            removed_snapshots = gone.snapshots,
            removed_files = gone.files,
            "snapshot made"
        );
        Ok(())
    }

    /// Keeps the ledger in the archive up to date. Not everything that it lists leaves a trace
    /// elsewhere, such as an event of the outbox, so it is read whole.
    async fn ledger(&self) -> Result<(), SnapshotError> {
        let written = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let last = written().clone();
        let present = self.service.refresh_ledger(&self.source.store, last).await?;
        *written() = Some(present);
        Ok(())
    }

    async fn is_due(&self) -> Result<bool, SnapshotError> {
        let Some(every) = self.every else { return Ok(false) };
        let Some(newest) = self.service.newest().await? else { return Ok(true) };
        match self.service.manifest(&newest).await {
            Ok(newest) => {
                let (now, made) = (self.service.clock.now(), newest.created_at);
                // One that a wrong clock dated into the future says nothing about when it was made.
                Ok(now.since(made) >= every || made > now.plus(CLOCKS))
            }
            // Another one is better than none.
            Err(error) if error.is_about_one() => Ok(true),
            Err(error) => Err(error),
        }
    }
}

impl SnapshotRetention {
    /// Returns what the settings say.
    pub const fn of(config: &SnapshotConfig) -> Self {
        Self::Newest { keep: config.keep, days: config.keep_days }
    }
}

impl PeriodicJob for SnapshotJob {
    const NAME: &'static str = LEASE_NAME;
    const PERIOD: Duration = Duration::from_mins(5);
    const FAILURE: &'static str = "cannot make a snapshot";
    const SCOPE: Scope = Scope::Deployment;
    const FIRST_RUN: FirstRun = FirstRun::Soon;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        match stop.run_until_cancelled(self.round()).await {
            // Somebody makes one at the command line.
            None | Some(Err(SnapshotError::Busy)) => Ok(()),
            Some(done) => Ok(done?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use chatkeep_blobs::Archive;
    use chatkeep_core::config::{BlobsKind, Database, S3Config};
    use chatkeep_core::id::{ChannelId, UserId};
    use chatkeep_core::time::{SystemClock, Timestamp};
    use chatkeep_store::{JobKind, NewChannelJob, Store};

    use super::super::seal::AgeRecipients;
    use super::*;

    async fn job(folder: &Path) -> SnapshotJob {
        let place = BlobsKind::Folder(folder.join("archive"));
        let s3 = S3Config {
            endpoint: None,
            region: String::new(),
            access_key_id: None,
            secret_access_key: None,
            path_style: true,
        };
        let service = SnapshotService {
            archive: Archive::open(&place, &s3).unwrap(),
            recipients: AgeRecipients::default(),
            clock: Arc::new(SystemClock),
            data: folder.to_owned(),
            settings: String::new(),
        };
        let source = SnapshotSource {
            store: Store::open(&Database::Sqlite, folder, 1).await.unwrap(),
            blobs: None,
            embedded_database: true,
            embedded_bus: false,
        };
        let retention = SnapshotRetention::Newest { keep: 1, days: 0 };
        SnapshotJob { service, source, every: None, retention, written: Mutex::default() }
    }

    #[tokio::test]
    async fn the_ledger_follows_what_leaves_no_event() {
        let folder = tempfile::tempdir().unwrap();
        let job = job(folder.path()).await;
        let file = folder.path().join("archive/ledger.jsonl");
        let ledger = async || {
            job.round().await.unwrap();
            std::fs::read_to_string(&file).unwrap()
        };
        assert_eq!(ledger().await, "");
        let (user, channel) = (UserId::from("U1"), ChannelId::from("C1"));
        let store = &job.source.store;
        let now = || Timestamp::from_millis(5);
        store.members().set_opted_out(&user, None, true, now).await.unwrap();
        let told = ledger().await;
        assert!(told.contains("opt_out") && told.lines().count() == 1, "{told}");
        // An erasure of nothing: no message, and so no event.
        let kind = JobKind::Erasure(user.clone());
        let new = NewChannelJob {
            id: "j1",
            channel: &channel,
            kind: &kind,
            sent_before: now(),
            by: &user,
            worker: None,
        };
        store.jobs().begin_needed_job(&new, now()).await.unwrap();
        let told = ledger().await;
        assert!(told.contains("person") && told.lines().count() == 2, "{told}");
        // Who changes nothing writes nothing, unless somebody has removed it.
        let modified = || std::fs::metadata(&file).unwrap().modified().unwrap();
        let before = modified();
        assert_eq!(ledger().await, told);
        assert_eq!(modified(), before);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(ledger().await, told);
    }
}
