//! Pubsub: light messages beside the durable streams, for content that expires within moments.
//!
//! A broadcast reaches every current subscriber, in every process; a request is served by one of
//! the current servers. Nothing is stored, repeated or confirmed: an absent process misses it. On
//! the embedded bus all of it stays in the process; on NATS it is plain publish and request, under
//! subjects of its own.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Subscriber;
use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use chatkeep_core::panics;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tracing::{debug, warn};

use super::nats::{NatsBus, NatsReply, Requests};
use super::{Bus, BusError, subject};

/// Maximum size of a pubsub message, in bytes: the default limit of every NATS server, with room
/// for headers.
pub const MAX_PUBSUB_BYTES: usize = 900_000;

/// Number of requests that may wait for each one being served; one more is refused at once, for its
/// reply would come too late.
const WAITING: usize = 16;

/// Timeout for requests already on their way when serving ends.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

impl Bus {
    /// Broadcasts to all subscribers of `topic`, in every process, this one included.
    ///
    /// # Errors
    /// [`BusError::TooLarge`] for more than [`MAX_PUBSUB_BYTES`] bytes, [`BusError::Unavailable`]
    /// when the bus cannot be reached. Success does not mean that there was a subscriber.
    #[boxed]
    pub async fn broadcast(&self, topic: &'static str, message: Bytes) -> Result<(), BusError> {
        check(topic, &message)?;
        match self {
            Self::Embedded(bus) => bus.broadcast(topic, message),
            Self::Nats(bus) => bus.broadcast(topic, message).await,
        }
    }

    /// Subscribes to everything broadcast on `topic` from now on, over outages of the bus.
    ///
    /// # Errors
    /// [`BusError::Unavailable`] when the bus is closed.
    #[boxed]
    pub async fn subscribe(&self, topic: &'static str) -> Result<TopicSubscriber, BusError> {
        check(topic, &[])?;
        Ok(TopicSubscriber(match self {
            Self::Embedded(bus) => SubscriberSource::Embedded(bus.subscribe(topic)?),
            Self::Nats(bus) => SubscriberSource::Nats(bus.subscribe(topic).await?),
        }))
    }

    /// Sends a request to one of the servers of `topic`, in any process.
    ///
    /// # Errors
    /// [`BusError::NoResponder`] when there is none, [`BusError::RequestTimeout`] when no reply
    /// came within `timeout`, [`BusError::TooLarge`] when request or reply have more than
    /// [`MAX_PUBSUB_BYTES`] bytes, [`BusError::Unavailable`] when the bus cannot be reached or all
    /// servers are busy.
    #[boxed]
    pub async fn request(
        &self,
        topic: &'static str,
        request: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, BusError> {
        check(topic, &request)?;
        match self {
            Self::Embedded(bus) => bus.request(topic, request, timeout).await,
            Self::Nats(bus) => Box::pin(bus.request(topic, request, timeout)).await,
        }
    }

    /// Sends a request to all servers of `topic`, in every process: for a caller to whom one of them did
    /// not reply.
    ///
    /// # Errors
    /// [`BusError::NoResponder`] when there is no server, which on NATS is the one reply instead;
    /// [`BusError::TooLarge`] for more than [`MAX_PUBSUB_BYTES`] bytes, [`BusError::Unavailable`] when
    /// the bus cannot be reached.
    #[boxed]
    pub async fn request_all(
        &self,
        topic: &'static str,
        request: Bytes,
        timeout: Duration,
    ) -> Result<Replies, BusError> {
        check(topic, &request)?;
        let until = Instant::now() + timeout;
        let source = match self {
            Self::Embedded(bus) => ReplySource::Embedded(bus.request_all(topic, &request, until)?),
            Self::Nats(bus) => ReplySource::Nats(bus.request_all(topic, request, timeout).await?),
        };
        Ok(Replies { topic, until, source })
    }

    /// Prepares to serve `topic`, `at_once` requests at a time; all servers of a topic share its
    /// requests. Requests come from now on and are served by [`Responder::run`].
    ///
    /// # Errors
    /// [`BusError::Unavailable`] when the bus is closed.
    pub async fn serve<H, F>(
        &self,
        topic: &'static str,
        at_once: usize,
        handler: H,
    ) -> Result<Responder<H>, BusError>
    where
        H: Fn(Bytes) -> F + Send + Sync + 'static,
        F: Future<Output = Bytes> + Send + 'static,
    {
        check(topic, &[])?;
        let requests = match self {
            Self::Embedded(bus) => RequestSource::Embedded(bus.serve(topic)?),
            Self::Nats(bus) => RequestSource::Nats(bus.serve(topic).await?, bus.clone()),
        };
        Ok(Responder { topic, requests, at_once: at_once.max(1), handler: Arc::new(handler) })
    }
}

/// Refuses what NATS would refuse, on both adapters alike.
fn check(topic: &'static str, message: &[u8]) -> Result<(), BusError> {
    if !subject::is_token(topic) {
        return Err(BusError::Config(format!("{topic:?} is not a valid topic")));
    }
    if message.len() > MAX_PUBSUB_BYTES { Err(BusError::TooLarge(topic)) } else { Ok(()) }
}

/// Subscription to a topic.
#[derive(Debug)]
pub struct TopicSubscriber(SubscriberSource);

#[derive(Debug)]
enum SubscriberSource {
    Embedded(broadcast::Receiver<Bytes>),
    Nats(Subscriber),
}

impl TopicSubscriber {
    /// Returns the next message; `None` when the bus is closed. A subscriber that falls far behind
    /// misses some. Cancelling the wait loses nothing.
    #[boxed]
    pub async fn next(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            SubscriberSource::Embedded(subscription) => loop {
                match subscription.recv().await {
                    Ok(message) => return Some(message),
                    Err(broadcast::error::RecvError::Lagged(missed)) => {
                        debug!(missed, "a subscriber fell behind");
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                }
            },
            SubscriberSource::Nats(subscription) => {
                subscription.next().await.map(|message| message.payload)
            }
        }
    }
}

/// Replies of the servers of a topic to one request.
#[derive(Debug)]
pub struct Replies {
    topic: &'static str,
    until: Instant,
    source: ReplySource,
}

#[derive(Debug)]
enum ReplySource {
    Embedded(FuturesUnordered<oneshot::Receiver<Result<Bytes, RequestRefused>>>),
    Nats(Subscriber),
}

impl Replies {
    /// Returns the next reply, or why a server gives none; `None` when the time is over, or when none
    /// is left to reply. On NATS the number of servers is not known, so that the time has to pass.
    #[boxed]
    pub async fn next(&mut self) -> Option<Result<Bytes, BusError>> {
        let topic = self.topic;
        match &mut self.source {
            ReplySource::Embedded(replies) => loop {
                // An error is a request that was dropped without a reply.
                if let Ok(reply) = timeout_at(self.until, replies.next()).await.ok()?? {
                    return Some(reply.map_err(|refused| refused.error(topic)));
                }
            },
            ReplySource::Nats(replies) => {
                let reply = timeout_at(self.until, replies.next()).await.ok()??;
                Some(NatsBus::reply(reply, topic))
            }
        }
    }
}

/// Server of a topic, ready to [`run`](Responder::run).
pub struct Responder<H> {
    topic: &'static str,
    requests: RequestSource,
    at_once: usize,
    handler: Arc<H>,
}

impl<H> fmt::Debug for Responder<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl<H, F> Responder<H>
where
    H: Fn(Bytes) -> F + Send + Sync + 'static,
    F: Future<Output = Bytes> + Send + 'static,
{
    /// Serves until `stop` is done or the bus is closed, and then the requests made before.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let permits = Arc::new(Semaphore::new(self.at_once));
        let mut running = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                request = self.requests.next() => match request {
                    Some(request) => self.start(request, &permits, &mut running).await,
                    None => break,
                },
                Some(_) = running.join_next() => {}
            }
        }
        self.requests.end().await;
        // An unreachable server says nothing about requests still on their way.
        let rest = async {
            while let Some(request) = self.requests.next().await {
                self.start(request, &permits, &mut running).await;
            }
        };
        timeout(DRAIN_TIMEOUT, rest).await.ok();
        while running.join_next().await.is_some() {}
    }

    async fn start(
        &self,
        request: PendingRequest,
        permits: &Arc<Semaphore>,
        running: &mut JoinSet<()>,
    ) {
        if running.len() >= self.at_once.saturating_mul(WAITING + 1) {
            warn!(topic = self.topic, "a request was rejected: too many are pending");
            request.reply.send(Err(RequestRefused::Busy)).await;
            return;
        }
        let (permits, handler) = (Arc::clone(permits), Arc::clone(&self.handler));
        let topic = self.topic;
        running.spawn(async move {
            // Later, nobody waits for the reply.
            let Ok(Ok(_permit)) = timeout_at(request.until, permits.acquire()).await else {
                return;
            };
            let replied = panics::catch(topic, async { handler(request.payload).await }).await;
            let reply = match replied {
                Ok(reply) if reply.len() <= MAX_PUBSUB_BYTES => Ok(reply),
                Ok(_) => Err(RequestRefused::TooLarge),
                // Another server of the topic may do better.
                Err(_panicked) => Err(RequestRefused::Busy),
            };
            request.reply.send(reply).await;
        });
    }
}

/// Source of requests.
enum RequestSource {
    Embedded(mpsc::Receiver<PendingRequest>),
    Nats(Requests, NatsBus),
}

impl RequestSource {
    async fn next(&mut self) -> Option<PendingRequest> {
        match self {
            Self::Embedded(requests) => requests.recv().await,
            Self::Nats(requests, bus) => requests.next().await.map(|message| bus.pending(message)),
        }
    }

    /// Stops taking new requests; those on their way still come.
    async fn end(&mut self) {
        match self {
            Self::Embedded(requests) => requests.close(),
            Self::Nats(requests, _) => {
                let (one, all) = requests.get_mut();
                drop(one.drain().await);
                drop(all.drain().await);
            }
        }
    }
}

/// Request on its way to its reply.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) payload: Bytes,
    /// Deadline of the caller.
    pub(super) until: Instant,
    pub(super) reply: ReplyHandle,
}

/// Reason for refusing a received request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestRefused {
    Busy,
    TooLarge,
}

impl RequestRefused {
    pub(super) fn error(self, topic: &'static str) -> BusError {
        match self {
            Self::Busy => BusError::Unavailable(format!("the server of topic {topic} is busy")),
            Self::TooLarge => BusError::TooLarge(topic),
        }
    }
}

/// Reply channel of a request.
#[derive(Debug)]
pub(super) enum ReplyHandle {
    Embedded(oneshot::Sender<Result<Bytes, RequestRefused>>),
    Nats(NatsReply),
}

impl ReplyHandle {
    async fn send(self, reply: Result<Bytes, RequestRefused>) {
        match self {
            // An error means that nobody waits any more.
            Self::Embedded(caller) => drop(caller.send(reply)),
            Self::Nats(caller) => caller.send(reply).await,
        }
    }
}
