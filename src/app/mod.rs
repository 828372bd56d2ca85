//! A process put together: adapters by configuration, roles by choice, one way to stop.

mod duties;
mod fit;
mod open;
mod stages;

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use chatkeep_core::blobs::Blobs;
use chatkeep_core::bus::Bus;
use chatkeep_core::config::{Config, LineConfig, RateLimitConfig};
use chatkeep_core::health::Health;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::platform::Bots;
use chatkeep_core::platform::line::SignatureKey;
use chatkeep_core::store::Store;
use chatkeep_core::time::SharedClock;
use chatkeep_index::search::MessageIndex;
use chatkeep_workers::assistant::Assistants;
use chatkeep_workers::tap::Tap;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

pub use duties::{Duties, Role};
pub use fit::Unfit;
use fit::check;
use open::bots;
pub use open::{attach_bus, index_folder, model_folder, open_bus, open_space, open_store};
use stages::{Starter, follow};

use crate::finder::Finder;
use crate::ingress::{IngressBot, IngressBots};
use crate::limit::Limiter;
use crate::login::Login;
use crate::oauth::OAuth;
use crate::upkeep::Upkeep;
use crate::{api, finder, ingress, ops};

/// A process' parts, opened and ready to run.
pub struct App {
    config: Config,
    duties: Duties,
    clock: SharedClock,
    health: Health,
    tap: Tap,
    bus: Bus,
    store: Store,
    blobs: Blobs,
    bots: Bots,
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
        let bots = bots(&config, &clock)?;
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
            health: Health::new(Arc::clone(&clock)),
            clock,
            tap: Tap::default(),
            bus,
            store,
            blobs,
            bots,
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
        let health = self.health.clone();
        let ready = ops::Ready { bus: self.bus.clone(), store: self.store.clone(), health };
        let mut router = ops::router(ready);
        if self.duties.roles.contains(&Role::Ingress) {
            let bots: Option<Vec<_>> =
                self.config.line.iter().map(|bot| self.ingress_bot(bot)).collect();
            let ingress = ingress::Ingress {
                bus: self.bus.clone(),
                bots: IngressBots::new(bots.context("no channel secret")?),
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
            let http = GuardedClient::new(self.config.login.allow_private_clients)?;
            let (store, clock) = (self.store.clone(), Arc::clone(&self.clock));
            let oauth = OAuth::new(login.clone(), store, clock, http);
            let api = api::Api {
                store: self.store.clone(),
                bus: self.bus.clone(),
                blobs: self.blobs.clone(),
                clock: Arc::clone(&self.clock),
                bots: self.bots.clone(),
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
                webhooks_private: self.config.webhooks.allow_private,
                login,
                oauth,
            };
            router = router.merge(api::router(api, &self.config.api.cors_origins));
        }
        Ok(router)
    }

    fn ingress_bot(&self, bot: &LineConfig) -> Option<IngressBot> {
        let key = SignatureKey::new(bot.channel_secret.as_ref()?)?;
        Some(IngressBot::new(&bot.name, key, self.bots.get(&bot.name).ok().cloned()))
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
        if !self.duties.roles.contains(&Role::Worker) {
            return Ok(None);
        }
        Starter { app: self, tasks, stop }.start().await
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
            upkeep.end_webhooks();
            upkeep.purge_rows();
            upkeep.sweep_replies();
            upkeep.scrub();
        }
    }
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

async fn logged(part: &'static str, task: impl Future<Output = anyhow::Result<()>>) {
    if let Err(error) = task.await {
        error!(part, error = format!("{error:#}"), "a part of the process failed");
    }
}
