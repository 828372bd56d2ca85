//! Durable consumers of either adapter.

use async_recursion::async_recursion as boxed;
use chatkeep_core::outage::Work;

use crate::{Bus, BusError, Consumer, ConsumerSpec, ConsumerStatus, noted, on};

impl Bus {
    /// Ensures that the consumer exists, so that it sees everything published from now on.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn ensure(&self, spec: &ConsumerSpec) -> Result<(), BusError> {
        on!(self, bus => bus.ensure(spec).await)
    }

    /// Joins a consumer; all processes of a stage share its messages.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn consume(&self, spec: &ConsumerSpec) -> Result<Consumer, BusError> {
        let joined = match self {
            Self::Embedded(bus) => bus.consume(spec).await.map(Consumer::Embedded),
            Self::Nats(bus) => bus.consume(spec).await.map(|bus| Consumer::Nats(Box::new(bus))),
        };
        noted(self.availability(), Work::Reading, joined)
    }

    /// Counts the unfinished messages of a consumer (waiting, leased and delayed).
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn backlog(&self, spec: &ConsumerSpec) -> Result<u64, BusError> {
        on!(self, bus => bus.backlog(spec).await)
    }

    /// Returns every durable consumer of the two streams, also those that no version or process of
    /// today serves. Their unfinished messages are retained and count against the limit of the
    /// backlog.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn consumers(&self) -> Result<Vec<ConsumerStatus>, BusError> {
        on!(self, bus => bus.consumers().await)
    }

    /// Deletes a durable consumer with everything that only it had yet to finish. `false` when
    /// there is none of that name. The embedded bus must have been opened for serving.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn remove_consumer(&self, name: &str) -> Result<bool, BusError> {
        on!(self, bus => bus.remove_consumer(name).await)
    }
}
