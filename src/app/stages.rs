//! Start of a process' stages.

use std::sync::Arc;

use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::metric;
use chatkeep_search::saved_searches::{SavedSearchFollower, SearchMatcher};
use chatkeep_services::event_renderer::EventRenderer;
use chatkeep_workers::assistant::{Assistant, ReplyPolicy, ReplyTurns, UnsureClaims};
use chatkeep_workers::backup::Backup;
use chatkeep_workers::gate::{EventItem, Gate, Gated};
use chatkeep_workers::media::{ContentThrottle, Media, MediaLimits, MediaOrigin, PendingMediaJob};
use chatkeep_workers::members::Members;
use chatkeep_workers::notifier::{Notifier, NotifierSettings};
use chatkeep_workers::periodic::PeriodicJobs;
use chatkeep_workers::supervisor::Supervisor;
use chatkeep_workers::{
    LONG_WAIT, PipelineStage, RecentTraces, Runner, RunnerSettings, Stage, StageName,
};

use super::App;

/// Maximum number of attempts for an external media file: some 20 minutes.
const EXTERNAL_ATTEMPTS: u32 = 12;

/// Starter of one process' stages.
pub(super) struct Starter<'a> {
    pub(super) app: &'a App,
    pub(super) supervisor: &'a Supervisor,
    pub(super) jobs: &'a PeriodicJobs,
}

impl Starter<'_> {
    /// Starts this process' stages.
    pub(super) async fn start(&self) -> anyhow::Result<()> {
        let app = self.app;
        let batch = app.config.workers.batch;
        let traces = RecentTraces::default();
        for stage in &app.process_roles.stages {
            // Initialised with 0, so that the first one shows as a rise in metrics.
            metric::DEAD_LETTERS.add([stage.name().into()], 0);
            let (store, clock) = (app.store.clone(), Arc::clone(&app.clock));
            match stage {
                StageName::Backup => {
                    let (bus, traces) = (app.bus.clone(), traces.clone());
                    self.gated(Backup { store, bus, clock, batch, traces });
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
        self.notify(traces)?;
        self.follow_saved_searches();
        let removals = app.removals();
        self.supervisor.run("removals", move |stop| removals.clone().run(stop));
        let exports = app.exports();
        self.supervisor.run("exports", move |stop| exports.clone().run(stop));
        Ok(())
    }

    fn assistant(&self) -> Assistant {
        let app = self.app;
        Assistant {
            store: app.store.clone(),
            bots: app.bots.clone(),
            assistants: app.assistants.clone(),
            clock: Arc::clone(&app.clock),
            policy: ReplyPolicy {
                deadline: app.config.reply.deadline,
                push_max_age: app
                    .config
                    .reply
                    .push_fallback
                    .then_some(app.config.reply.push_max_age),
            },
            concurrency: app.config.workers.concurrency,
            claims: UnsureClaims::default(),
            turns: ReplyTurns::default(),
            tasks: self.supervisor.tasks().clone(),
        }
    }

    async fn media(&self) -> anyhow::Result<()> {
        let (app, config) = (self.app, &self.app.config.media);
        let throttle = ContentThrottle::new(app.bus.clone(), Arc::clone(&app.clock));
        let listener = throttle.clone();
        let listen = move |stop| {
            let listener = listener.clone();
            async move { listener.listen(stop).await }
        };
        self.supervisor.run_prepared("download_pauses", listen).await?;
        let media = Media {
            origin: MediaOrigin::Platform,
            bus: app.bus.clone(),
            store: app.store.clone(),
            blobs: app.blobs.clone(),
            bots: app.bots.clone(),
            external: GuardedClient::new(config.allow_private)?,
            throttle,
            clock: Arc::clone(&app.clock),
            disk: app.disk.media.clone(),
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
        self.jobs.add(reminder);
        let external = Media { origin: MediaOrigin::External, ..media.clone() };
        self.run_with_attempts(external, config.max_attempts.min(EXTERNAL_ATTEMPTS));
        self.run_with_attempts(media, config.max_attempts);
        Ok(())
    }

    /// Starts the notifier that delivers outbox events to webhooks, whatever stages run here.
    fn notify(&self, traces: RecentTraces) -> anyhow::Result<()> {
        let (app, config) = (self.app, &self.app.config.webhooks);
        let store = app.store.clone();
        let notifier = Notifier {
            bodies: EventRenderer {
                store: store.clone(),
                clock: Arc::clone(&app.clock),
                links: app.services.links.clone(),
                matcher: SearchMatcher::new(store.clone(), app.config.time_zone),
            },
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
            traces,
        };
        let notifier = Arc::new(notifier);
        notifier.add_jobs(self.jobs);
        let mut is_first = true;
        self.supervisor.run("notifier", move |stop| {
            let is_first = std::mem::take(&mut is_first);
            let notifier = Arc::clone(&notifier);
            async move {
                // Later, this process itself may still make some of them.
                if is_first {
                    notifier.release_interrupted().await;
                }
                notifier.run(stop).await;
            }
        });
        Ok(())
    }

    /// Starts the comparison of new messages with saved searches.
    fn follow_saved_searches(&self) {
        let app = self.app;
        let follower = SavedSearchFollower::new(
            app.store.clone(),
            Arc::clone(&app.clock),
            app.config.time_zone,
            app.registration.id().to_owned(),
        );
        self.supervisor.run("saved_searches", move |stop| follower.clone().run(stop));
    }

    /// Runs a stage of platform events, which sees only those that its channel's own bot received.
    fn gated<S: Stage<Item: EventItem>>(&self, stage: S)
    where
        Gated<S>: PipelineStage,
    {
        let app = self.app;
        let bots = app.config.line.iter().map(|bot| bot.name.clone()).collect();
        let (store, health) = (app.store.clone(), app.health.clone());
        let gate = Gate::new(store, Arc::clone(&app.clock), health, bots);
        self.run(Gated::new(stage, gate));
    }

    fn run<S: PipelineStage>(&self, stage: S) {
        self.run_with_attempts(stage, self.app.config.workers.max_attempts);
    }

    fn run_with_attempts<S: PipelineStage>(&self, stage: S, max_attempts: u32) {
        let app = self.app;
        let lease = app.config.workers.lease;
        let settings = RunnerSettings { lease, max_attempts, long_wait: LONG_WAIT };
        let (bus, tap, health) = (app.bus.clone(), app.tap.clone(), app.health.clone());
        let part = stage.name().part();
        let stop = self.supervisor.stop().clone();
        let runner = Runner::new(stage, bus, settings, tap, health, stop);
        self.supervisor.run(part, move |_stop| S::run(runner.clone()));
    }
}
