//! What a process is there for: its roles, and the stages that it runs.

use std::collections::BTreeSet;

use chatkeep_core::bus::Bus;
use chatkeep_core::config::{BusKind, Config};
use chatkeep_core::time::SharedClock;
use chatkeep_workers::StageName;

use super::{attach_bus, open_bus};

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
    pub(super) async fn bus(&self, config: &Config, clock: SharedClock) -> anyhow::Result<Bus> {
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
