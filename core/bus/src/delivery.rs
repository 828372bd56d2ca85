//! The consuming side of the bus: consumers, leased messages and their settlement.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_core::outage::Work;
use chatkeep_core::time::Timestamp;
use chatkeep_core::trace::TraceContext;

use super::{BusError, embedded, nats, noted, traced};

/// Maximum size of the payloads that one fetch leases, in bytes; a longer message comes alone. They
/// take some ten times as much memory while they are decoded and stored.
pub(crate) const FETCH_BYTES: usize = 8 * 1024 * 1024;

/// One member of a durable consumer.
#[derive(Debug)]
pub enum Consumer {
    /// Consumer of the embedded bus.
    Embedded(embedded::EmbeddedConsumer),
    /// Consumer on JetStream.
    Nats(Box<nats::NatsConsumer>),
}

impl Consumer {
    /// Leases up to `max` messages, of some 8 MiB together: new ones beyond that are left to the next
    /// call. Returns at once when there are any, and an empty list after `wait` when there are none.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
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
/// [`Delivery::dead_letter`] ends the lease; dropped without any, it is delivered again when the
/// lease runs out.
#[derive(Debug)]
pub struct Delivery {
    /// Subject of the message.
    pub subject: String,
    /// De-duplication id of the message.
    pub id: String,
    /// Published payload.
    pub payload: Bytes,
    /// Number of deliveries to this consumer, this one included; from 1.
    pub attempt: u32,
    /// Time of publishing.
    pub published_at: Timestamp,
    /// Trace that its handling continues.
    pub trace: Option<TraceContext>,
    pub(crate) lease: Lease,
}

/// The adapter's side of a [`Delivery`].
#[derive(Debug)]
pub(crate) enum Lease {
    Embedded(embedded::EmbeddedLease),
    Nats(nats::NatsLease),
}

impl Delivery {
    /// Returns its destination in traces: the subject without its shard.
    pub fn destination(&self) -> &str {
        traced::template(&self.subject)
    }

    /// Acknowledges the message: it is never delivered to this consumer again.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached; the message is then delivered again.
    #[boxed]
    pub async fn ack(self) -> Result<(), BusError> {
        match self.lease {
            Lease::Embedded(lease) => lease.ack(),
            Lease::Nats(lease) => lease.ack().await,
        }
    }

    /// Requests redelivery after `after`.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached; the message is then redelivered after its
    /// lease.
    #[boxed]
    pub async fn retry(self, after: Duration) -> Result<(), BusError> {
        match self.lease {
            Lease::Embedded(lease) => lease.retry(after).await,
            Lease::Nats(lease) => lease.retry(after).await,
        }
    }

    /// Moves the message to the dead letters with the reason (no message text in it).
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached; the message is then delivered again.
    #[boxed]
    pub async fn dead_letter(self, reason: &str) -> Result<(), BusError> {
        let Self { subject, id, payload, attempt, lease, .. } = self;
        let letter =
            DeadLetterRequest { subject, message_id: id, payload, attempts: attempt, reason };
        match lease {
            Lease::Embedded(lease) => lease.dead_letter(letter).await,
            Lease::Nats(lease) => Box::pin(lease.dead_letter(letter)).await,
        }
    }

    /// Extends the lease while the work goes on.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn progress(&self) -> Result<(), BusError> {
        match &self.lease {
            Lease::Embedded(lease) => lease.progress(),
            Lease::Nats(lease) => lease.progress().await,
        }
    }
}

/// Dead letter that [`Delivery::dead_letter`] passes to the adapter.
#[derive(Debug)]
pub(crate) struct DeadLetterRequest<'a> {
    pub(crate) subject: String,
    pub(crate) message_id: String,
    pub(crate) payload: Bytes,
    pub(crate) attempts: u32,
    pub(crate) reason: &'a str,
}
