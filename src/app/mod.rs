//! Assembly of a process: adapters by configuration, roles by choice, one shutdown sequence.

mod agreement;
mod assembly;
mod bot_check;
mod bus_owner;
mod clock;
mod consumers;
mod disk;
mod jobs;
mod memory;
mod open;
mod outages;
mod preflight;
mod process_roles;
mod registry;
mod replica;
mod same_place;
mod secrets;
mod stages;
mod surfaces;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use chatkeep_blobs::Blobs;
use chatkeep_bus::Bus;
use chatkeep_console::Entrances;
use chatkeep_core::config::Config;
use chatkeep_core::health::Health;
use chatkeep_core::time::SharedClock;
use chatkeep_http::server::{Server, room_for};
use chatkeep_http::with_common_layers;
use chatkeep_platform::Bots;
use chatkeep_search::SearchService;
use chatkeep_services::Services;
use chatkeep_services::disk::DiskReserves;
use chatkeep_services::export_jobs::ExportWorker;
use chatkeep_services::maintenance::last_records;
use chatkeep_services::removals::RemovalWorker;
use chatkeep_store::Store;
use chatkeep_workers::assistant::Assistants;
use chatkeep_workers::periodic::PeriodicJobs;
use chatkeep_workers::replica::Replica;
use chatkeep_workers::supervisor::Supervisor;
use chatkeep_workers::tap::Tap;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub(crate) use assembly::links;
pub(crate) use bus_owner::bus_owner;
pub(crate) use memory::memory_warning;
pub(crate) use open::{
    LineClients, UNPROTECTED, bot_setup, no_bus, no_copy, no_database, no_media_store,
};
pub use open::{
    attach_bus, attach_known_bus, index_folder, model_folder, open_bus, open_space, open_store,
};
use outages::Outages;
pub use preflight::PreflightError;
pub(crate) use preflight::{address_warnings, known_problems, snapshot_warning};
pub use process_roles::{ProcessRole, ProcessRoles};
use registry::Registration;
pub use secrets::LiveSecrets;
use stages::Starter;

use crate::ops;

/// Maximum share of the shutdown time for closing bus and store.
const CLOSING: Duration = Duration::from_secs(3);
/// Maximum share of it for aborting unfinished work.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// Components of a process, opened and ready to run.
pub struct App {
    config: Config,
    process_roles: ProcessRoles,
    clock: SharedClock,
    health: Health,
    tap: Tap,
    bus: Bus,
    store: Store,
    blobs: Blobs,
    bots: Bots,
    secrets: LiveSecrets,
    disk: DiskReserves,
    assistants: Assistants,
    metrics: Option<(TcpListener, PrometheusHandle)>,
    /// Search replica of this process.
    replica: Option<Replica>,
    search: SearchService,
    services: Services,
    registration: Registration,
    entrances: Entrances,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("process_roles", &self.process_roles).finish_non_exhaustive()
    }
}

impl App {
    /// Makes people enter there.
    pub(crate) fn enter_at(&mut self, entrances: Entrances) {
        self.entrances = entrances;
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) const fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    pub(crate) fn services(&self) -> &Services {
        &self.services
    }

    /// Returns the secrets that may be replaced while the process runs.
    pub const fn secrets(&self) -> &LiveSecrets {
        &self.secrets
    }

    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Runs on `listener` until `stop` is cancelled, then drains: everything has ended, finished or
    /// not, when the shutdown time is over. `finish` adds to the process' own routes.
    ///
    /// # Errors
    /// Returns an error if a part fails that the process cannot do without.
    pub async fn run(
        self,
        listener: TcpListener,
        finish: impl FnOnce(Router) -> Router,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let supervisor = Supervisor::new(self.health.clone(), stop.clone());
        let jobs = self.jobs(&supervisor);
        self.start_workers(&supervisor, &jobs).await?;
        self.maintain_consumers(&supervisor).await?;
        self.start_search(&supervisor, &jobs).await?;
        self.check_bots(&supervisor);
        self.share_clock(&supervisor).await?;
        self.follow_assistants(&supervisor).await?;
        let router = with_common_layers(finish(self.surfaces(&supervisor)?));
        self.start_jobs(&jobs);
        self.watch_disk(&supervisor).await;
        let outages = Arc::new(self.outages());
        supervisor.run("outages", move |stop| Arc::clone(&outages).run(stop));
        let address = listener.local_addr()?;
        info!(%address, roles = ?self.process_roles.roles, "chatkeep is ready");
        let Self { config, bus, store, metrics, replica, services, .. } = self;
        let mut http = config.http;
        http.max_connections = room_for(http.max_connections);
        // Closing bus and store has its share of the time, and so has aborting unfinished work.
        let closing = (config.shutdown.drain / 5).min(CLOSING);
        let aborting = (config.shutdown.drain / 5).min(ABORT_TIMEOUT);
        let drain = config.shutdown.drain.saturating_sub(closing + aborting);
        if let Some((listener, handle)) = metrics {
            let limit = config.bus_limits.max_backlog;
            let router = ops::metrics_router(handle, bus.clone(), limit, replica.clone());
            let server = Server::new("metrics", with_common_layers(router), http, true);
            ops::serve_metrics(&supervisor, server, listener, drain).await?;
        }
        let server = Server::new("service", router, http, config.api.proxies > 0);
        let serving = server.run(listener, stop.clone(), drain);
        let ends = async {
            stop.cancelled().await;
            services.live.close();
            tokio::time::Instant::now() + drain
        };
        let ((), ends) = tokio::join!(serving, ends);
        let tasks = supervisor.tasks();
        tasks.close();
        if tokio::time::timeout_at(ends, tasks.wait()).await.is_err() {
            warn!("not everything finished in time; the rest continues after the next start");
        }
        drop(replica);
        let close = async {
            // Requests that were answered while everything else ended are not lost.
            last_records(&store).await;
            bus.close().await;
            store.close().await;
        };
        if tokio::time::timeout(closing, close).await.is_err() {
            warn!("bus and store could not be closed in time");
        }
        info!("chatkeep has stopped");
        Ok(())
    }

    fn outages(&self) -> Outages {
        let (store, bus, blobs) = (self.store.clone(), self.bus.clone(), self.blobs.clone());
        Outages { store, bus, blobs, search: self.search.clone() }
    }

    /// Follows changes of assistants that other processes make.
    async fn follow_assistants(&self, supervisor: &Supervisor) -> anyhow::Result<()> {
        let (assistants, bus) = (self.assistants.clone(), self.bus.clone());
        let listen = move |stop| {
            let (assistants, bus) = (assistants.clone(), bus.clone());
            async move { assistants.listen(&bus, stop).await }
        };
        Ok(supervisor.run_prepared("assistant_changes", listen).await?)
    }

    /// Creates a worker that removes messages.
    fn removals(&self) -> RemovalWorker {
        RemovalWorker::new(self.store.clone(), Arc::clone(&self.clock))
    }

    /// Creates a worker that writes exports.
    fn exports(&self) -> ExportWorker {
        let (store, blobs, clock) =
            (self.store.clone(), self.blobs.clone(), Arc::clone(&self.clock));
        let (disk, links) = (self.disk.media.clone(), self.services.links.clone());
        ExportWorker::new(store, blobs, clock, disk, links)
    }

    /// Starts this process' stages.
    async fn start_workers(
        &self,
        supervisor: &Supervisor,
        jobs: &PeriodicJobs,
    ) -> anyhow::Result<()> {
        if !self.process_roles.roles.contains(&ProcessRole::Worker) {
            return Ok(());
        }
        Starter { app: self, supervisor, jobs }.start().await
    }
}
