//! Pubsub inside the process: channels by topic.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::EmbeddedBus;
use crate::BusError;
use crate::pubsub::{PendingRequest, ReplyHandle, RequestRefused};

/// Number of messages that a subscriber may fall behind by.
const SUBSCRIBER_CAPACITY: usize = 1024;

/// Capacity of the queue of requests of one server.
const QUEUE: usize = 1024;

/// Reply of one server.
type Reply = oneshot::Receiver<Result<Bytes, RequestRefused>>;

/// Subscribers and servers by topic.
#[derive(Debug, Default)]
pub(super) struct PubSub(Mutex<Topics>);

#[derive(Debug, Default)]
struct Topics {
    subscribers: HashMap<&'static str, broadcast::Sender<Bytes>>,
    servers: HashMap<&'static str, VecDeque<mpsc::Sender<PendingRequest>>>,
}

impl PubSub {
    fn topics(&self) -> MutexGuard<'_, Topics> {
        // No step under this lock stops half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every subscription and every server.
    pub(super) fn close(&self) {
        *self.topics() = Topics::default();
    }
}

impl Topics {
    /// Dispatches a request to the next server that has room for it.
    fn dispatch(
        &mut self,
        topic: &'static str,
        mut request: PendingRequest,
    ) -> Result<(), BusError> {
        let servers = self.servers.entry(topic).or_default();
        for _ in 0..servers.len() {
            let Some(next) = servers.pop_front() else { break };
            match next.try_send(request) {
                Ok(()) => {
                    servers.push_back(next);
                    return Ok(());
                }
                Err(TrySendError::Full(back)) => {
                    servers.push_back(next);
                    request = back;
                }
                // Has stopped serving.
                Err(TrySendError::Closed(back)) => request = back,
            }
        }
        let is_unserved = servers.is_empty();
        Err(if is_unserved {
            BusError::NoResponder(topic)
        } else {
            RequestRefused::Busy.error(topic)
        })
    }
}

impl EmbeddedBus {
    pub(crate) fn broadcast(&self, topic: &'static str, message: Bytes) -> Result<(), BusError> {
        self.inner.check_open()?;
        if let Some(subscribers) = self.inner.pubsub.topics().subscribers.get(topic) {
            // An error means that there is no subscriber any more.
            subscribers.send(message).ok();
        }
        Ok(())
    }

    pub(crate) fn subscribe(
        &self,
        topic: &'static str,
    ) -> Result<broadcast::Receiver<Bytes>, BusError> {
        let mut topics = self.inner.pubsub.topics();
        // Checked under the lock that closing takes, so that no subscription waits for ever.
        self.inner.check_open()?;
        let subscribers = topics
            .subscribers
            .entry(topic)
            .or_insert_with(|| broadcast::Sender::new(SUBSCRIBER_CAPACITY));
        Ok(subscribers.subscribe())
    }

    pub(crate) async fn request(
        &self,
        topic: &'static str,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, BusError> {
        self.inner.check_open()?;
        let (reply, answer) = oneshot::channel();
        let until = Instant::now() + timeout;
        let request = PendingRequest { payload, until, reply: ReplyHandle::Embedded(reply) };
        self.inner.pubsub.topics().dispatch(topic, request)?;
        match timeout_at(until, answer).await {
            Ok(Ok(answer)) => answer.map_err(|refused| refused.error(topic)),
            // Dropped without a reply.
            Ok(Err(_)) => Err(BusError::NoResponder(topic)),
            Err(_) => Err(BusError::RequestTimeout(topic)),
        }
    }

    /// Returns the replies of all servers that have room for the request.
    pub(crate) fn request_all(
        &self,
        topic: &'static str,
        payload: &Bytes,
        until: Instant,
    ) -> Result<FuturesUnordered<Reply>, BusError> {
        self.inner.check_open()?;
        let replies = FuturesUnordered::new();
        let mut topics = self.inner.pubsub.topics();
        let servers = topics.servers.entry(topic).or_default();
        servers.retain(|server| {
            let (reply, answer) = oneshot::channel();
            let reply = ReplyHandle::Embedded(reply);
            let sent = server.try_send(PendingRequest { payload: payload.clone(), until, reply });
            replies.push(answer);
            !matches!(sent, Err(TrySendError::Closed(_)))
        });
        let is_unserved = servers.is_empty();
        drop(topics);
        if is_unserved { Err(BusError::NoResponder(topic)) } else { Ok(replies) }
    }

    pub(crate) fn serve(
        &self,
        topic: &'static str,
    ) -> Result<mpsc::Receiver<PendingRequest>, BusError> {
        let mut topics = self.inner.pubsub.topics();
        self.inner.check_open()?;
        let (server, requests) = mpsc::channel(QUEUE);
        topics.servers.entry(topic).or_default().push_back(server);
        Ok(requests)
    }
}
