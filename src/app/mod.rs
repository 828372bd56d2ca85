//! A process put together: adapters by configuration, roles by choice, one way to stop.

mod consumers;
mod duties;
mod fit;
mod open;
mod registry;
mod replica;
mod stages;
mod tokens;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
use chatkeep_workers::assistant::Assistants;
use chatkeep_workers::replica::Replica;
use chatkeep_workers::tap::Tap;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

pub use duties::{Duties, Role};
pub use fit::Unfit;
use fit::check;
pub(crate) use open::NO_DATABASE;
use open::bots;
pub use open::{
    attach_bus, attach_known_bus, index_folder, model_folder, open_bus, open_space, open_store,
};
use registry::Registration;
pub(crate) use registry::{media_store_of, running};
use stages::Starter;
use tokens::TokenCheck;

use crate::finder::{Elsewhere, Finder};
use crate::ingress::{IngressBot, IngressBots};
use crate::limit::{Gate, Limiter};
use crate::login::Login;
use crate::oauth::OAuth;
use crate::private::make_data_folder;
use crate::removals::Removals;
use crate::server::{Server, room_for};
use crate::upkeep::Upkeep;
use crate::{api, ingress, ops};

/// The longest part of the time for stopping that bus and store have for closing.
const CLOSING: Duration = Duration::from_secs(3);
/// The longest part of it that is left for breaking off what has not finished.
const FAREWELL: Duration = Duration::from_secs(1);

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
    /// The search replica of this process.
    replica: Option<Replica>,
    registration: Option<Registration>,
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
        make_data_folder(&config.data)?;
        let bus = duties.bus(&config, Arc::clone(&clock)).await?;
        let store = open_store(&config).await?;
        let blobs = Blobs::open(&config.blobs, &config.s3)
            .context("cannot open the place of media files (CHATKEEP_BLOBS)")?;
        let bots = bots(&config, &clock)?;
        let health = Health::new(Arc::clone(&clock));
        let parts = (&store, &bus, &blobs, &health);
        let registration = Registration::new(&config, &duties, parts).await?;
        let replica = replica::open(&config, &duties, &store, &clock).await?;
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
            health,
            clock,
            tap: Tap::default(),
            bus,
            store,
            blobs,
            bots,
            assistants,
            metrics,
            replica,
            registration: Some(registration),
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

    /// Runs on `listener` until `stop` is cancelled, then drains: everything has ended when the
    /// time for that is over, finished or not. `finish` adds to the process' own routes.
    ///
    /// # Errors
    /// When a part fails that the process cannot do without.
    pub async fn run(
        mut self,
        listener: TcpListener,
        finish: impl FnOnce(Router) -> Router,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        let tasks = TaskTracker::new();
        self.start_workers(&tasks, &stop).await?;
        self.look_after_consumers(&tasks, &stop).await?;
        self.start_search(&tasks, &stop).await?;
        self.check_tokens(&tasks, &stop);
        tasks.spawn(self.assistants.listen(&self.bus, stop.clone()).await?);
        let router = api::whole(finish(self.router(&tasks, &stop)?));
        self.keep_up(&tasks, &stop);
        let address = listener.local_addr()?;
        info!(%address, roles = ?self.duties.roles, "chatkeep is ready");
        let Self { config, bus, store, metrics, replica, .. } = self;
        let mut http = config.http;
        http.max_connections = room_for(http.max_connections);
        // Closing bus and store has its part of the time, and so has what is broken off.
        let closing = (config.shutdown.drain / 5).min(CLOSING);
        let farewell = (config.shutdown.drain / 5).min(FAREWELL);
        let drain = config.shutdown.drain.saturating_sub(closing + farewell);
        if let Some((listener, handle)) = metrics {
            let lease = config.workers.lease;
            let router = ops::metrics_router(handle, bus.clone(), lease, replica.clone());
            let router = api::whole(router);
            tasks.spawn(Server::new(router, http, true).run(listener, stop.clone(), drain));
        }
        let server = Server::new(router, http, config.api.proxies > 0);
        let serving = server.run(listener, stop.clone(), drain);
        let ends = async {
            stop.cancelled().await;
            tokio::time::Instant::now() + drain
        };
        let ((), ends) = tokio::join!(serving, ends);
        tasks.close();
        if tokio::time::timeout_at(ends, tasks.wait()).await.is_err() {
            warn!("not everything finished in time; what is left is done after the next start");
        }
        drop(replica);
        let close = async {
            bus.close().await;
            store.close().await;
        };
        if tokio::time::timeout(closing, close).await.is_err() {
            warn!("bus and store could not be closed in time");
        }
        info!("chatkeep has stopped");
        Ok(())
    }

    /// Search for this process, wherever there is an index.
    pub fn finder(&self) -> Finder {
        let elsewhere = match (&self.replica, &self.bus) {
            (_, Bus::Nats(_)) => Elsewhere::Bus(self.bus.clone()),
            (Some(_), Bus::Embedded(_)) => Elsewhere::Nowhere,
            (None, Bus::Embedded(_)) => Elsewhere::Folder(index_folder(&self.config)),
        };
        Finder::new(self.replica.clone(), elsewhere)
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
                gate: Gate::new(self.config.rate_limit, &self.bus, &self.clock, tasks, stop),
                time_zone: self.config.time_zone,
                proxies: self.config.api.proxies,
                webhooks_private: self.config.webhooks.allow_private,
                login,
                oauth,
                large: api::LargeAnswers::default(),
                removals: self.removals(),
                tasks: tasks.clone(),
            };
            router = router.merge(api::router(api, &self.config.api.cors_origins));
        }
        Ok(router)
    }

    fn ingress_bot(&self, bot: &LineConfig) -> Option<IngressBot> {
        let key = SignatureKey::new(bot.channel_secret.as_ref()?)?;
        Some(IngressBot::new(&bot.name, key, self.bots.get(&bot.name).ok().cloned()))
    }

    /// A worker that removes messages.
    fn removals(&self) -> Removals {
        Removals::new(self.store.clone(), Arc::clone(&self.clock))
    }

    /// What one address may send the ingress in vain. Each process has its own: a wrong signature
    /// costs the process that checks it, nobody else.
    fn rejected(&self) -> Limiter {
        let per_minute = self.config.ingress.rejected_per_minute;
        let config = RateLimitConfig { per_minute, burst: per_minute };
        Limiter::alone(config, Arc::clone(&self.clock))
    }

    /// Starts this process' stages.
    async fn start_workers(
        &self,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> anyhow::Result<()> {
        if !self.duties.roles.contains(&Role::Worker) {
            return Ok(());
        }
        Starter { app: self, tasks, stop }.start().await
    }

    /// Finds out, while the process runs already, whether the bots' access tokens are right.
    fn check_tokens(&self, tasks: &TaskTracker, stop: &CancellationToken) {
        for line in &self.config.line {
            if let Ok(directory) = self.bots.get(&line.name) {
                let check = TokenCheck {
                    bot: line.name.clone(),
                    directory: directory.clone(),
                    variable: line.access_token_variable.clone(),
                    health: self.health.clone(),
                };
                tasks.spawn(check.run(stop.clone()));
            }
        }
    }

    fn keep_up(&self, tasks: &TaskTracker, stop: &CancellationToken) {
        let upkeep = Upkeep { store: &self.store, clock: &self.clock, tasks, stop };
        if self.duties.roles.contains(&Role::Ingress) {
            upkeep.beat();
        }
        if self.duties.roles.contains(&Role::Api) {
            upkeep.purge_answers();
            upkeep.write_uses();
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
