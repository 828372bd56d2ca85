//! Search replica of a process: opened, updated, serving requests of others, checked.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use chatkeep_bus::{Bus, BusError, TopicSubscriber};
use chatkeep_core::config::Config;
use chatkeep_core::time::SharedClock;
use chatkeep_index::search::WriterOptions;
use chatkeep_services::doctor::answer_checks;
use chatkeep_store::Store;
use chatkeep_workers::periodic::PeriodicJobs;
use chatkeep_workers::replica::Replica;
use chatkeep_workers::supervisor::Supervisor;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::consumers::ConsumerMonitor;
use super::{App, ProcessRole, ProcessRoles, index_folder};

/// Topic of the broadcast that the event log has grown.
const LOGGED: &str = "logged";
/// Minimum interval between two such broadcasts of one process.
const PACE: Duration = Duration::from_millis(20);

/// Opens the replica of a process, if its roles include one.
pub(super) async fn open(
    config: &Config,
    process_roles: &ProcessRoles,
    store: &Store,
    clock: &SharedClock,
) -> anyhow::Result<Option<Replica>> {
    if !process_roles.roles.contains(&ProcessRole::Search) {
        return Ok(None);
    }
    let options = WriterOptions { memory: config.memory.index_bytes, ..WriterOptions::default() };
    let folder = index_folder(config);
    let replica = Replica::open_with(store.clone(), folder, Arc::clone(clock), options).await;
    Ok(Some(replica.context("cannot open the search index")?))
}

impl App {
    /// Starts this process' replica, and broadcasts new log entries to those of other processes.
    pub(super) async fn start_search(
        &self,
        supervisor: &Supervisor,
        jobs: &PeriodicJobs,
    ) -> anyhow::Result<()> {
        if let Bus::Nats(_) = &self.bus {
            let (bus, store) = (self.bus.clone(), self.store.clone());
            supervisor.run("log_broadcast", move |stop| {
                broadcast_logged(bus.clone(), store.watch_log(), stop)
            });
        }
        if let (Some(replica), Bus::Nats(_)) = (&self.replica, &self.bus) {
            let (bus, served) = (self.bus.clone(), replica.clone());
            supervisor.run("search_server", move |stop| {
                chatkeep_search::remote::answer(bus.clone(), served.clone(), stop)
            });
            let parts = (self.bus.clone(), self.store.clone(), replica.clone());
            let own = self.registration.id().to_owned();
            let checks = move |stop| {
                let ((bus, store, replica), own) = (parts.clone(), own.clone());
                async move { answer_checks(&bus, store, replica, own, stop).await }
            };
            supervisor.run_prepared("replica_checks", checks).await?;
        }
        if let Some(replica) = &self.replica {
            let parts = (self.bus.clone(), self.store.clone(), replica.clone());
            let wakes = move |stop| {
                let (bus, store, replica) = parts.clone();
                async move {
                    let news = bus.subscribe(LOGGED).await?;
                    Ok::<_, BusError>(wake(replica, store.watch_log(), news, stop))
                }
            };
            supervisor.run_prepared("search_wake", wakes).await?;
            jobs.add(replica.purger());
            jobs.add(replica.spares());
            let (replica, health) = (replica.clone(), self.health.clone());
            supervisor.run("search", move |stop| replica.clone().run(health.clone(), stop));
        }
        let (registration, replica) = (self.registration.clone(), self.replica.clone());
        supervisor.run("registration", move |stop| registration.clone().run(replica.clone(), stop));
        Ok(())
    }

    /// Monitors the durable consumers, where this process publishes or consumes their messages.
    pub(super) async fn maintain_consumers(&self, supervisor: &Supervisor) -> anyhow::Result<()> {
        let roles = &self.process_roles.roles;
        if !roles.contains(&ProcessRole::Ingress) && !roles.contains(&ProcessRole::Worker) {
            return Ok(());
        }
        let limits = &self.config.bus_limits;
        let consumers = ConsumerMonitor {
            bus: self.bus.clone(),
            store: self.store.clone(),
            health: self.health.clone(),
            clock: Arc::clone(&self.clock),
            process: self.registration.id().to_owned(),
            max_backlog: limits.max_backlog,
            remove_after: limits.remove_consumers,
        };
        consumers.retire().await?;
        let consumers = Arc::new(consumers);
        supervisor.run("consumers", move |stop| Arc::clone(&consumers).run(stop));
        Ok(())
    }
}

/// Broadcasts to the replicas of other processes that the log has grown. One that misses it polls a
/// moment later.
async fn broadcast_logged(bus: Bus, mut logged: watch::Receiver<u64>, stop: CancellationToken) {
    while let Some(Ok(())) = stop.run_until_cancelled(logged.changed()).await {
        if let Err(error) = bus.broadcast(LOGGED, Bytes::new()).await {
            debug!(%error, "cannot broadcast the new end of the change log");
        }
        stop.run_until_cancelled(tokio::time::sleep(PACE)).await;
    }
}

/// Wakes the replica when the log has grown, here or elsewhere.
async fn wake(
    replica: Replica,
    mut logged: watch::Receiver<u64>,
    mut news: TopicSubscriber,
    stop: CancellationToken,
) {
    loop {
        let something = async {
            tokio::select! {
                changed = logged.changed() => changed.is_ok(),
                message = news.next() => message.is_some(),
            }
        };
        match stop.run_until_cancelled(something).await {
            Some(true) => replica.wake(),
            Some(false) | None => return,
        }
    }
}
