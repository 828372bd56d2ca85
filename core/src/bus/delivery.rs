//! What a consumer is given: leased messages, and what may be done with each.

use std::time::Duration;

use bytes::Bytes;

use super::{BusError, embedded, nats, noted};
use crate::outage::Work;
use crate::time::Timestamp;

/// One process' end of a consumer.
#[derive(Debug)]
pub enum Consumer {
    /// Of the embedded bus.
    Embedded(embedded::EmbeddedConsumer),
    /// Of JetStream.
    Nats(Box<nats::NatsConsumer>),
}

impl Consumer {
    /// Leases up to `max` messages. Returns at once when there are any, and empty after `wait`
    /// when there are none.
    ///
    /// # Errors
    /// When the bus cannot be reached.
    pub async fn fetch(&mut self, max: usize, wait: Duration) -> Result<Vec<Delivery>, BusError> {
        match self {
            Self::Embedded(consumer) => consumer.fetch(max, wait).await,
            // Boxed like every large future of the NATS client, so that stages stay small.
            Self::Nats(consumer) => {
                let fetched = Box::pin(consumer.fetch(max, wait)).await;
                noted(consumer.availability(), Work::Reading, fetched)
            }
        }
    }
}

/// A leased message. Exactly one of [`Delivery::ack`], [`Delivery::retry`] and
/// [`Delivery::bury`] ends the lease; dropped without any, it is delivered again when the lease
/// runs out.
#[derive(Debug)]
pub struct Delivery {
    /// Its subject.
    pub subject: String,
    /// Its de-duplication id.
    pub id: String,
    /// What was published.
    pub payload: Bytes,
    /// How often it was delivered to this consumer, this time included; from 1.
    pub attempt: u32,
    /// When it was published.
    pub published_at: Timestamp,
    pub(crate) lease: Lease,
}

/// The adapter's side of a [`Delivery`].
#[derive(Debug)]
pub(crate) enum Lease {
    Embedded(embedded::EmbeddedLease),
    Nats(Box<nats::NatsLease>),
}

impl Delivery {
    /// Done: never deliver it again to this consumer.
    ///
    /// # Errors
    /// When the bus cannot be reached; the message is then delivered again.
    pub async fn ack(self) -> Result<(), BusError> {
        match self.lease {
            Lease::Embedded(lease) => lease.ack(),
            Lease::Nats(lease) => lease.ack().await,
        }
    }

    /// Deliver it again after `after`.
    ///
    /// # Errors
    /// When the bus cannot be reached; the message is then delivered again after its lease.
    pub async fn retry(self, after: Duration) -> Result<(), BusError> {
        match self.lease {
            Lease::Embedded(lease) => lease.retry(after).await,
            Lease::Nats(lease) => lease.retry(after).await,
        }
    }

    /// Moves it to the dead letters with the reason (no message text in it).
    ///
    /// # Errors
    /// When the bus cannot be reached; the message is then delivered again.
    pub async fn bury(self, reason: &str) -> Result<(), BusError> {
        let Self { subject, id, payload, attempt, lease, .. } = self;
        let letter = Burial { subject, message_id: id, payload, attempts: attempt, reason };
        match lease {
            Lease::Embedded(lease) => lease.bury(letter).await,
            Lease::Nats(lease) => Box::pin(lease.bury(letter)).await,
        }
    }

    /// Extends the lease: the work goes on.
    ///
    /// # Errors
    /// When the bus cannot be reached.
    pub async fn progress(&self) -> Result<(), BusError> {
        match &self.lease {
            Lease::Embedded(lease) => lease.progress(),
            Lease::Nats(lease) => lease.progress().await,
        }
    }
}

/// What [`Delivery::bury`] hands to the adapter.
#[derive(Debug)]
pub(crate) struct Burial<'a> {
    pub(crate) subject: String,
    pub(crate) message_id: String,
    pub(crate) payload: Bytes,
    pub(crate) attempts: u32,
    pub(crate) reason: &'a str,
}
