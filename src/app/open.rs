//! Opening of a process' adapters as configured.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusError, BusLimits};
use chatkeep_core::config::{BusKind, Config, Database, LineConfig};
use chatkeep_core::secret::SharedSecret;
use chatkeep_core::time::SharedClock;
use chatkeep_index::answer::thresholds;
use chatkeep_index::embed::FullModel;
use chatkeep_index::semantic::SemanticSpace;
use chatkeep_platform::line::{LineApi, LineClient, LineWebhooks};
use chatkeep_platform::{Bots, SharedPlatform, SharedSetup};
use chatkeep_search::{SearchFallback, SearchService};
use chatkeep_services::bot_setup::{BotSetupService, ConfiguredBot};
use chatkeep_services::snapshots::{BeforeMigration, SnapshotError, copy_before_migration};
use chatkeep_store::{PoolLimits, Store, StoreError};
use chatkeep_workers::replica::Replica;
use secrecy::{ExposeSecret as _, SecretString};
use tracing::{info, warn};

/// Context of the error when no HTTP client can be set up.
const NO_TLS: &str = "cannot set up calls to LINE, which need the certificates of the system's \
                      authorities (on Debian, the package ca-certificates)";

fn limits(config: &Config) -> BusLimits {
    BusLimits {
        max_backlog: config.bus_limits.max_backlog,
        dedupe_window: config.bus_limits.dedupe_window,
    }
}

/// Opens the bus for a process that runs the service.
///
/// # Errors
/// Returns an error if it cannot be opened or reached.
pub async fn open_bus(config: &Config, clock: SharedClock) -> anyhow::Result<Bus> {
    let bus = match &config.bus {
        BusKind::Embedded => {
            EmbeddedBus::open(&config.data, limits(config), clock).await.map(Bus::Embedded)
        }
        BusKind::Nats(url) => {
            let (url, copies) = (url.expose_secret(), config.bus_limits.replicas);
            let bus = NatsBus::connect_replicated(url, copies, limits(config), clock).await;
            bus.map(Bus::Nats)
        }
    };
    bus.with_context(|| no_bus(config))
}

/// Opens the bus beside the owning process, for one that only serves requests.
///
/// # Errors
/// Returns an error if it cannot be opened or reached.
pub async fn attach_bus(config: &Config, clock: SharedClock) -> anyhow::Result<Bus> {
    Ok(match &config.bus {
        BusKind::Embedded => {
            let bus = EmbeddedBus::attach(&config.data, limits(config), clock).await;
            Bus::Embedded(bus.with_context(|| no_bus(config))?)
        }
        BusKind::Nats(_) => open_bus(config, clock).await?,
    })
}

/// Opens the bus of a process that has run before, for the command line; creates nothing.
///
/// # Errors
/// [`BusError::Missing`] when none has, else when it cannot be opened or reached.
pub async fn attach_known_bus(config: &Config, clock: SharedClock) -> Result<Bus, BusError> {
    Ok(match &config.bus {
        BusKind::Embedded => {
            Bus::Embedded(EmbeddedBus::attach_existing(&config.data, limits(config), clock).await?)
        }
        BusKind::Nats(url) => {
            Bus::Nats(NatsBus::attach(url.expose_secret(), limits(config), clock).await?)
        }
    })
}

/// Returns the beginning of the error when the database cannot be opened.
pub(crate) fn no_database(config: &Config) -> String {
    match &config.database {
        Database::Sqlite => {
            format!("cannot open the database in {} (CHATKEEP_DATA)", config.data.display())
        }
        server @ Database::Postgres(_) => {
            format!("cannot open the database {server} (CHATKEEP_DATABASE)")
        }
    }
}

/// Returns the beginning of the error when the bus cannot be opened.
pub(crate) fn no_bus(config: &Config) -> String {
    match &config.bus {
        BusKind::Embedded => {
            format!("cannot open the bus in {} (CHATKEEP_DATA)", config.data.display())
        }
        server @ BusKind::Nats(_) => format!("cannot open the bus {server} (CHATKEEP_BUS)"),
    }
}

/// Returns the beginning of the error when the media store cannot be opened.
pub(crate) fn no_media_store(config: &Config) -> String {
    format!("cannot open the media store {} (CHATKEEP_BLOBS)", config.blobs)
}

/// Returns search for a process, wherever there is an index.
pub(super) fn search(config: &Config, replica: Option<&Replica>, bus: &Bus) -> SearchService {
    let elsewhere = match (replica, bus) {
        (_, Bus::Nats(_)) => SearchFallback::Bus(bus.clone()),
        (Some(_), Bus::Embedded(_)) => SearchFallback::Nowhere,
        (None, Bus::Embedded(_)) => SearchFallback::folder(index_folder(config)),
    };
    SearchService::new(replica.cloned(), elsewhere)
}

/// Sentence about migrations that change the data of a server.
pub(crate) const UNPROTECTED: &str = "the database's data is migrated, and only PostgreSQL's own \
     tools can copy it before: keep a dump";

/// Returns the error when the database cannot be copied before a migration.
pub(crate) fn no_copy(config: &Config, error: SnapshotError) -> anyhow::Error {
    match error {
        // The error is self-explanatory.
        SnapshotError::Store(error @ StoreError::Newer { .. }) => error.into(),
        SnapshotError::Store(error) => anyhow::Error::from(error).context(no_database(config)),
        error => anyhow::Error::from(error).context(
            "cannot copy the database before it is migrated (CHATKEEP_SNAPSHOT_BEFORE_MIGRATION_DAYS \
             of 0 does without)",
        ),
    }
}

/// Opens the store; copies the database before, if a migration is about to change its data.
///
/// # Errors
/// Returns an error if the database cannot be copied, opened, reached or migrated.
pub async fn open_store(config: &Config, clock: SharedClock) -> anyhow::Result<Store> {
    match copy_before_migration(config, clock).await.map_err(|error| no_copy(config, error))? {
        BeforeMigration::Nothing => {}
        BeforeMigration::Copied { id, folder } => {
            info!(snapshot = id, folder = %folder.display(), "the database was copied before its migration");
        }
        BeforeMigration::Unprotected => warn!("{UNPROTECTED}"),
    }
    let limits = PoolLimits {
        connections: config.database_pool.max_connections,
        cache: config.memory.database_bytes,
    };
    match Store::open_within(&config.database, &config.data, limits).await {
        // The error is self-explanatory.
        Err(error @ StoreError::Newer { .. }) => Err(error.into()),
        store => store.with_context(|| no_database(config)),
    }
}

/// Returns a warning about an embedded database with messages that is left behind where an empty
/// PostgreSQL is used.
pub(super) async fn left_behind(config: &Config, store: &Store) -> Option<String> {
    let any_message = async |store: &Store| store.messages().any_message().await.ok();
    if matches!(config.database, Database::Sqlite) || any_message(store).await? {
        return None;
    }
    let former = Store::open_as_is(&Database::Sqlite, &config.data).await.ok()?;
    let was_used = any_message(&former).await;
    former.close().await;
    was_used?.then(|| {
        let folder = config.data.display();
        format!(
            "the database has no messages yet, and those of {folder}/chatkeep.db are not in it: \
             docs/operating.md, From SQLite to PostgreSQL, says what can be moved"
        )
    })
}

/// Returns the folder of the full model, once it is installed.
pub fn model_folder(config: &Config) -> PathBuf {
    config.data.join("model")
}

/// Returns the folder of the search index.
pub fn index_folder(config: &Config) -> PathBuf {
    config.data.join("index")
}

/// Opens the semantic space for matching rules: that of the full model where it is installed, else
/// the built-in one.
///
/// # Errors
/// Returns an error if the installed model cannot be read.
pub async fn open_space(config: &Config) -> anyhow::Result<Arc<SemanticSpace>> {
    let folder = model_folder(config);
    let open = move || -> anyhow::Result<Arc<SemanticSpace>> {
        if !folder.exists() {
            return Ok(SemanticSpace::built_in());
        }
        let model = FullModel::open(&folder)
            .with_context(|| format!("cannot read the model in {}", folder.display()))?;
        Ok(Arc::new(SemanticSpace::new(Arc::new(model), thresholds::SEMANTIC_FULL)))
    };
    tokio::task::spawn_blocking(open).await?
}

/// Clients of the LINE bots, in the order of the settings; `None` for one without an access token.
pub(crate) struct LineClients(Vec<Option<Arc<LineClient>>>);

impl LineClients {
    /// Creates a client for each bot, with its access token.
    ///
    /// # Errors
    /// Returns an error if the HTTP client cannot be set up.
    pub(crate) fn new(
        config: &Config,
        token: impl Fn(&LineConfig) -> Option<SharedSecret>,
        clock: &SharedClock,
    ) -> anyhow::Result<Self> {
        let clients = config.line.iter().map(|bot| line_client(bot, token(bot), clock));
        Ok(Self(clients.collect::<anyhow::Result<_>>()?))
    }

    /// Returns the bots whose access token this process has.
    pub(crate) fn bots(&self, config: &Config) -> Bots {
        let bots = config.line.iter().zip(&self.0);
        Bots::new(bots.filter_map(|(bot, client)| {
            let client: SharedPlatform = client.clone()?;
            Some((bot.name.clone(), client))
        }))
    }

    /// Returns the set-up of all bots, with their channel secrets.
    pub(super) fn setup(
        &self,
        config: &Config,
        secret: impl Fn(&LineConfig) -> Option<SharedSecret>,
        clock: &SharedClock,
    ) -> BotSetupService {
        let bot = |(bot, client): (&LineConfig, &Option<Arc<LineClient>>)| ConfiguredBot {
            name: bot.name.clone(),
            platform: LineWebhooks::PATH,
            setup: client.clone().map(|client| -> SharedSetup { client }),
            secret: secret(bot),
            token_setting: bot.access_token_variable.clone(),
            secret_setting: bot.channel_secret_variable.clone(),
        };
        let bots = config.line.iter().zip(&self.0).map(bot).collect();
        let (base, operators) = (config.api.base_url.as_deref(), &config.console.operators);
        BotSetupService::new(bots, base, operators, Arc::clone(clock))
    }
}

/// Creates the check of the bots' set-up, for the command line.
///
/// # Errors
/// Returns an error if the HTTP client cannot be set up.
pub(crate) fn bot_setup(config: &Config, clock: &SharedClock) -> anyhow::Result<BotSetupService> {
    let shared = |secret: &Option<SecretString>| secret.clone().map(SharedSecret::from);
    let clients = LineClients::new(config, |bot| shared(&bot.access_token), clock)?;
    Ok(clients.setup(config, |bot| shared(&bot.channel_secret), clock))
}

fn line_client(
    bot: &LineConfig,
    access_token: Option<SharedSecret>,
    clock: &SharedClock,
) -> anyhow::Result<Option<Arc<LineClient>>> {
    let Some(access_token) = access_token else {
        return Ok(None);
    };
    let api = LineApi {
        bot: bot.name.clone(),
        api_base: bot.api_base.clone(),
        data_api_base: bot.data_api_base.clone(),
        access_token,
    };
    let http = chatkeep_core::http::client().context(NO_TLS)?;
    let files = chatkeep_core::http::download_client().context(NO_TLS)?;
    Ok(Some(Arc::new(LineClient::new(api, http, files, clock))))
}
