//! Opening a process' adapters as they are configured.

use std::sync::Arc;

use anyhow::Context as _;
use chatkeep_core::bus::embedded::EmbeddedBus;
use chatkeep_core::bus::nats::NatsBus;
use chatkeep_core::bus::{Bus, BusLimits};
use chatkeep_core::config::{BusKind, Config};
use chatkeep_core::platform::SharedPlatform;
use chatkeep_core::platform::line::{LineApi, LineClient};
use chatkeep_core::store::Store;
use chatkeep_core::time::SharedClock;
use secrecy::ExposeSecret as _;

fn limits(config: &Config) -> BusLimits {
    BusLimits {
        max_backlog: config.bus_limits.max_backlog,
        dedupe_window: config.bus_limits.dedupe_window,
    }
}

/// Opens the bus for a process that serves.
///
/// # Errors
/// When it cannot be opened or reached.
pub async fn open_bus(config: &Config, clock: SharedClock) -> anyhow::Result<Bus> {
    Ok(match &config.bus {
        BusKind::Embedded => {
            Bus::Embedded(EmbeddedBus::open(&config.data, limits(config), clock).await?)
        }
        BusKind::Nats(url) => {
            let (url, copies) = (url.expose_secret(), config.bus_limits.replicas);
            Bus::Nats(NatsBus::connect_replicated(url, copies, limits(config), clock).await?)
        }
    })
}

/// Opens the bus beside a process that may be serving, for the command line.
///
/// # Errors
/// When it cannot be opened or reached.
pub async fn attach_bus(config: &Config, clock: SharedClock) -> anyhow::Result<Bus> {
    Ok(match &config.bus {
        BusKind::Embedded => {
            Bus::Embedded(EmbeddedBus::attach(&config.data, limits(config), clock).await?)
        }
        BusKind::Nats(_) => open_bus(config, clock).await?,
    })
}

/// Opens the store.
///
/// # Errors
/// When the database cannot be opened, reached or migrated.
pub async fn open_store(config: &Config) -> anyhow::Result<Store> {
    let connections = config.database_pool.max_connections;
    Store::open(&config.database, &config.data, connections)
        .await
        .context("cannot open the database (CHATKEEP_DATABASE)")
}

pub(super) fn platform(config: &Config) -> anyhow::Result<Option<SharedPlatform>> {
    let Some(access_token) = config.line.access_token.clone() else {
        return Ok(None);
    };
    let api = LineApi { api_base: config.line.api_base.clone(), access_token };
    let client = LineClient::new(api, chatkeep_core::http::client()?);
    Ok(Some(Arc::new(client)))
}
