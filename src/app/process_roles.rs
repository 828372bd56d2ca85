//! Roles of a process, and the stages that it runs.

use std::collections::BTreeSet;

use anyhow::Context as _;
use chatkeep_bus::Bus;
use chatkeep_core::config::{BusKind, Config};
use chatkeep_core::time::SharedClock;
use chatkeep_workers::StageName;

use super::{attach_bus, no_bus, open_bus};

/// Role of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessRole {
    /// Receives webhooks.
    Ingress,
    /// Serves REST calls.
    Api,
    /// Runs stages.
    Worker,
    /// Maintains a replica of the search index.
    Search,
}

impl ProcessRole {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Ingress, Self::Api, Self::Worker, Self::Search];

    /// Returns the role's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Api => "api",
            Self::Worker => "worker",
            Self::Search => "search",
        }
    }

    /// Returns the role of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Roles and stages of a process.
#[derive(Clone, Debug)]
pub struct ProcessRoles {
    pub roles: BTreeSet<ProcessRole>,
    pub stages: BTreeSet<StageName>,
}

impl Default for ProcessRoles {
    fn default() -> Self {
        Self { roles: ProcessRole::ALL.into(), stages: StageName::ALL.into() }
    }
}

impl ProcessRoles {
    /// Opens the bus as these roles need it, with the consumers of all stages. A process that only
    /// serves REST calls and searches attaches beside the one that owns the embedded bus.
    pub(super) async fn bus(&self, config: &Config, clock: SharedClock) -> anyhow::Result<Bus> {
        let beside =
            self.roles.iter().all(|role| matches!(role, ProcessRole::Api | ProcessRole::Search));
        if matches!(config.bus, BusKind::Embedded) && beside {
            return attach_bus(config, clock).await;
        }
        let bus = open_bus(config, clock).await?;
        for stage in StageName::ALL {
            let ensured = bus.ensure(&stage.consumer(config.workers.lease)).await;
            ensured.with_context(|| no_bus(config))?;
        }
        Ok(bus)
    }
}
