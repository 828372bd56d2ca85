//! Registration of this process: the settings that it shares with the other processes of the
//! deployment, compared before it starts its work, and its heartbeat.

use std::collections::BTreeSet;
use std::time::Duration;

use chatkeep_blobs::Blobs;
use chatkeep_bus::{Bus, BusError, BusOwner, BusState};
use chatkeep_core::config::Config;
use chatkeep_core::health::Health;
use chatkeep_services::bus_losses::BusReading;
use chatkeep_services::media_store::{self, MediaStoreError, OtherMediaStore};
use chatkeep_services::processes::{LIVE, MEDIA, has_died, pid_scope, running};
use chatkeep_store::{NewProcess, OTHER_DATABASE, ProcessRecord, Store, StoreError};
use chatkeep_workers::replica::{Replica, ReplicaState};
use chatkeep_workers::{StageName, log_failure};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::agreement::{BUS, common_settings, difference, setting_difference, shared_settings};
use super::bus_owner::{bus_owner, foreign, refused};
use super::{PreflightError, ProcessRole, ProcessRoles};

/// Interval between heartbeats; several may fail before the others consider this process dead.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Interval between heartbeats while the replica does work that somebody may be watching.
const WORKING: Duration = Duration::from_secs(1);
/// Interval between attempts to register beside processes that differ: they may be about to end.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Interval of looking whether the media store is still the one that it was: the disk of a folder may be
/// unmounted, and new files would be lost below the mount point.
const MEDIA_INTERVAL: Duration = Duration::from_secs(10);
/// Timeout of one heartbeat.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Name of this part in readiness.
const PART: &str = "deployment";
/// Name of the settings that others have differently in readiness.
const SETTINGS: &str = "settings";
/// Name of the bus in readiness, while it is that of another database.
const BUS_OWNER: &str = "bus_owner";
/// Name of the database in readiness, while it is another one.
const DATABASE: &str = "database_identity";

/// Parts of a process that its registration needs.
pub(super) struct RegistrationParts<'a> {
    pub(super) store: &'a Store,
    pub(super) bus: &'a Bus,
    pub(super) blobs: &'a Blobs,
    pub(super) health: &'a Health,
}

/// Entry of this process in the registry.
#[derive(Clone, Debug)]
pub(super) struct Registration {
    pub(super) store: Store,
    bus: Bus,
    /// Owner that this process claims the bus for.
    owner: BusOwner,
    /// State of the bus before anything was accepted.
    pub(super) bus_reading: BusReading,
    pub(super) blobs: Blobs,
    pub(super) health: Health,
    process: NewProcess,
    /// Time of the registration, which counts as a heartbeat.
    registered_at: Instant,
    /// `false` while others see what the process has no longer.
    is_shared: bool,
}

impl Registration {
    /// Registers this process, once every other running one has the same bus, media store and
    /// shared settings. Processes that differ get as long to end as a dead process is given. The
    /// bus is claimed for the database before, and the media store is recorded as its own then.
    ///
    /// # Errors
    /// [`PreflightError`] naming the difference and the other process, a bus that is another database's,
    /// or the media store that does not have the files of the database; or an error of store or bus.
    pub(super) async fn new(
        config: &Config,
        process_roles: &ProcessRoles,
        parts: RegistrationParts<'_>,
    ) -> anyhow::Result<Self> {
        let RegistrationParts { store, bus, blobs, health } = parts;
        let mut shared = shared_settings(config);
        let owner = bus_owner(store).await?;
        bus.claim(&owner).await.map_err(refused)?;
        let known = store.processes().bus_record().await?;
        let bus_reading = BusReading { known, state: bus.state().await? };
        shared.insert(BUS.to_owned(), bus_reading.state.identity.clone());
        let process = NewProcess {
            id: format!("{}-{}", pid_scope(), chatkeep_core::random::text(12)),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            roles: process_roles.roles.iter().map(|role| role.name().to_owned()).collect(),
            stages: process_roles.stages().map(|stage| stage.name().to_owned()).collect(),
            shared,
            settings: common_settings(config, &process_roles.roles),
        };
        let (store, bus, blobs) = (store.clone(), bus.clone(), blobs.clone());
        let health = health.clone();
        let mut registration = Self {
            store,
            bus,
            owner,
            bus_reading,
            blobs,
            health,
            process,
            registered_at: Instant::now(),
            is_shared: true,
        };
        registration.register().await?;
        registration.end_dead_requests().await?;
        registration.record_media_store().await?;
        Ok(registration)
    }

    /// Registers this process with the media store that it finds afterwards, too: others may have stored
    /// files elsewhere meanwhile, and it may answer now, or no longer.
    async fn register(&mut self) -> anyhow::Result<()> {
        self.find_media_store().await?;
        loop {
            self.wait_for_agreement().await?;
            self.registered_at = Instant::now();
            let registered = self.process.shared.get(MEDIA).cloned();
            self.find_media_store().await?;
            if self.process.shared.get(MEDIA) == registered.as_ref() {
                break;
            }
        }
        if self.is_identified() {
            self.blobs.unbar();
        }
        Ok(())
    }

    async fn find_media_store(&mut self) -> Result<(), PreflightError> {
        self.read_media_store().await.map_err(|other| PreflightError(other.to_string()))
    }

    pub(super) fn id(&self) -> &str {
        &self.process.id
    }

    async fn wait_for_agreement(&self) -> anyhow::Result<()> {
        let until = Instant::now() + LIVE;
        let mut is_logged = false;
        loop {
            let differing = self.store.processes().register_process(&self.process, LIVE).await?;
            let Some(other) = differing.iter().find(|other| !has_died(other)) else {
                if differing.is_empty() {
                    return Ok(());
                }
                for dead in &differing {
                    self.store.processes().unregister_process(&dead.process.id).await?;
                }
                continue;
            };
            let conflict = difference(&self.process, &other.process);
            if Instant::now() >= until {
                return Err(PreflightError(conflict).into());
            }
            if !std::mem::replace(&mut is_logged, true) {
                warn!(conflict, "waiting for the other process to end");
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    /// Ends the requests that a process has left unfinished, if no other one can be answering them: who
    /// repeats one need not wait. One process alone opens an embedded bus, so that another one which did
    /// has ended, although its entry may be young.
    async fn end_dead_requests(&self) -> Result<(), StoreError> {
        let opens_bus = |process: &NewProcess| {
            let roles = [ProcessRole::Ingress, ProcessRole::Worker];
            process.roles.iter().any(|role| roles.iter().any(|one| one.name() == role))
        };
        let has_bus = matches!(self.bus, Bus::Embedded(_)) && opens_bus(&self.process);
        let may_answer = |other: &ProcessRecord| {
            other.process.id != self.process.id && !(has_bus && opens_bus(&other.process))
        };
        if running(&self.store).await?.iter().any(may_answer) {
            return Ok(());
        }
        self.store.idempotency().end_dead_requests().await
    }

    /// Adds the media store's identity, or removes it if it cannot be reached: the rest runs without
    /// it, and nothing is stored, read or deleted there until it is known and compared.
    ///
    /// # Errors
    /// [`OtherMediaStore`] if the files of the database are in another one.
    async fn read_media_store(&mut self) -> Result<(), OtherMediaStore> {
        let identified = media_store::identify(&self.store, &self.blobs);
        let identified = tokio::time::timeout(TIMEOUT, identified).await;
        if let Ok(Ok(identity)) = identified {
            self.process.shared.insert(MEDIA.to_owned(), identity);
            return Ok(());
        }
        self.process.shared.remove(MEDIA);
        self.blobs.bar();
        match identified {
            Ok(Err(MediaStoreError::Other(other))) => return Err(other),
            Ok(Err(error)) => log_failure!(warn, &error, "cannot identify the media store yet"),
            _ => warn!("cannot identify the media store yet: it does not answer"),
        }
        Ok(())
    }

    /// Returns true if the identity of the media store is known.
    fn is_identified(&self) -> bool {
        self.process.shared.contains_key(MEDIA)
    }

    /// Reads the identity of a media store that could not be reached at the start. Another one than
    /// that of the database is a problem of this process until somebody mounts the right one.
    async fn read_late(&mut self) -> bool {
        if let Err(other) = self.read_media_store().await {
            self.health.raise(PART, other.to_string());
        }
        self.is_identified()
    }

    /// Records the media store as that of the database, if it is known.
    async fn record_media_store(&self) -> Result<(), StoreError> {
        let Some(identity) = self.process.shared.get(MEDIA) else { return Ok(()) };
        media_store::record(&self.store, identity).await?;
        let is_own = media_store::is_own(&self.store, &self.blobs);
        if let Ok(Ok(false)) = tokio::time::timeout(TIMEOUT, is_own).await {
            warn!(
                "the media store has files, and this database knows none of them: it may belong to \
                 another one, so files to which nothing refers are not deleted"
            );
        }
        Ok(())
    }

    /// Reads the identity of the bus again: whoever runs sets up anew what a bus has lost, and a new
    /// process finds the bus as it is now.
    async fn refresh_bus(&mut self) {
        let state = tokio::time::timeout(TIMEOUT, self.bus.state()).await;
        let Ok(Ok(BusState { identity, .. })) = state else { return };
        if self.process.shared.get(BUS) == Some(&identity) {
            return;
        }
        warn!(
            "the bus has lost its data and was set up anew: events that were accepted and not yet \
             processed are lost"
        );
        self.process.shared.insert(BUS.to_owned(), identity);
        self.is_shared = false;
    }

    /// Raises a problem while the bus is another database's: nothing is published or handled then.
    async fn check_owner(&self) {
        match tokio::time::timeout(TIMEOUT, self.bus.claim(&self.owner)).await {
            Ok(Ok(())) => self.health.clear(BUS_OWNER),
            Ok(Err(error @ BusError::Foreign(_))) => {
                self.health.raise(BUS_OWNER, foreign(&error));
            }
            // An outage, which others tell.
            _ => {}
        }
    }

    /// Raises a problem while the database is another one than at the start, as after a change of what
    /// its address leads to.
    async fn check_database(&self) {
        let read = tokio::time::timeout(TIMEOUT, self.store.processes().is_same_database()).await;
        match read {
            Ok(Ok(true)) => self.health.clear(DATABASE),
            Ok(Ok(false)) => self.health.raise(DATABASE, OTHER_DATABASE),
            // An outage, which others tell.
            _ => {}
        }
    }

    /// Raises a problem while another process has another value of a setting that both use.
    async fn check_settings(&self) {
        let Some(others) = within_timeout(running(&self.store)).await else { return };
        let differs = |other: &ProcessRecord| setting_difference(&self.process, &other.process);
        match others.iter().find_map(differs) {
            Some(difference) => self.health.raise(SETTINGS, difference),
            None => self.health.clear(SETTINGS),
        }
    }

    /// Publishes the properties of this process that have changed since it was registered.
    async fn share(&mut self) {
        let processes = self.store.processes();
        // If it fails, once more with the next heartbeat.
        self.is_shared = within_timeout(processes.share(&self.process)).await.is_some();
    }

    /// Sends heartbeats until `stop` is cancelled, then records the end of this process.
    pub(super) async fn run(mut self, replica: Option<Replica>, stop: CancellationToken) {
        let mut watch = replica.as_ref().map(Replica::watch);
        let mut is_compared = self.is_identified();
        // Others may start while this process is not registered: paused, or without a database.
        let (mut is_equal, mut beat_at) = (true, self.registered_at);
        let (mut bus_read_at, mut media_read_at) = (Instant::now(), Instant::now());
        while !stop.is_cancelled() {
            let state = watch.as_mut().map(|watch| watch.borrow_and_update().clone());
            let working = state.as_ref().is_some_and(|state| state.work.is_some());
            // Numbers and names: always valid JSON.
            let search = state.as_ref().and_then(|state| serde_json::to_string(state).ok());
            let processes = self.store.processes();
            let heartbeat = processes.heartbeat(&self.process, search.as_deref());
            if let Some(was_known) = within_timeout(heartbeat).await {
                is_equal &= was_known && beat_at.elapsed() < LIVE;
                beat_at = Instant::now();
            }
            // After the heartbeat, which must wait for neither bus nor media store.
            if bus_read_at.elapsed() >= HEARTBEAT {
                stop.run_until_cancelled(self.check_owner()).await;
                stop.run_until_cancelled(self.refresh_bus()).await;
                stop.run_until_cancelled(self.check_database()).await;
                stop.run_until_cancelled(self.check_settings()).await;
                bus_read_at = Instant::now();
            }
            // Others may have another bus now, or are about to notice the same.
            let has_changed = !self.is_shared;
            if has_changed {
                self.share().await;
                is_equal = false;
            }
            if is_compared && media_read_at.elapsed() >= MEDIA_INTERVAL {
                is_compared = self.has_media_store().await;
                media_read_at = Instant::now();
            }
            if !is_compared && self.read_late().await {
                is_compared = self.compare_late().await;
            }
            if is_compared && !is_equal && !has_changed {
                is_equal = self.compare().await;
                if is_equal {
                    self.health.clear(PART);
                }
            }
            let pause = tokio::time::sleep(if working { WORKING } else { HEARTBEAT });
            let changed = async {
                match (&mut watch, &state) {
                    (Some(watch), Some(published)) => changed(watch, published).await,
                    _ => std::future::pending().await,
                }
            };
            let wait = async {
                tokio::select! { () = pause => {}, () = changed => {} }
            };
            stop.run_until_cancelled(wait).await;
        }
        let processes = self.store.processes();
        within_timeout(processes.unregister_process(&self.process.id)).await;
    }

    /// Returns `false`, and uses the media store no more, if another one has taken its place. One that
    /// does not answer says nothing.
    async fn has_media_store(&mut self) -> bool {
        let known = tokio::time::timeout(TIMEOUT, self.blobs.known_identity()).await;
        let Ok(Ok(found)) = known else { return true };
        if found.as_ref() == self.process.shared.get(MEDIA) {
            return true;
        }
        warn!("the media store is another one now, or its disk is not mounted: it is not used");
        self.blobs.bar();
        self.process.shared.remove(MEDIA);
        false
    }

    /// Compares the settings that were not known when the process started; `true` once they are those
    /// of all other processes, `false` while another one has to end first.
    async fn compare_late(&self) -> bool {
        if !self.compare().await {
            return false;
        }
        if within_timeout(self.record_media_store()).await.is_none() {
            return false;
        }
        info!("the media store is identified");
        self.blobs.unbar();
        self.health.clear(PART);
        true
    }

    /// Compares the settings with those of all other processes; `false`, and a problem, while another
    /// one has to end first.
    async fn compare(&self) -> bool {
        let processes = self.store.processes();
        let registered = within_timeout(processes.register_process(&self.process, LIVE)).await;
        let Some(differing) = registered else { return false };
        if let Some(other) = differing.first() {
            self.health.raise(PART, difference(&self.process, &other.process));
        }
        differing.is_empty()
    }
}

/// Waits until the state of a replica differs from the published one in what others wait for; the
/// progress of its work is left to the next heartbeat. Never returns once the replica is gone.
async fn changed(watch: &mut watch::Receiver<ReplicaState>, published: &ReplicaState) {
    let is_new = |now: &ReplicaState| {
        now.phase != published.phase
            || now.work.is_some() != published.work.is_some()
            || now.filled != published.filled
    };
    if watch.wait_for(is_new).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits for a change of this process' entry; `None`, which is logged, if it fails or takes too long.
async fn within_timeout<T>(change: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
    let failure = "cannot write this process' entry in the registry";
    match tokio::time::timeout(TIMEOUT, change).await {
        Ok(Ok(changed)) => return Some(changed),
        Ok(Err(error)) => log_failure!(warn, &error, "{failure}"),
        Err(_) => warn!(timeout_s = TIMEOUT.as_secs(), "{failure}: the database does not answer"),
    }
    None
}

impl ProcessRoles {
    /// Returns the stages that a process with these roles runs.
    pub(super) fn stages(&self) -> impl Iterator<Item = StageName> {
        let worker = self.roles.contains(&ProcessRole::Worker);
        // External media runs wherever media does.
        let external = self.stages.contains(&StageName::Media).then_some(StageName::ExternalMedia);
        let stages: BTreeSet<_> = self.stages.iter().copied().chain(external).collect();
        stages.into_iter().filter(move |_| worker)
    }
}

#[cfg(test)]
mod tests {
    use chatkeep_workers::replica::{ReplicaPhase, ReplicaWork};
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_change_during_the_heartbeat_is_published_at_once() {
        let filling = |done| ReplicaState {
            phase: ReplicaPhase::Filling,
            work: Some(ReplicaWork { done, total: 9 }),
            ..ReplicaState::default()
        };
        let (state, mut seen) = watch::channel(filling(1));
        let published = seen.borrow_and_update().clone();
        state.send_replace(filling(5));
        assert_eq!(changed(&mut seen, &published).now_or_never(), None, "progress can wait");
        // As a heartbeat that has just read the state is under way.
        state.send_replace(ReplicaState { phase: ReplicaPhase::Ready, ..ReplicaState::default() });
        assert_eq!(changed(&mut seen, &published).now_or_never(), Some(()));
        let published = seen.borrow_and_update().clone();
        drop(state);
        assert_eq!(changed(&mut seen, &published).now_or_never(), None, "nothing changes any more");
    }
}
