//! JetStream consumer: pull requests on one inbox, and settlement of deliveries.

use std::fmt;
use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::consumer::pull::BatchConfig;
use async_nats::jetstream::{AckKind, Context, Message};
use async_nats::{StatusCode, Subject, Subscriber};
use chatkeep_core::outage::Availability;
use chatkeep_core::time::Timestamp;
use chatkeep_core::trace::{self, TraceContext};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::{Instant, timeout_at};

use super::{ID, NatsBus, ONLY, disconnected, unavailable};
use crate::delivery::FETCH_BYTES;
use crate::{BusError, DeadLetterRequest, Delivery, Lease};

/// Extra time beyond the server's timeout that a fetch waits for the end of its request.
const GRACE: Duration = Duration::from_millis(500);

/// Idle time after which a fetch with messages returns them.
const IDLE_TIMEOUT: Duration = Duration::from_millis(20);

/// Minimum timeout of a request.
const MIN_TIMEOUT: Duration = Duration::from_millis(5);

/// One member of a durable consumer; members of the same name share its messages.
pub struct NatsConsumer {
    bus: NatsBus,
    name: &'static str,
    consumer: PullConsumer,
    inbox: Subscriber,
    reply: Subject,
    request: Option<Request>,
    /// Lent to each message while its headers are read: a clone takes as long as all the rest.
    context: Option<Context>,
}

/// Pull request that the server has not ended yet. It outlives a cancelled fetch, so that its
/// messages reach the next one instead of waiting for their leases to expire.
#[derive(Debug)]
struct Request {
    left: usize,
    ends: Instant,
}

/// Message received on the inbox.
enum Incoming {
    Delivery(Delivery),
    /// For another consumer.
    Foreign,
    /// The request has ended.
    End,
    /// The next message has more bytes than the rest of the request allows.
    Long,
    /// The maximum number of messages is leased.
    Saturated,
    /// The server has no such consumer.
    NoConsumer,
}

/// Lease of one delivery.
pub struct NatsLease {
    bus: NatsBus,
    consumer: &'static str,
    /// Subject of its acknowledgements.
    reply: Subject,
    /// Position of the message in its stream.
    sequence: u64,
    /// Time of publishing, in nanoseconds since 1970.
    published: i128,
}

impl fmt::Debug for NatsConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsConsumer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for NatsLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsLease").field("consumer", &self.consumer).finish_non_exhaustive()
    }
}

impl NatsConsumer {
    pub(super) async fn new(
        bus: NatsBus,
        name: &'static str,
        consumer: PullConsumer,
    ) -> Result<Self, BusError> {
        let reply = Subject::from(bus.inner.client.new_inbox());
        let inbox = bus.inner.client.subscribe(reply.clone()).await;
        let inbox = inbox.map_err(|error| unavailable(&error))?;
        Ok(Self { bus, name, consumer, inbox, reply, request: None, context: None })
    }

    pub(crate) fn availability(&self) -> &Availability {
        self.bus.availability()
    }

    pub(crate) async fn fetch(
        &mut self,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, BusError> {
        let deadline = Instant::now() + wait.max(MIN_TIMEOUT);
        let mut deliveries = Vec::new();
        while deliveries.len() < max {
            self.bus.check()?;
            let now = Instant::now();
            self.request.take_if(|request| request.ends <= now);
            if self.request.is_none() {
                if !deliveries.is_empty() || now >= deadline {
                    break;
                }
                self.request_batch(max, deadline - now, false).await?;
            }
            let until = if deliveries.is_empty() { deadline + GRACE } else { now + IDLE_TIMEOUT };
            match self.next(until).await? {
                Some(Incoming::Delivery(delivery)) => deliveries.push(delivery),
                Some(Incoming::Foreign | Incoming::End) => {}
                // Leases must end first: the one request that the server keeps open until then.
                Some(Incoming::Saturated) if deliveries.is_empty() => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left < MIN_TIMEOUT {
                        break;
                    }
                    self.request_batch(1, left, true).await?;
                }
                // Longer than all that a fetch may lease: it comes alone.
                Some(Incoming::Long) if deliveries.is_empty() => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    self.request_batch(1, left, false).await?;
                }
                Some(Incoming::NoConsumer) => self.bus.set_up_again().await?,
                // Not even the end of the request: the consumer may no longer exist.
                None if deliveries.is_empty() => {
                    self.request = None;
                    if self.bus.has_consumer(&self.consumer).await? {
                        break;
                    }
                    self.bus.set_up_again().await?;
                }
                Some(Incoming::Saturated | Incoming::Long) | None => break,
            }
        }
        Ok(deliveries)
    }

    /// Sends a pull request. The server responds at once with what is available, or with the first
    /// message to come; one that `stays` is also kept open while too many messages are leased.
    async fn request_batch(
        &mut self,
        max: usize,
        wait: Duration,
        stays: bool,
    ) -> Result<(), BusError> {
        let wait = wait.max(MIN_TIMEOUT);
        let request = BatchConfig {
            batch: max,
            // One message is leased whatever its size, or it would hold up all that follow.
            max_bytes: if max == 1 { 0 } else { FETCH_BYTES },
            expires: Some(wait),
            no_wait: !stays,
            ..BatchConfig::default()
        };
        let sent = self.consumer.request_batch(request, self.reply.clone()).await;
        sent.map_err(|error| unavailable(&error))?;
        self.request = Some(Request { left: max, ends: Instant::now() + wait + GRACE });
        Ok(())
    }

    /// Returns the next message of the inbox, or `None` when none came in time.
    async fn next(&mut self, until: Instant) -> Result<Option<Incoming>, BusError> {
        // Most messages have come already: they wait for nothing.
        let message = match self.inbox.next().now_or_never() {
            Some(message) => message,
            None => match self.wait(until).await? {
                Some(message) => message,
                None => return Ok(None),
            },
        };
        let Some(message) = message else {
            return Err(BusError::Unavailable("the bus is closed".into()));
        };
        match message.status {
            None | Some(StatusCode::OK) => {
                self.request.take_if(|request| {
                    request.left = request.left.saturating_sub(1);
                    request.left == 0
                });
                self.delivery(message).await.map(Some)
            }
            Some(StatusCode::IDLE_HEARTBEAT) => Ok(Some(Incoming::Foreign)),
            Some(status) => {
                self.request = None;
                let description = message.description.as_deref().unwrap_or_default();
                Ok(Some(match status {
                    StatusCode::NO_RESPONDERS => Incoming::NoConsumer,
                    _ if description.contains("Consumer Deleted") => Incoming::NoConsumer,
                    _ if description.contains("MaxAckPending") => Incoming::Saturated,
                    _ if description.contains("MaxBytes") => Incoming::Long,
                    _ => Incoming::End,
                }))
            }
        }
    }

    /// Waits for the end of the inbox or for its next message; `None` when neither came in time.
    async fn wait(
        &mut self,
        until: Instant,
    ) -> Result<Option<Option<async_nats::Message>>, BusError> {
        let mut connected = self.bus.inner.connected.clone();
        tokio::select! {
            biased;
            message = timeout_at(until, self.inbox.next()) => Ok(message.ok()),
            _ = connected.wait_for(|connected| !connected) => {
                // The server has dropped the request.
                self.request = None;
                Err(disconnected())
            }
        }
    }

    async fn delivery(&mut self, message: async_nats::Message) -> Result<Incoming, BusError> {
        let context = self.context.take();
        let context = context.unwrap_or_else(|| self.bus.inner.context.clone());
        let message = Message { message, context };
        let header = |name| message.headers.as_ref().and_then(|headers| headers.get(name));
        if header(ONLY).is_some_and(|only| only.as_str() != self.name) {
            message.ack().await.map_err(|error| unavailable(error.as_ref()))?;
            return Ok(Incoming::Foreign);
        }
        let id = header(ID).or_else(|| header(NATS_MESSAGE_ID.as_ref()));
        let id = id.map_or_else(String::new, ToString::to_string);
        let trace = header(trace::HEADER).and_then(|header| TraceContext::parse(header.as_str()));
        let info = message.info().map_err(|error| unavailable(error.as_ref()))?;
        let attempt = u32::try_from(info.delivered).unwrap_or(1);
        let (sequence, published) = (info.stream_sequence, info.published.unix_timestamp_nanos());
        let published_at = i64::try_from(published / 1_000_000).unwrap_or(0);
        let Message { message, context } = message;
        self.context = Some(context);
        let no_reply = || BusError::Unavailable("a message has no subject of its own".into());
        let reply = message.reply.ok_or_else(no_reply)?;
        let (bus, consumer) = (self.bus.clone(), self.name);
        Ok(Incoming::Delivery(Delivery {
            subject: message.subject.to_string(),
            id,
            payload: message.payload,
            attempt,
            published_at: Timestamp::from_millis(published_at),
            trace,
            lease: Lease::Nats(NatsLease { bus, consumer, reply, sequence, published }),
        }))
    }
}

impl NatsLease {
    pub(crate) async fn ack(self) -> Result<(), BusError> {
        self.end(AckKind::Ack).await
    }

    pub(crate) async fn retry(self, after: Duration) -> Result<(), BusError> {
        self.end(AckKind::Nak(Some(after))).await
    }

    pub(crate) async fn dead_letter(self, letter: DeadLetterRequest<'_>) -> Result<(), BusError> {
        let key = format!("{} {} {}", self.consumer, self.sequence, self.published);
        self.bus.add_dead(self.consumer, &key, &letter).await?;
        self.end(AckKind::Ack).await
    }

    pub(crate) async fn progress(&self) -> Result<(), BusError> {
        self.end(AckKind::Progress).await
    }

    async fn end(&self, kind: AckKind) -> Result<(), BusError> {
        self.bus.check()?;
        let sent = self.bus.inner.client.publish(self.reply.clone(), kind.into()).await;
        sent.map_err(|error| unavailable(&error))
    }
}
