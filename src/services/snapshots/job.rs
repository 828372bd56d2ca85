//! Periodic job that keeps the ledger in the archive up to date, and makes and removes snapshots by
//! their schedule.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chatkeep_core::config::SnapshotConfig;
use chatkeep_core::health::Health;
use chatkeep_core::outage::Failure;
use chatkeep_workers::periodic::{FirstRun, JobFailure, JobScope, PeriodicJob};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::create::PresentLedger;
use super::layout::CLOCKS;
use super::lock::{LEASE_NAME, SnapshotLock};
use super::prune::{PruneReport, SnapshotRetention};
use super::{
    SnapshotError, SnapshotManifest, SnapshotPlace, SnapshotReason, SnapshotService, SnapshotSource,
};

/// Part of the process that has a problem while snapshots fail.
const PART: &str = "snapshots";

/// Job of a process with the worker role.
#[derive(Debug)]
pub struct SnapshotJob {
    place: SnapshotPlace,
    source: SnapshotSource,
    health: Health,
    every: Option<Duration>,
    retention: SnapshotRetention,
    /// Ledger that was written last.
    written: Mutex<Option<PresentLedger>>,
    /// `true` while snapshots that are not to stay were not removed.
    owes_pruning: AtomicBool,
}

impl SnapshotJob {
    /// Creates the job of a deployment. While it fails, `health` has a problem.
    pub fn new(
        place: SnapshotPlace,
        source: SnapshotSource,
        health: Health,
        config: &SnapshotConfig,
    ) -> Self {
        let (every, retention) = (config.every, SnapshotRetention::of(config));
        let (written, owes_pruning) = (Mutex::default(), AtomicBool::default());
        Self { place, source, health, every, retention, written, owes_pruning }
    }

    async fn round(&self) -> Result<(), SnapshotError> {
        let service = self.place.service().await?;
        self.ledger(&service).await?;
        let is_due = self.is_due(&service).await?;
        if !is_due && !self.owes_pruning.load(Ordering::Relaxed) {
            return Ok(());
        }
        // With PostgreSQL the job itself is leased.
        let _lock = if self.source.embedded_database {
            Some(SnapshotLock::of(&service.data)?)
        } else {
            None
        };
        let made = if is_due { Some(self.make(&service).await?) } else { None };
        // If that fails, it is tried again in the next round, which has no snapshot to make.
        self.owes_pruning.store(true, Ordering::Relaxed);
        let mut gone = PruneReport::default();
        // A wrong clock makes the newest ones look old.
        if service.clock.is_confirmed() {
            gone = service.prune_locked(self.retention).await?;
            self.owes_pruning.store(false, Ordering::Relaxed);
        }
        if let Some(made) = made {
            info!(
                snapshot = made.id,
                place = service.place(),
                files = made.files,
                removed_snapshots = gone.snapshots,
                removed_files = gone.files,
                "snapshot made"
            );
        }
        Ok(())
    }

    async fn make(&self, service: &SnapshotService) -> Result<SnapshotManifest, SnapshotError> {
        let create = || service.create_locked(&self.source, SnapshotReason::Schedule);
        match create().await {
            // Those that are not to stay make room, perhaps.
            Err(SnapshotError::NoSpace { .. }) if service.clock.is_confirmed() => {
                service.prune_locked(self.retention).await?;
                create().await
            }
            done => done,
        }
    }

    /// Keeps the ledger in the archive up to date. Not everything that it lists leaves a trace
    /// elsewhere, such as an event of the outbox, so it is read whole.
    async fn ledger(&self, service: &SnapshotService) -> Result<(), SnapshotError> {
        let written = || self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let last = written().clone();
        let present = service.refresh_ledger(&self.source.store, last).await?;
        *written() = Some(present);
        Ok(())
    }

    async fn is_due(&self, service: &SnapshotService) -> Result<bool, SnapshotError> {
        let Some(every) = self.every else { return Ok(false) };
        let Some(newest) = service.newest().await? else { return Ok(true) };
        match service.manifest(&newest).await {
            Ok(newest) => {
                let (now, made) = (service.clock.now(), newest.created_at);
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
    const SCOPE: JobScope = JobScope::Deployment;
    const FIRST_RUN: FirstRun = FirstRun::Soon;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        match stop.run_until_cancelled(self.round()).await {
            // Somebody makes one at the command line.
            None | Some(Err(SnapshotError::Busy)) => Ok(()),
            Some(Ok(())) => {
                self.health.clear(PART);
                Ok(())
            }
            Some(Err(error)) => {
                // The frame of the jobs logs it.
                self.health.raise(PART, Failure::new(&error, true));
                Err(error.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use chatkeep_core::config::{Config, Database, Sources};
    use chatkeep_core::id::{ChannelId, UserId};
    use chatkeep_core::time::{SystemClock, Timestamp};
    use chatkeep_store::{JobKind, NewChannelJob, Store};

    use super::*;

    fn config(folder: &Path) -> Config {
        let setting = |name: &str, value: &Path| (name.to_owned(), value.display().to_string());
        let environment = vec![
            setting("CHATKEEP_DATA", folder),
            setting("CHATKEEP_SNAPSHOT_TARGET", &folder.join("archive")),
        ];
        Config::load(Sources::new(None, environment, Vec::new())).unwrap()
    }

    async fn source(folder: &Path) -> SnapshotSource {
        SnapshotSource {
            store: Store::open(&Database::Sqlite, folder, 1).await.unwrap(),
            blobs: None,
            embedded_database: true,
            embedded_bus: false,
        }
    }

    async fn job(folder: &Path) -> SnapshotJob {
        let (source, health) = (source(folder).await, Health::new(Arc::new(SystemClock)));
        let (store, clock) = (source.store.clone(), Arc::new(SystemClock));
        let place = SnapshotPlace::new(config(folder), store, clock, |_| {});
        let retention = SnapshotRetention::Newest { keep: 1, days: 0 };
        let (written, owes_pruning) = (Mutex::default(), AtomicBool::default());
        SnapshotJob { place, source, health, every: None, retention, written, owes_pruning }
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
        let lines = ledger().await;
        assert!(lines.contains("opt_out") && lines.lines().count() == 1, "{lines}");
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
        let lines = ledger().await;
        assert!(lines.contains("person") && lines.lines().count() == 2, "{lines}");
        // Who changes nothing writes nothing, unless somebody has removed it.
        let modified = || std::fs::metadata(&file).unwrap().modified().unwrap();
        let before = modified();
        assert_eq!(ledger().await, lines);
        assert_eq!(modified(), before);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(ledger().await, lines);
    }

    #[tokio::test]
    async fn a_place_that_is_not_there_is_a_problem_until_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job(folder.path()).await;
        job.every = Some(Duration::from_hours(1));
        let (place, stop) = (folder.path().join("archive"), CancellationToken::new());
        std::fs::write(&place, "no folder").unwrap();
        assert!(job.run(&stop).await.is_err());
        let problems = job.health.problems();
        assert_eq!((problems.len(), problems[0].part.as_str()), (1, PART));
        std::fs::remove_file(&place).unwrap();
        job.run(&stop).await.unwrap();
        assert_eq!(job.health.problems(), []);
        let service = job.place.service().await.unwrap();
        assert_eq!(service.manifests().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn snapshots_that_cannot_be_removed_are_a_problem_until_they_can() {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job(folder.path()).await;
        job.every = Some(Duration::from_hours(1));
        let stop = CancellationToken::new();
        job.run(&stop).await.unwrap();
        let newest = async || job.place.service().await.unwrap().newest().await.unwrap();
        let made = newest().await;
        // Unreadable, it might name what others need. Nothing was removed at the last time.
        let damaged = folder.path().join("archive/snapshots/20200101T000000000Z-0badcafe");
        std::fs::create_dir_all(&damaged).unwrap();
        std::fs::write(damaged.join("manifest.json"), "{").unwrap();
        job.owes_pruning.store(true, Ordering::Relaxed);
        for _ in 0..2 {
            assert!(job.run(&stop).await.is_err(), "no other one is due");
            assert_eq!(job.health.problems().len(), 1);
        }
        std::fs::remove_dir_all(&damaged).unwrap();
        job.run(&stop).await.unwrap();
        assert_eq!(job.health.problems(), []);
        assert_eq!(newest().await, made);
    }

    #[tokio::test]
    async fn a_snapshot_that_would_fill_the_disk_is_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let mut service =
            SnapshotService::open(&config(folder.path()), None, Arc::new(SystemClock)).unwrap();
        service.reserve = u64::MAX;
        let source = source(folder.path()).await;
        let refused = service.create(&source, SnapshotReason::Manual).await.unwrap_err();
        let text = refused.to_string();
        assert!(matches!(refused, SnapshotError::NoSpace { .. }), "{text}");
        let needed = format!("a snapshot needs {}, of which {0} are disk.ingress", u64::MAX);
        assert!(text.contains(" bytes free") && text.contains(&needed), "{text}");
        assert!(service.objects().await.unwrap().is_empty());
        assert!(!folder.path().join("snapshot-work").exists());
    }

    #[tokio::test]
    async fn attempts_that_failed_do_not_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let service =
            SnapshotService::open(&config(folder.path()), None, Arc::new(SystemClock)).unwrap();
        let left = folder.path().join("archive/snapshots/20200101T000000000Z-0badcafe");
        std::fs::create_dir_all(&left).unwrap();
        for part in ["bus.db", "chatkeep.db#1"] {
            std::fs::write(left.join(part), "half").unwrap();
        }
        let source = source(folder.path()).await;
        service.create(&source, SnapshotReason::Manual).await.unwrap();
        assert!(!left.exists());
        assert_eq!(service.objects().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_copy_of_before_the_same_migration_replaces_the_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        let service =
            SnapshotService::open(&config(folder.path()), None, Arc::new(SystemClock)).unwrap();
        let source = source(folder.path()).await;
        let make = async |reason| service.create_locked(&source, reason).await.unwrap();
        let earlier = make(SnapshotReason::Migration).await;
        let manual = make(SnapshotReason::Manual).await;
        let ids = async || service.objects().await.unwrap().into_keys().collect::<Vec<_>>();
        // One of another schema has what the next one will not have.
        service.drop_migration_copies(earlier.schema + 1).await.unwrap();
        assert_eq!(ids().await, [earlier.id, manual.id.clone()]);
        service.drop_migration_copies(earlier.schema).await.unwrap();
        assert_eq!(ids().await, [manual.id]);
    }
}
