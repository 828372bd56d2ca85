//! Bus port: makes an event durable before its webhook is confirmed.
//!
//! Two adapters with one behaviour (docs/architecture.md#rule-7): [`embedded`] stores everything in
//! one SQLite file, [`nats`] uses JetStream. Both publish durably and de-duplicate by message id,
//! lease messages to consumers, redeliver unacknowledged ones, retain dead letters, and refuse new
//! messages when the backlog is full instead of losing old ones. [`pubsub`] adds light pubsub.

mod consumers;
mod dead_letters;
mod delivery;
pub mod embedded;
mod error;
mod fault;
pub mod nats;
mod owner;
pub mod pubsub;
mod subject;
mod traced;

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_core::causes::with_causes;
use chatkeep_core::outage::{Availability, Work};
use chatkeep_core::time::Timestamp;
use chatkeep_core::trace::TraceContext;
use serde::Serialize;

pub use self::delivery::{Consumer, Delivery};
pub(crate) use self::delivery::{DeadLetterRequest, Lease};
pub use self::error::BusError;
pub use self::owner::BusOwner;
pub use self::pubsub::{Responder, TopicSubscriber};
use crate::fault::outage_of;

/// Streams of chatkeep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Platform events. Every consumer sees every message.
    Events,
    /// Follow-up work, such as downloads of media. Each message is for the one consumer of its subject.
    Jobs,
}

impl Stream {
    /// Every stream, in the order of [`Stream::index`].
    pub(crate) const ALL: [Self; 2] = [Self::Events, Self::Jobs];

    /// Place of the stream in arrays by stream.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Events => 0,
            Self::Jobs => 1,
        }
    }

    /// Name of the stream on JetStream, and its key in the embedded bus.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Events => "EVENTS",
            Self::Jobs => "JOBS",
        }
    }

    /// First token of every subject of this stream.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Events => "event",
            Self::Jobs => "job",
        }
    }
}

/// Message to publish.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// `event.<platform>.<shard>` or `job.<queue>.<shard>`.
    pub subject: String,
    /// De-duplication key: a second message with this id inside the window is dropped.
    pub id: String,
    /// Payload for the consumer; JSON in UTF-8.
    pub payload: Bytes,
    /// Trace that its handling continues; `None` for the one that it is published in.
    pub trace: Option<TraceContext>,
}

/// Fixed properties of a consumer. The name is durable: its position outlives the process.
#[derive(Clone, Debug)]
pub struct ConsumerSpec {
    /// Durable name: the stage's name (`backup`, `assistant`, …).
    pub name: &'static str,
    /// Stream that it reads.
    pub stream: Stream,
    /// Queue of [`Stream::Jobs`] (second token of the subject) that it reads. `None`: everything.
    pub queue: Option<&'static str>,
    /// Duration of a lease; then the message is delivered again.
    pub lease: Duration,
    /// Maximum number of messages leased at once, over all processes.
    pub max_in_flight: u32,
}

/// Identity of a bus and its progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusState {
    /// Identity: processes with the same one share its messages.
    pub identity: String,
    /// Sequence number of the last accepted event. It never falls, unless the bus lost events.
    pub last_sequence: u64,
}

/// State of a durable consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsumerStatus {
    /// Durable name.
    pub name: String,
    /// Stream that it reads.
    pub stream: &'static str,
    /// Number of unfinished messages (waiting, leased and delayed).
    pub backlog: u64,
    /// Age in seconds of the oldest unfinished message; `None` without one.
    pub oldest_seconds: Option<u64>,
    /// Seconds since the last delivery; `None` if never, or not known.
    pub idle_seconds: Option<u64>,
}

/// Limits of the backlog and of de-duplication.
#[derive(Clone, Debug)]
pub struct BusLimits {
    /// Maximum number of messages not yet handled by every consumer; one more is refused with
    /// [`BusError::Full`].
    pub max_backlog: u64,
    /// Window in which a message id is remembered for de-duplication.
    pub dedupe_window: Duration,
}

impl Default for BusLimits {
    fn default() -> Self {
        Self { max_backlog: 2_000_000, dedupe_window: Duration::from_mins(10) }
    }
}

/// Message that no handler could process, retained until someone decides (`chatkeep dead`).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// Identifier of the dead letter, for `show`, `retry` and `drop`.
    pub id: String,
    /// Consumer that gave up on the message.
    pub consumer: String,
    /// Subject of the message.
    pub subject: String,
    /// De-duplication id of the message (the webhook event id for events).
    pub message_id: String,
    /// Reason for giving up. Never contains message text.
    pub reason: String,
    /// Number of deliveries.
    pub attempts: u32,
    /// Time of giving up.
    pub died_at: Timestamp,
    /// Payload of the message.
    #[serde(skip)]
    pub payload: Bytes,
}

/// Bus with one of the two adapters. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Bus {
    /// One SQLite file, one process.
    Embedded(embedded::EmbeddedBus),
    /// NATS JetStream, many processes.
    Nats(nats::NatsBus),
}

/// Runs something on either adapter and notes what became of it.
macro_rules! on {
    ($bus:expr, $inner:ident => $body:expr) => {{
        let done = match $bus {
            Bus::Embedded($inner) => $body,
            Bus::Nats($inner) => $body,
        };
        noted($bus.availability(), Work::Reading, done)
    }};
}

use on;

/// Notes what became of `work` on the bus, and hands it on.
fn noted<T>(
    availability: &Availability,
    work: Work,
    done: Result<T, BusError>,
) -> Result<T, BusError> {
    match &done {
        Ok(_) => availability.works(work),
        Err(BusError::Unavailable(why)) => availability.fails(Work::Reading, why),
        Err(error @ BusError::Foreign(_)) => {
            availability.fails(Work::Reading, &error.to_string());
        }
        Err(error @ (BusError::Full { .. } | BusError::NotStored(_))) => {
            availability.fails(Work::Writing, &error.to_string());
        }
        Err(BusError::Storage(error)) => {
            if let Some(work) = outage_of(error) {
                availability.fails(work, &with_causes(error));
            }
        }
        Err(_) => {}
    }
    done
}

impl Bus {
    /// Publishes all messages; when this returns, every one of them is durable.
    ///
    /// # Errors
    /// [`BusError::Full`] or [`BusError::Unavailable`]; some of the messages may be published
    /// then, and publishing all of them again is harmless inside the de-duplication window.
    /// [`BusError::MessageTooLarge`], and then usually none is published.
    #[boxed]
    pub async fn publish(&self, messages: Vec<Outgoing>) -> Result<(), BusError> {
        let done = match traced::publish_span(self.system(), &messages) {
            // Boxed, so that publishing without traces stays small.
            Some(span) => {
                Box::pin(traced::publish(span, messages, |messages| self.send(messages))).await
            }
            None => self.send(messages).await,
        };
        noted(self.availability(), Work::Writing, done)
    }

    async fn send(&self, messages: Vec<Outgoing>) -> Result<(), BusError> {
        match self {
            Self::Embedded(bus) => bus.publish(messages).await,
            Self::Nats(bus) => bus.publish(messages).await,
        }
    }

    /// Returns the name of the messaging system in traces.
    pub const fn system(&self) -> &'static str {
        match self {
            Self::Embedded(_) => "embedded",
            Self::Nats(_) => "nats",
        }
    }

    /// The availability of the bus.
    pub fn availability(&self) -> &Availability {
        match self {
            Self::Embedded(bus) => bus.availability(),
            Self::Nats(bus) => bus.availability(),
        }
    }

    /// Returns the time for which the write-ahead log of the embedded bus' file could not be
    /// emptied, so that it may hold messages which were handled; `None` while it can, and for NATS.
    pub fn checkpoint_overdue(&self) -> Option<Duration> {
        match self {
            Self::Embedded(bus) => bus.checkpoint_overdue(),
            Self::Nats(_) => None,
        }
    }

    /// Makes new connections to NATS with the credentials of these addresses, which name the same
    /// servers; one that is open keeps its own. Does nothing for the embedded bus.
    ///
    /// # Errors
    /// [`BusError::Config`] for an invalid address.
    pub fn replace_credentials(&self, servers: &str) -> Result<(), BusError> {
        match self {
            Self::Embedded(_) => Ok(()),
            Self::Nats(bus) => bus.replace_credentials(servers),
        }
    }

    /// Checks that the bus takes messages right now.
    ///
    /// # Errors
    /// Fails with the reason why it does not.
    #[boxed]
    pub async fn ready(&self) -> Result<(), BusError> {
        on!(self, bus => bus.ready().await)
    }

    /// Returns the identity of the bus and how far it has come.
    ///
    /// # Errors
    /// Returns an error when the bus cannot be reached.
    #[boxed]
    pub async fn state(&self) -> Result<BusState, BusError> {
        match self {
            Self::Embedded(bus) => Ok(bus.bus_state()),
            Self::Nats(bus) => bus.bus_state().await,
        }
    }

    /// Claims the bus for the processes of a database, which the first one does that comes. The embedded
    /// bus is that of its process alone.
    ///
    /// # Errors
    /// [`BusError::Foreign`] when its events belong to another database, and this process publishes and
    /// gets none until a further claim succeeds; or an error when it cannot be reached.
    #[boxed]
    pub async fn claim(&self, owner: &BusOwner) -> Result<(), BusError> {
        match self {
            Self::Embedded(_) => Ok(()),
            Self::Nats(bus) => bus.claim(owner).await,
        }
    }

    /// Gives the bus to the processes of a database, whoever has it.
    ///
    /// # Errors
    /// Returns an error when it cannot be reached.
    #[boxed]
    pub async fn adopt(&self, owner: &BusOwner) -> Result<(), BusError> {
        match self {
            Self::Embedded(_) => Ok(()),
            Self::Nats(bus) => bus.adopt(owner).await,
        }
    }

    /// Writes pending changes and closes. Leased messages are delivered again after a restart.
    #[boxed]
    pub async fn close(&self) {
        self.availability().close();
        match self {
            Self::Embedded(bus) => bus.close().await,
            Self::Nats(bus) => bus.close().await,
        }
    }
}
