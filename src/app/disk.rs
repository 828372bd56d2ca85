//! Monitor of free disk space: tells the ingress and the media stage to pause before the disk is
//! full, and to resume once there is space.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::config::{BlobsKind, Config, INGRESS_RESERVE};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::health::Health;
use chatkeep_core::metric;
use chatkeep_services::disk::{DiskReserves, DiskSpace};
use chatkeep_workers::supervisor::Supervisor;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{App, ProcessRole, ProcessRoles};

/// Interval between checks: shorter than a reserve takes to be filled.
const INTERVAL: Duration = Duration::from_secs(1);

/// Time after which a file system that does not answer is a problem.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Name of that problem in readiness.
const PART: &str = "disk";

/// Monitor of the folders of a process.
#[derive(Debug)]
struct DiskMonitor {
    health: Health,
    folders: Vec<GuardedFolder>,
}

/// A folder, and the work that leaves a reserve of its disk.
#[derive(Clone, Debug)]
struct GuardedFolder {
    folder: PathBuf,
    /// Name of the folder in metrics and sentences.
    name: &'static str,
    work: &'static str,
    reserve: DiskReserve,
    setting: &'static str,
    consequence: &'static str,
}

impl DiskMonitor {
    /// Creates a monitor of the folders that these roles fill.
    fn new(config: &Config, roles: &ProcessRoles, reserves: &DiskReserves, health: Health) -> Self {
        let mut folders = vec![GuardedFolder {
            folder: config.data.clone(),
            name: "data",
            work: "ingress",
            reserve: if roles.roles.contains(&ProcessRole::Ingress) {
                reserves.ingress.clone()
            } else {
                DiskReserve::new(0)
            },
            setting: INGRESS_RESERVE,
            consequence: "webhooks are answered 503",
        }];
        if let BlobsKind::Folder(folder) = &config.blobs
            && roles.roles.contains(&ProcessRole::Worker)
        {
            folders.push(GuardedFolder {
                folder: folder.clone(),
                name: "media",
                work: "media",
                reserve: reserves.media.clone(),
                setting: config.disk.media_reserve().1,
                consequence: "media files are not downloaded",
            });
        }
        Self { health, folders }
    }

    /// Monitors until `stop` is cancelled.
    async fn run(self: Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(sleep(INTERVAL)).await.is_some() {
            stop.run_until_cancelled(self.check_folders()).await;
        }
    }

    /// Checks every folder once, and tells it if that takes long: a file system of another machine
    /// may not answer.
    async fn check_folders(self: &Arc<Self>) {
        let mut check = self.start_check();
        if timeout(TIMEOUT, &mut check).await.is_err() {
            let reason = "the free space cannot be read: a file system does not answer";
            self.health.raise(PART, reason.to_owned());
            // No second one beside it, and the problem is over with it.
            drop(check.await);
            self.health.clear(PART);
        }
    }

    fn start_check(self: &Arc<Self>) -> JoinHandle<()> {
        let monitor = Arc::clone(self);
        tokio::task::spawn_blocking(move || monitor.check())
    }

    /// Checks every folder once.
    fn check(&self) {
        for folder in &self.folders {
            folder.check(&self.health);
        }
    }
}

impl App {
    /// Monitors free disk space, beginning before anything is accepted.
    pub(super) async fn watch_disk(&self, supervisor: &Supervisor) {
        let health = self.health.clone();
        let monitor = DiskMonitor::new(&self.config, &self.process_roles, &self.disk, health);
        let monitor = Arc::new(monitor);
        if timeout(TIMEOUT, monitor.start_check()).await.is_err() {
            warn!("the free space cannot be read yet: a file system does not answer");
        }
        supervisor.run("disk", move |stop| Arc::clone(&monitor).run(stop));
    }
}

impl GuardedFolder {
    fn check(&self, health: &Health) {
        let Self { name, work, reserve, setting, consequence, .. } = self;
        let part = format!("disk:{work}");
        let free = match DiskSpace::of(&self.folder) {
            Ok(space) => space.free,
            Err(error) => {
                let reason = format!("cannot read the free space of the {name} folder: {error}");
                return health.raise(&part, reason);
            }
        };
        metric::DISK_FREE_BYTES.count([(*name).into()], free);
        metric::DISK_RESERVE_BYTES.count([(*name).into()], reserve.minimum());
        let is_low = reserve.record(free);
        metric::DISK_LOW.flag([(*work).into()], is_low);
        if is_low {
            let minimum = reserve.minimum();
            let reason = format!(
                "the disk of the {name} folder has {free} bytes free, and {setting} is {minimum}: \
                 {consequence} until there is a quarter more"
            );
            health.raise(&part, reason);
        } else {
            health.clear(&part);
        }
    }
}
