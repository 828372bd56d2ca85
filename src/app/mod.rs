//! A process put together: adapters by configuration, roles by choice, one way to stop.

mod open;

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use chatkeep_core::blobs::Blobs;
use chatkeep_core::bus::Bus;
use chatkeep_core::config::{BusKind, Config, RateLimitConfig};
use chatkeep_core::platform::line::SignatureKey;
use chatkeep_core::platform::{Directory, SharedPlatform};
use chatkeep_core::store::Store;
use chatkeep_core::time::SharedClock;
use chatkeep_index::search::MessageIndex;
use chatkeep_workers::assistant::{Assistant, Assistants, ReplyPolicy};
use chatkeep_workers::backup::Backup;
use chatkeep_workers::indexer::Indexer;
use chatkeep_workers::members::Members;
use chatkeep_workers::tap::Tap;
use chatkeep_workers::{Runner, RunnerSettings, Stage, StageName};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

use open::platform;
pub use open::{attach_bus, index_folder, model_folder, open_bus, open_space, open_store};

use crate::finder::Finder;
use crate::limit::Limiter;
use crate::login::Login;
use crate::sweep::Sweeper;
use crate::upkeep::Upkeep;
use crate::{api, finder, ingress, ops};

/// How often the search index is looked after.
const FOLLOW: Duration = Duration::from_secs(1);

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Takes webhooks.
    Ingress,
    /// Answers REST calls.
    Api,
    /// Runs stages.
    Worker,
}

impl Role {
    /// Every role there is.
    pub const ALL: [Self; 3] = [Self::Ingress, Self::Api, Self::Worker];

    /// The role of that name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "ingress" => Some(Self::Ingress),
            "api" => Some(Self::Api),
            "worker" => Some(Self::Worker),
            _ => None,
        }
    }
}

/// Which roles and stages a process has.
#[derive(Clone, Debug)]
pub struct Duties {
    pub roles: BTreeSet<Role>,
    pub stages: BTreeSet<StageName>,
}

impl Default for Duties {
    fn default() -> Self {
        Self { roles: Role::ALL.into(), stages: StageName::ALL.into() }
    }
}

impl Duties {
    /// The bus as these duties need it, with the consumers of all stages. A process that only
    /// answers REST calls stands beside the one that the embedded bus belongs to.
    async fn bus(&self, config: &Config, clock: SharedClock) -> anyhow::Result<Bus> {
        if matches!(config.bus, BusKind::Embedded) && self.roles == BTreeSet::from([Role::Api]) {
            return attach_bus(config, clock).await;
        }
        let bus = open_bus(config, clock).await?;
        for stage in StageName::ALL {
            bus.ensure(&stage.consumer(config.workers.lease)).await?;
        }
        Ok(bus)
    }
}

/// A setting that is missing for what the process is to do. Ends it with exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

/// A process' parts, opened and ready to run.
pub struct App {
    config: Config,
    duties: Duties,
    clock: SharedClock,
    tap: Tap,
    bus: Bus,
    store: Store,
    blobs: Blobs,
    platform: Option<SharedPlatform>,
    assistants: Assistants,
    metrics: Option<(TcpListener, PrometheusHandle)>,
    /// The index that this process fills, once it does.
    index: Option<MessageIndex>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("duties", &self.duties).finish_non_exhaustive()
    }
}

impl App {
    /// Opens everything that `duties` need.
    ///
    /// # Errors
    /// [`Unfit`] when a setting is missing, else whatever could not be opened or reached.
    pub async fn open(config: Config, duties: Duties, clock: SharedClock) -> anyhow::Result<Self> {
        check(&config, &duties)?;
        std::fs::create_dir_all(&config.data)
            .with_context(|| format!("cannot make the data folder {}", config.data.display()))?;
        let bus = duties.bus(&config, Arc::clone(&clock)).await?;
        let store = open_store(&config).await?;
        let blobs = Blobs::open(&config.blobs, &config.s3)
            .context("cannot open the place of media files (CHATKEEP_BLOBS)")?;
        let platform = platform(&config)?;
        let space = open_space(&config).await?;
        info!(model = space.name(), "semantic answers");
        let assistants = Assistants::new(store.clone(), space);
        let metrics = match config.metrics.listen {
            Some(address) => {
                let listener = TcpListener::bind(address).await.with_context(|| {
                    format!("cannot listen on {address} (CHATKEEP_METRICS_LISTEN)")
                })?;
                Some((listener, ops::install_metrics()?))
            }
            None => None,
        };
        Ok(Self {
            config,
            duties,
            clock,
            tap: Tap::default(),
            bus,
            store,
            blobs,
            platform,
            assistants,
            metrics,
            index: None,
        })
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    pub fn assistants(&self) -> &Assistants {
        &self.assistants
    }

    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Runs on `listener` until `stop` is cancelled, then drains. `extra` routes stand beside
    /// the process' own.
    ///
    /// # Errors
    /// When a part fails that the process cannot do without.
    pub async fn run(
        mut self,
        listener: TcpListener,
        extra: Router,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let tasks = TaskTracker::new();
        self.index = self.start_workers(&tasks, &stop).await?;
        if let Some(index) = &self.index {
            tasks.spawn(follow(index.clone(), stop.clone()));
        }
        if let (Some(index), Bus::Nats(_)) = (&self.index, &self.bus) {
            finder::answer(&self.bus, index.clone(), &tasks, stop.clone()).await?;
        }
        tasks.spawn(self.assistants.listen(&self.bus, stop.clone()).await?);
        let router = self.router(&tasks, &stop)?.merge(extra);
        self.keep_up(&tasks, &stop);
        let address = listener.local_addr()?;
        info!(%address, roles = ?self.duties.roles, "chatkeep is ready");
        let serving = serve(listener, router, stop.clone());
        let Self { config, bus, store, metrics, index, .. } = self;
        if let Some((listener, handle)) = metrics {
            let router = ops::metrics_router(handle, bus.clone(), config.workers.lease);
            tasks.spawn(logged("metrics", serve(listener, router, stop.clone())));
        }
        let served = serving.await;
        stop.cancel();
        tasks.close();
        if tokio::time::timeout(config.shutdown.drain, tasks.wait()).await.is_err() {
            warn!("not everything finished in time; what is left is done after the next start");
        }
        drop(index);
        bus.close().await;
        store.close().await;
        info!("chatkeep has stopped");
        served
    }

    /// Search for this process, wherever the index is; the right one from the moment that the
    /// stages run.
    pub fn finder(&self) -> Finder {
        match (&self.index, &self.bus) {
            (Some(index), _) => Finder::Local(index.clone()),
            (None, Bus::Nats(_)) => Finder::Remote(self.bus.clone()),
            (None, Bus::Embedded(_)) => Finder::Folder(index_folder(&self.config)),
        }
    }

    fn router(&self, tasks: &TaskTracker, stop: &CancellationToken) -> anyhow::Result<Router> {
        let ready = ops::Ready { bus: self.bus.clone(), store: self.store.clone() };
        let mut router = ops::router(ready);
        if self.duties.roles.contains(&Role::Ingress) {
            let secret = self.config.line.channel_secret.as_ref();
            let key = secret.and_then(SignatureKey::new).context("no channel secret")?;
            let ingress = ingress::Ingress {
                bus: self.bus.clone(),
                key,
                clock: Arc::clone(&self.clock),
                tap: self.tap.clone(),
                rejected: self.rejected(),
                proxies: self.config.api.proxies,
            };
            let max_body = self.config.ingress.max_body_bytes;
            router = router.merge(ingress::router(ingress, max_body));
        }
        if self.duties.roles.contains(&Role::Api) {
            let login = Login::new(&self.config, self.store.clone(), Arc::clone(&self.clock))?;
            tasks.spawn(login.clone().purge(stop.clone()));
            let api = api::Api {
                store: self.store.clone(),
                bus: self.bus.clone(),
                blobs: self.blobs.clone(),
                clock: Arc::clone(&self.clock),
                directory: self.platform.clone().map(Directory::new),
                finder: self.finder(),
                assistants: self.assistants.clone(),
                thoughts: Arc::new(Semaphore::new(1)),
                limiter: Limiter::new(
                    self.config.rate_limit,
                    self.bus.clone(),
                    Arc::clone(&self.clock),
                    tasks,
                    stop.clone(),
                ),
                proxies: self.config.api.proxies,
                login,
            };
            router = router.merge(api::router(api, &self.config.api.cors_origins));
        }
        Ok(router)
    }

    /// What one address may send the ingress in vain. Each process has its own: a wrong signature
    /// costs the process that checks it, nobody else.
    fn rejected(&self) -> Limiter {
        let per_minute = self.config.ingress.rejected_per_minute;
        let config = RateLimitConfig { per_minute, burst: per_minute };
        Limiter::alone(config, Arc::clone(&self.clock))
    }

    /// Starts this process' stages; hands back the index so that it lives as long as they do.
    async fn start_workers(
        &self,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> anyhow::Result<Option<MessageIndex>> {
        let platform = self.platform.as_ref();
        let Some(platform) = platform.filter(|_| self.duties.roles.contains(&Role::Worker)) else {
            return Ok(None);
        };
        let directory = Directory::new(Arc::clone(platform));
        let batch = self.config.workers.batch;
        let mut index = None;
        for stage in &self.duties.stages {
            let (store, bus) = (self.store.clone(), self.bus.clone());
            let (clock, directory) = (Arc::clone(&self.clock), directory.clone());
            match stage {
                StageName::Backup => {
                    let platform = Arc::clone(platform);
                    let backup = Backup { store, bus, platform, clock, batch };
                    self.start(backup, tasks, stop);
                }
                StageName::Members => {
                    self.start(Members::new(store, directory, clock, batch), tasks, stop);
                }
                StageName::Assistant => {
                    self.start(self.assistant(directory), tasks, stop);
                }
                StageName::Indexer => {
                    let indexer = self.indexer().await?;
                    index = Some(indexer.index());
                    self.start(indexer, tasks, stop);
                }
            }
        }
        let (store, blobs) = (self.store.clone(), self.blobs.clone());
        let sweeper = Sweeper { store, blobs, clock: Arc::clone(&self.clock) };
        tasks.spawn(sweeper.run(stop.clone()));
        Ok(index)
    }

    fn keep_up(&self, tasks: &TaskTracker, stop: &CancellationToken) {
        let upkeep = Upkeep { store: &self.store, clock: &self.clock, tasks, stop };
        if self.duties.roles.contains(&Role::Ingress) {
            upkeep.beat();
        }
        if self.duties.roles.contains(&Role::Api) {
            upkeep.purge_answers();
        }
        if self.duties.roles.contains(&Role::Worker) {
            upkeep.purge_happenings(self.config.api.keep_events);
            upkeep.sweep_replies();
        }
    }

    fn assistant(&self, directory: Directory) -> Assistant {
        Assistant {
            store: self.store.clone(),
            bus: self.bus.clone(),
            directory,
            assistants: self.assistants.clone(),
            clock: Arc::clone(&self.clock),
            policy: ReplyPolicy {
                deadline: self.config.reply.deadline,
                push_fallback: self.config.reply.push_fallback,
            },
            concurrency: self.config.workers.concurrency,
        }
    }

    /// The indexer and its index, which is filled from the store when it is new or of another
    /// version.
    async fn indexer(&self) -> anyhow::Result<Indexer> {
        let folder = index_folder(&self.config);
        Indexer::open(self.store.clone(), folder).await.context("cannot open the search index")
    }

    fn start<S: Stage>(&self, stage: S, tasks: &TaskTracker, stop: &CancellationToken) {
        let settings = RunnerSettings {
            lease: self.config.workers.lease,
            max_attempts: self.config.workers.max_attempts,
        };
        let (bus, tap) = (self.bus.clone(), self.tap.clone());
        tasks.spawn(Runner::new(stage, bus, settings, tap, stop.clone()).run());
    }
}

fn check(config: &Config, duties: &Duties) -> Result<(), Unfit> {
    let has = |role| duties.roles.contains(&role);
    let missing = |name: &str, role: &str| {
        Unfit(format!(
            "{name} is not set: the {role} role needs it (environment {name} or {name}_FILE, or \
             the [line] section of chatkeep.toml); the LINE Developers console shows it"
        ))
    };
    if has(Role::Ingress) && config.line.channel_secret.is_none() {
        return Err(missing("CHATKEEP_LINE_CHANNEL_SECRET", "ingress"));
    }
    if has(Role::Worker) && config.line.access_token.is_none() {
        return Err(missing("CHATKEEP_LINE_ACCESS_TOKEN", "worker"));
    }
    if matches!(config.bus, BusKind::Embedded) && has(Role::Ingress) != has(Role::Worker) {
        return Err(Unfit(
            "the embedded bus lives in one process: ingress and worker must be together \
             (--roles), or CHATKEEP_BUS must be nats://…"
                .to_owned(),
        ));
    }
    Ok(())
}

async fn serve(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    // Handlers learn who is at the other end of the socket.
    axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(async move { stop.cancelled().await })
        .await
        .context("the HTTP server failed")
}

/// Makes an index that `chatkeep reindex` built anew the one that is searched here.
async fn follow(index: MessageIndex, stop: CancellationToken) {
    let mut looks = tokio::time::interval(FOLLOW);
    while stop.run_until_cancelled(looks.tick()).await.is_some() {
        if let Err(error) = Indexer::refresh(index.clone()).await {
            let error: &dyn std::error::Error = &error;
            warn!(error, "cannot look after the search index");
        }
    }
}

async fn logged(part: &'static str, task: impl Future<Output = anyhow::Result<()>>) {
    if let Err(error) = task.await {
        error!(part, error = format!("{error:#}"), "a part of the process failed");
    }
}
