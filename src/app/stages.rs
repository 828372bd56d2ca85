//! Starting the stages that a process runs, and what looks after their work.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_index::search::MessageIndex;
use chatkeep_workers::assistant::{Assistant, ReplyPolicy};
use chatkeep_workers::backup::Backup;
use chatkeep_workers::graves::Graves;
use chatkeep_workers::indexer::Indexer;
use chatkeep_workers::media::{Brake, Media, MediaLimits, Reminder};
use chatkeep_workers::members::Members;
use chatkeep_workers::notices::Notices;
use chatkeep_workers::notifier::{Notifier, NotifierSettings};
use chatkeep_workers::{Runner, RunnerSettings, Stage, StageName};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::{App, index_folder};
use crate::retention::Retention;
use crate::sweep::Sweeper;
use crate::teller::Teller;

/// How often the search index is looked after.
const FOLLOW: Duration = Duration::from_secs(1);

/// Starts stages of one process.
pub(super) struct Starter<'a> {
    pub(super) app: &'a App,
    pub(super) tasks: &'a TaskTracker,
    pub(super) stop: &'a CancellationToken,
}

impl Starter<'_> {
    /// Starts this process' stages; hands back the index so that it lives as long as they do.
    pub(super) async fn start(&self) -> anyhow::Result<Option<MessageIndex>> {
        let app = self.app;
        let batch = app.config.workers.batch;
        let mut index = None;
        for stage in &app.duties.stages {
            let (store, clock) = (app.store.clone(), Arc::clone(&app.clock));
            match stage {
                StageName::Backup => {
                    self.run(Backup { store, bus: app.bus.clone(), clock, batch });
                }
                StageName::Members => {
                    self.run(Members::new(store, app.bots.clone(), clock, batch));
                }
                StageName::Assistant => self.run(self.assistant()),
                StageName::Media => self.media().await?,
                StageName::Indexer => {
                    let folder = index_folder(&app.config);
                    let indexer = Indexer::open(store, folder).await;
                    let indexer = indexer.context("cannot open the search index")?;
                    index = Some(indexer.index());
                    self.tasks.spawn(indexer.purger().run(self.stop.clone()));
                    self.run(indexer);
                }
            }
        }
        self.sweep();
        self.clear_graves();
        if app.config.usage.tell_users {
            self.tell_users();
        }
        self.notify()?;
        self.retain();
        Ok(index)
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
        let brake = Brake::new(app.bus.clone(), Arc::clone(&app.clock));
        self.tasks.spawn(brake.listen(self.stop.clone()).await?);
        let media = Media {
            store: app.store.clone(),
            blobs: app.blobs.clone(),
            bots: app.bots.clone(),
            external: GuardedClient::new(config.allow_private)?,
            brake,
            clock: Arc::clone(&app.clock),
            limits: MediaLimits { max_bytes: config.max_bytes, parallel: config.parallel },
        };
        let reminder = Reminder {
            store: app.store.clone(),
            bus: app.bus.clone(),
            clock: Arc::clone(&app.clock),
        };
        self.tasks.spawn(reminder.run(self.stop.clone()));
        self.run_patiently(media, config.max_attempts);
        Ok(())
    }

    /// Blobs that no message holds go, whatever stages run here.
    fn sweep(&self) {
        let (store, blobs) = (self.app.store.clone(), self.app.blobs.clone());
        let sweeper = Sweeper { store, blobs, clock: Arc::clone(&self.app.clock) };
        self.tasks.spawn(sweeper.run(self.stop.clone()));
    }

    fn clear_graves(&self) {
        let (store, bus) = (self.app.store.clone(), self.app.bus.clone());
        let graves = Graves::new(store, bus, Arc::clone(&self.app.clock));
        self.tasks.spawn(graves.run(self.stop.clone()));
    }

    fn tell_users(&self) {
        let (store, clock) = (self.app.store.clone(), Arc::clone(&self.app.clock));
        let bots = self.app.bots.clone();
        self.tasks.spawn(Notices { store, bots, clock }.run(self.stop.clone()));
    }

    /// What happens is sent to webhooks, whatever stages run here.
    fn notify(&self) -> anyhow::Result<()> {
        let (app, config) = (self.app, &self.app.config.webhooks);
        let store = app.store.clone();
        let notifier = Notifier {
            bodies: Teller { store: store.clone(), clock: Arc::clone(&app.clock) },
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

    /// What is too old goes, whatever stages run here.
    fn retain(&self) {
        let app = self.app;
        let retention = Retention {
            store: app.store.clone(),
            bus: app.bus.clone(),
            clock: Arc::clone(&app.clock),
            config: app.config.retention,
        };
        self.tasks.spawn(retention.run(self.stop.clone()));
    }

    fn run<S: Stage>(&self, stage: S) {
        self.run_patiently(stage, self.app.config.workers.max_attempts);
    }

    fn run_patiently<S: Stage>(&self, stage: S, max_attempts: u32) {
        let app = self.app;
        let settings = RunnerSettings { lease: app.config.workers.lease, max_attempts };
        let (bus, tap) = (app.bus.clone(), app.tap.clone());
        self.tasks.spawn(Runner::new(stage, bus, settings, tap, self.stop.clone()).run());
    }
}

/// Makes an index that `chatkeep reindex` built anew the one that is searched here.
pub(super) async fn follow(index: MessageIndex, stop: CancellationToken) {
    let mut looks = tokio::time::interval(FOLLOW);
    while stop.run_until_cancelled(looks.tick()).await.is_some() {
        if let Err(error) = Indexer::refresh(index.clone()).await {
            let error: &dyn std::error::Error = &error;
            warn!(error, "cannot look after the search index");
        }
    }
}
