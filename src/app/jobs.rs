//! Periodic jobs of a process: the one list, by roles. The media stage, the notifier and the search
//! replica add theirs where they are started.

use std::sync::Arc;

use chatkeep_workers::dead_letters::DeadLetterJob;
use chatkeep_workers::notices::UsageNotifier;
use chatkeep_workers::periodic::PeriodicJobs;
use chatkeep_workers::supervisor::Supervisor;

use super::{App, Role};
use crate::maintenance::{
    ActivityPurge, ExpiredWebhooks, IdempotencyPurge, IngressPresence, InterruptedReplies,
    Maintenance, OutboxPurge, ReadRecords, RowPurge, SessionPurge, UseRecords, WalCheckpoint,
};
use crate::orphan_sweep::{OrphanSweeper, UploadSweeper};
use crate::removals::JobPurge;
use crate::retention::Retention;
use crate::services::assistant::UnansweredFigures;
use crate::services::pictures::PictureSweep;

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
        if roles.contains(&Role::Ingress) {
            jobs.add(IngressPresence(maintenance.clone()));
        }
        if roles.contains(&Role::Api) {
            jobs.add(IdempotencyPurge(maintenance.clone()));
            jobs.add(UseRecords(maintenance.clone()));
            jobs.add(PictureSweep(self.services.pictures.clone()));
            jobs.add(ReadRecords(maintenance.clone()));
            jobs.add(SessionPurge(self.services.sessions.clone()));
            jobs.add(UnansweredFigures(self.services.assistant.clone()));
        }
        if roles.contains(&Role::Worker) {
            self.start_worker_jobs(jobs, &maintenance);
        }
    }

    fn start_worker_jobs(&self, jobs: &PeriodicJobs, maintenance: &Maintenance) {
        let Maintenance { store, clock } = maintenance.clone();
        jobs.add(OutboxPurge(maintenance.clone(), self.config.api.keep_events));
        jobs.add(ExpiredWebhooks(maintenance.clone()));
        jobs.add(RowPurge(maintenance.clone()));
        jobs.add(ActivityPurge(maintenance.clone()));
        jobs.add(InterruptedReplies(maintenance.clone()));
        jobs.add(WalCheckpoint(maintenance.clone()));
        jobs.add(JobPurge(self.removals()));
        let sweeper = OrphanSweeper { store, blobs: self.blobs.clone(), clock };
        jobs.add(UploadSweeper(sweeper.clone()));
        jobs.add(sweeper);
        let Maintenance { store, clock } = maintenance.clone();
        jobs.add(Retention { store, clock, config: self.config.retention });
        let Maintenance { store, clock } = maintenance.clone();
        jobs.add(DeadLetterJob::new(store, self.bus.clone(), clock));
        if self.config.usage.tell_users {
            let Maintenance { store, clock } = maintenance.clone();
            jobs.add(UsageNotifier { store, bots: self.bots.clone(), clock });
        }
    }
}
