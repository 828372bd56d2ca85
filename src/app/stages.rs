//! Start of a process' stages and of their maintenance.

use std::sync::Arc;

use chatkeep_core::event::Event;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::metric;
use chatkeep_workers::assistant::{Assistant, ReplyPolicy};
use chatkeep_workers::backup::Backup;
use chatkeep_workers::dead_letters::DeadLetterCare;
use chatkeep_workers::gate::{Gate, Gated};
use chatkeep_workers::media::{ContentThrottle, Lane, Media, MediaLimits, PendingMediaJob};
use chatkeep_workers::members::Members;
use chatkeep_workers::notices::UsageNotifier;
use chatkeep_workers::notifier::{Notifier, NotifierSettings};
use chatkeep_workers::{LONG_WAIT, Runner, RunnerSettings, Stage, StageName};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::App;
use crate::event_renderer::EventRenderer;
use crate::orphan_sweep::OrphanSweeper;
use crate::retention::Retention;

/// Maximum number of attempts for an external media file: some 20 minutes.
const EXTERNAL_ATTEMPTS: u32 = 12;

/// Starter of one process' stages.
pub(super) struct Starter<'a> {
    pub(super) app: &'a App,
    pub(super) tasks: &'a TaskTracker,
    pub(super) stop: &'a CancellationToken,
}

impl Starter<'_> {
    /// Starts this process' stages.
    pub(super) async fn start(&self) -> anyhow::Result<()> {
        let app = self.app;
        let batch = app.config.workers.batch;
        for stage in &app.process_roles.stages {
            // Initialised with 0, so that the first one shows as a rise in metrics.
            metric::DEAD_LETTERS.add([stage.name().into()], 0);
            let (store, clock) = (app.store.clone(), Arc::clone(&app.clock));
            match stage {
                StageName::Backup => {
                    self.gated(Backup { store, bus: app.bus.clone(), clock, batch });
                }
                StageName::Members => {
                    self.gated(Members::new(store, app.bots.clone(), clock, batch));
                }
                StageName::Assistant => self.gated(self.assistant()),
                StageName::Media => self.media().await?,
                // Started together with `Media`, whatever was chosen.
                StageName::ExternalMedia => {}
            }
        }
        self.sweep();
        self.clear_dead_letters();
        if app.config.usage.tell_users {
            self.tell_users();
        }
        self.notify()?;
        self.retain();
        self.tasks.spawn(app.removals().run(self.stop.clone()));
        Ok(())
    }

    fn assistant(&self) -> Assistant {
        let app = self.app;
        Assistant {
            store: app.store.clone(),
            bus: app.bus.clone(),
            bots: app.bots.clone(),
            assistants: app.assistants.clone(),
            clock: Arc::clone(&app.clock),
            policy: ReplyPolicy {
                deadline: app.config.reply.deadline,
                push_fallback: app.config.reply.push_fallback,
            },
            concurrency: app.config.workers.concurrency,
        }
    }

    async fn media(&self) -> anyhow::Result<()> {
        let (app, config) = (self.app, &self.app.config.media);
        let throttle = ContentThrottle::new(app.bus.clone(), Arc::clone(&app.clock));
        self.tasks.spawn(throttle.listen(self.stop.clone()).await?);
        let media = Media {
            lane: Lane::Platform,
            bus: app.bus.clone(),
            store: app.store.clone(),
            blobs: app.blobs.clone(),
            bots: app.bots.clone(),
            external: GuardedClient::new(config.allow_private)?,
            throttle,
            clock: Arc::clone(&app.clock),
            limits: MediaLimits {
                max_bytes: config.max_bytes,
                parallel: config.parallel,
                speed_window: config.speed_window,
            },
        };
        let reminder = PendingMediaJob {
            store: app.store.clone(),
            bus: app.bus.clone(),
            clock: Arc::clone(&app.clock),
        };
        self.tasks.spawn(reminder.run(self.stop.clone()));
        let external = Media { lane: Lane::External, ..media.clone() };
        self.run_with_timeout(external, config.max_attempts.min(EXTERNAL_ATTEMPTS));
        self.run_with_timeout(media, config.max_attempts);
        Ok(())
    }

    /// Starts the orphan sweep of blobs, whatever stages run here.
    fn sweep(&self) {
        let (store, blobs) = (self.app.store.clone(), self.app.blobs.clone());
        let orphan_sweeper = OrphanSweeper { store, blobs, clock: Arc::clone(&self.app.clock) };
        self.tasks.spawn(orphan_sweeper.run(self.stop.clone()));
    }

    fn clear_dead_letters(&self) {
        let (store, bus) = (self.app.store.clone(), self.app.bus.clone());
        let dead_letters = DeadLetterCare::new(store, bus, Arc::clone(&self.app.clock));
        self.tasks.spawn(dead_letters.run(self.stop.clone()));
    }

    fn tell_users(&self) {
        let (store, clock) = (self.app.store.clone(), Arc::clone(&self.app.clock));
        let bots = self.app.bots.clone();
        self.tasks.spawn(UsageNotifier { store, bots, clock }.run(self.stop.clone()));
    }

    /// Starts the notifier that delivers outbox events to webhooks, whatever stages run here.
    fn notify(&self) -> anyhow::Result<()> {
        let (app, config) = (self.app, &self.app.config.webhooks);
        let store = app.store.clone();
        let notifier = Notifier {
            bodies: EventRenderer { store: store.clone(), clock: Arc::clone(&app.clock) },
            store,
            http: GuardedClient::new(config.allow_private)?,
            bots: app.bots.clone(),
            clock: Arc::clone(&app.clock),
            settings: NotifierSettings {
                parallel: config.parallel,
                parallel_each: config.parallel_each,
                timeout: config.timeout,
                retries: config.retries.clone(),
                give_up: config.give_up,
                keep: config.keep,
                tell_owners: config.tell_owners,
            },
        };
        self.tasks.spawn(notifier.run(self.stop.clone()));
        Ok(())
    }

    /// Starts the removal of messages beyond their retention, whatever stages run here.
    fn retain(&self) {
        let app = self.app;
        let retention = Retention {
            store: app.store.clone(),
            clock: Arc::clone(&app.clock),
            config: app.config.retention,
        };
        self.tasks.spawn(retention.run(self.stop.clone()));
    }

    /// Runs a stage of platform events, which sees only those that its channel's own bot received.
    fn gated<S: Stage<Item = Event>>(&self, stage: S) {
        let app = self.app;
        let bots = app.config.line.iter().map(|bot| bot.name.clone()).collect();
        let (store, health) = (app.store.clone(), app.health.clone());
        let gate = Gate::new(store, Arc::clone(&app.clock), health, bots);
        self.run(Gated::new(stage, gate));
    }

    fn run<S: Stage>(&self, stage: S) {
        self.run_with_timeout(stage, self.app.config.workers.max_attempts);
    }

    fn run_with_timeout<S: Stage>(&self, stage: S, max_attempts: u32) {
        let app = self.app;
        let lease = app.config.workers.lease;
        let settings = RunnerSettings { lease, max_attempts, long_wait: LONG_WAIT };
        let (bus, tap, health) = (app.bus.clone(), app.tap.clone(), app.health.clone());
        let runner = Runner::new(stage, bus, settings, tap, health, self.stop.clone());
        self.tasks.spawn(runner.run());
    }
}
