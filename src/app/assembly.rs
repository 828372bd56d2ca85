//! Opening of everything that a process of some roles needs.

use std::sync::Arc;

use anyhow::Context as _;
use chatkeep_blobs::Blobs;
use chatkeep_console::Entrances;
use chatkeep_core::causes::with_causes;
use chatkeep_core::config::{Config, LineConfig};
use chatkeep_core::disk::DiskReserve;
use chatkeep_core::health::Health;
use chatkeep_core::time::SharedClock;
use chatkeep_http::PublicUrl;
use chatkeep_services::disk::DiskReserves;
use chatkeep_services::removals::RemovalWorker;
use chatkeep_services::snapshots::remove_leftovers;
use chatkeep_services::{ServiceParts, Services};
use chatkeep_view::Links;
use chatkeep_workers::assistant::Assistants;
use chatkeep_workers::tap::Tap;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::net::TcpListener;
use tracing::{info, warn};

use super::open;
use super::preflight::{address_warnings, preflight_check, snapshot_warning};
use super::registry::{Registration, RegistrationParts};
use super::secrets::LiveSecrets;
use super::{
    App, LineClients, PreflightError, ProcessRoles, memory_warning, no_media_store, open_space,
    open_store, replica,
};
use crate::ops;
use crate::private::{check_owner, make_data_folder};

impl App {
    /// Opens all adapters that `process_roles` need.
    ///
    /// # Errors
    /// [`PreflightError`] when a setting is missing or the data are another user's, else whatever
    /// could not be opened or reached.
    pub async fn open(
        config: Config,
        process_roles: ProcessRoles,
        clock: SharedClock,
    ) -> anyhow::Result<Self> {
        preflight_check(&config, &process_roles)?;
        let addresses = address_warnings(&config);
        let memory = memory_warning(&config, &process_roles);
        let snapshots = snapshot_warning(&config, &process_roles);
        for warning in config.unused.iter().chain(&addresses).chain(&memory).chain(&snapshots) {
            warn!("{warning}");
        }
        check_owner(&config.data).map_err(PreflightError)?;
        make_data_folder(&config.data)?;
        let bus = process_roles.bus(&config, Arc::clone(&clock)).await?;
        let store = open_store(&config, Arc::clone(&clock)).await?;
        if let Some(warning) = open::left_behind(&config, &store).await {
            warn!("{warning}");
        }
        if let Err(error) = remove_leftovers(&config.data, &store).await {
            let error = with_causes(&error);
            warn!(error, "what an interrupted snapshot left cannot be removed");
        }
        let blobs =
            Blobs::open(&config.blobs, &config.s3).with_context(|| no_media_store(&config))?;
        let secrets = LiveSecrets::new(&config, &bus, &store, &blobs);
        let token = |bot: &LineConfig| secrets.bot(&bot.name)?.token.clone();
        let clients = LineClients::new(&config, token, &clock)?;
        let bots = clients.bots(&config);
        let health = Health::new(Arc::clone(&clock));
        let parts = RegistrationParts { store: &store, bus: &bus, blobs: &blobs, health: &health };
        let registration = Registration::new(&config, &process_roles, parts).await?;
        let replica = replica::open(&config, &process_roles, &store, &clock).await?;
        let search = open::search(&config, replica.as_ref(), &bus);
        let space = open_space(&config).await?;
        info!(model = space.name(), "semantic mode is available");
        let links = links(&config)?;
        // An address of this machine is of no use to the people of a chat.
        let pages = Links::new(config.api.base_url.as_deref());
        let assistants = Assistants::new(store.clone(), space)
            .with_memory(config.memory.assistant_bytes)
            .with_links(move |channel| pages.channel(channel));
        let metrics = listen_for_metrics(&config).await?;
        let services = Services::new(ServiceParts {
            store: store.clone(),
            clock: Arc::clone(&clock),
            bus: bus.clone(),
            blobs: blobs.clone(),
            bots: bots.clone(),
            bot_setup: clients.setup(
                &config,
                |bot| secrets.bot(&bot.name)?.channel_secret.clone(),
                &clock,
            ),
            assistants: assistants.clone(),
            search: search.clone(),
            removals: RemovalWorker::new(store.clone(), Arc::clone(&clock)),
            pictures: config.data.join("pictures"),
            picture_reserve: DiskReserve::new(config.disk.media_reserve().0),
            time_zone: config.time_zone,
            links,
            allow_private_webhooks: config.webhooks.allow_private,
            session_idle: config.login.idle,
        });
        Ok(Self {
            process_roles,
            health,
            clock,
            tap: Tap::default(),
            bus,
            store,
            blobs,
            bots,
            secrets,
            disk: DiskReserves::new(&config),
            assistants,
            metrics,
            replica,
            search,
            services,
            registration,
            config,
            entrances: Entrances::default(),
        })
    }
}

/// Returns the builder of permanent links, below the same address as everything else that the
/// service names.
///
/// # Errors
/// Returns an error if the address of this service is invalid.
pub(crate) fn links(config: &Config) -> anyhow::Result<Links> {
    let url = PublicUrl::new(config.api.base_url.as_deref(), config.listen)?;
    Ok(Links::new(Some(url.as_str())))
}

/// Listens where the settings say that metrics are read, if they do.
async fn listen_for_metrics(
    config: &Config,
) -> anyhow::Result<Option<(TcpListener, PrometheusHandle)>> {
    let Some(address) = config.metrics.listen else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address} (CHATKEEP_METRICS_LISTEN)"))?;
    Ok(Some((listener, ops::install_metrics()?)))
}
