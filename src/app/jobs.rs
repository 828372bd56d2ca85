//! Periodic jobs of a process: the one list, by roles. The media stage, the notifier and the search
//! replica add theirs where they are started.

use std::sync::Arc;

use chatkeep_core::config::Database;
use chatkeep_services::assistant::UnansweredFigures;
use chatkeep_services::bus_losses::BusLosses;
use chatkeep_services::deployment_metrics::{
    ChannelJobMetrics, ExpiryMetrics, SnapshotMetrics, StoreMetrics,
};
use chatkeep_services::earlier_texts::EarlierTextErasure;
use chatkeep_services::export_jobs::ExportPurge;
use chatkeep_services::maintenance::{
    ActivityPurge, ExpiredWebhooks, FutureTimes, IdempotencyPurge, IngressPresence,
    InterruptedReplies, Maintenance, OutboxPurge, ReadRecords, RowPurge, SessionPurge, UseRecords,
};
use chatkeep_services::orphan_sweep::{OrphanSweeper, UploadSweeper};
use chatkeep_services::pictures::PictureSweep;
use chatkeep_services::removals::JobPurge;
use chatkeep_services::retention::Retention;
use chatkeep_services::snapshots::{
    MigrationCopyPurge, SnapshotJob, SnapshotPlace, SnapshotSource,
};
use chatkeep_services::wal_checkpoint::WalCheckpoint;
use chatkeep_workers::dead_letters::DeadLetterJob;
use chatkeep_workers::members::{MissingNames, QuietGroups, QuietMembers};
use chatkeep_workers::notices::UsageNotifier;
use chatkeep_workers::periodic::PeriodicJobs;
use chatkeep_workers::supervisor::Supervisor;

use super::{App, ProcessRole};

impl App {
    /// Creates the list of periodic jobs of this process, empty at first.
    pub(super) fn jobs(&self, supervisor: &Supervisor) -> PeriodicJobs {
        let (store, clock) = (self.store.clone(), Arc::clone(&self.clock));
        PeriodicJobs::new(supervisor.clone(), store, clock, self.registration.id().to_owned())
    }

    /// Starts the periodic jobs of this process' roles.
    pub(super) fn start_jobs(&self, jobs: &PeriodicJobs) {
        let roles = &self.process_roles.roles;
        let (store, clock) = (self.store.clone(), Arc::clone(&self.clock));
        let maintenance = Maintenance { store, clock };
        if roles.contains(&ProcessRole::Ingress) {
            jobs.add(IngressPresence(maintenance.clone()));
        }
        if roles.contains(&ProcessRole::Api) {
            jobs.add(IdempotencyPurge(maintenance.clone()));
            jobs.add(UseRecords(maintenance.clone()));
            jobs.add(PictureSweep(self.services.pictures.clone()));
            jobs.add(ReadRecords(maintenance.clone()));
            jobs.add(SessionPurge(self.services.sessions.clone()));
            jobs.add(UnansweredFigures(self.services.assistant.clone()));
        }
        if roles.contains(&ProcessRole::Worker) {
            self.start_worker_jobs(jobs, &maintenance);
            self.start_snapshots(jobs);
            if matches!(self.config.database, Database::Sqlite) {
                jobs.add(MigrationCopyPurge::new(self.config.clone(), Arc::clone(&self.clock)));
            }
        }
    }

    /// Starts the making of snapshots, if there is a place for them.
    fn start_snapshots(&self, jobs: &PeriodicJobs) {
        if self.config.snapshot.target.is_none() {
            return;
        }
        let secrets = self.secrets.clone();
        let (store, blobs) = (self.store.clone(), self.blobs.clone());
        let (config, clock) = (self.config.clone(), Arc::clone(&self.clock));
        let place = SnapshotPlace::new(config, store.clone(), clock, move |archive| {
            secrets.add_archive(archive.clone());
        });
        jobs.add(SnapshotMetrics(place.clone()));
        let source = SnapshotSource::of(&self.config, store, blobs);
        let health = self.health.clone();
        jobs.add(SnapshotJob::new(place, source, health, &self.config.snapshot));
    }

    fn start_worker_jobs(&self, jobs: &PeriodicJobs, maintenance: &Maintenance) {
        let Maintenance { store, clock } = maintenance.clone();
        jobs.add(FutureTimes(maintenance.clone()));
        jobs.add(OutboxPurge(maintenance.clone(), self.config.api.keep_events));
        jobs.add(ExpiredWebhooks(maintenance.clone()));
        jobs.add(RowPurge(maintenance.clone()));
        jobs.add(ActivityPurge(maintenance.clone()));
        jobs.add(InterruptedReplies(maintenance.clone()));
        jobs.add(WalCheckpoint::new(store.clone(), self.bus.clone(), self.health.clone()));
        jobs.add(JobPurge(self.removals()));
        jobs.add(ExportPurge(self.exports()));
        let sweeper = OrphanSweeper { store, blobs: self.blobs.clone(), clock };
        jobs.add(UploadSweeper(sweeper.clone()));
        jobs.add(sweeper);
        let Maintenance { store, clock } = maintenance.clone();
        jobs.add(Retention { store, clock, config: self.config.retention });
        let Maintenance { store, clock } = maintenance.clone();
        jobs.add(EarlierTextErasure { store, clock });
        let Maintenance { store, clock } = maintenance.clone();
        let first = self.registration.bus_reading.clone();
        jobs.add(BusLosses::new(store, self.bus.clone(), clock, first));
        let Maintenance { store, clock } = maintenance.clone();
        jobs.add(DeadLetterJob::new(store, self.bus.clone(), clock));
        let Maintenance { store, clock } = maintenance.clone();
        jobs.add(MissingNames::new(store.clone(), self.bots.clone(), Arc::clone(&clock)));
        jobs.add(QuietGroups::new(store.clone(), self.bots.clone(), Arc::clone(&clock)));
        jobs.add(QuietMembers::new(store, self.bots.clone(), clock));
        let Maintenance { store, clock } = maintenance.clone();
        let health = self.health.clone();
        let (of_store, of_jobs) = (store.clone(), Arc::clone(&clock));
        jobs.add(ChannelJobMetrics { store: of_store, clock: of_jobs, health });
        jobs.add(StoreMetrics(store));
        let base_url = self.config.api.base_url.clone();
        jobs.add(ExpiryMetrics { base_url, bots: self.bots.clone(), clock });
        if self.config.usage.tell_users {
            let Maintenance { store, clock } = maintenance.clone();
            jobs.add(UsageNotifier { store, bots: self.bots.clone(), clock });
        }
    }
}
