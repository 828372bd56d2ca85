//! Durable consumers of the bus, and its owner.

use async_recursion::async_recursion as boxed;
use chatkeep_bus::{Bus, BusError, BusOwner, ConsumerStatus};

use super::operator::Operator;

/// Durable consumers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ConsumerService {
    bus: Bus,
}

impl ConsumerService {
    /// Creates the service; commands have it without the others.
    pub const fn new(bus: Bus) -> Self {
        Self { bus }
    }

    /// Returns every durable consumer.
    ///
    /// # Errors
    /// Returns an error when the bus fails.
    #[boxed]
    pub async fn list(&self, _: &Operator) -> Result<Vec<ConsumerStatus>, BusError> {
        self.bus.consumers().await
    }

    /// Removes a durable consumer with all messages that only it had yet to handle; `false` for an
    /// unknown one.
    ///
    /// # Errors
    /// Returns an error when the bus fails.
    #[boxed]
    pub async fn remove(&self, _: &Operator, name: &str) -> Result<bool, BusError> {
        self.bus.remove_consumer(name).await
    }

    /// Gives the bus to the processes of a database, whoever has it.
    ///
    /// # Errors
    /// Returns an error when the bus fails.
    #[boxed]
    pub async fn adopt<'s>(&'s self, _: &'s Operator, owner: &'s BusOwner) -> Result<(), BusError> {
        self.bus.adopt(owner).await
    }
}
