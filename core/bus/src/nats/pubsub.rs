//! Pubsub on core NATS: a subject of each topic for broadcasts, one for requests to a queue group, and
//! one for requests to all servers. The client resubscribes by itself when a connection comes back.

use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::connection::State;
use async_nats::header::HeaderMap;
use async_nats::{Client, Message, Request, StatusCode, Subject, Subscriber};
use bytes::Bytes;
use futures_util::stream::{Select, select};
use tokio::time::{Instant, timeout};
use tracing::debug;

use super::{CONFIRM, NatsBus, READY, disconnected, unavailable};
use crate::BusError;
use crate::pubsub::{PendingRequest, ReplyHandle, RequestRefused};

/// Queue group of the servers.
const GROUP: &str = "chatkeep";

/// Subject without responders: the server says so at once, and has by then processed everything
/// sent before.
const NOBODY: &str = "pubsub.nobody";

/// Header with the timeout of the request in milliseconds.
const TIMEOUT_HEADER: &str = "Chatkeep-Timeout";

/// Header with the reason for a missing reply.
const REFUSED: &str = "Chatkeep-Refused";

/// Returns the subject of a topic's broadcasts, the same in every version.
fn broadcasts(topic: &str) -> String {
    format!("pubsub.told.{topic}")
}

/// Returns the subject of a topic's requests, the same in every version.
fn requests(topic: &str) -> String {
    format!("pubsub.asked.{topic}")
}

/// Returns the subject of requests to all servers of a topic, the same in every version.
fn requests_to_all(topic: &str) -> String {
    format!("pubsub.asked_all.{topic}")
}

/// Requests to one server of a topic, and to all of them.
pub(crate) type Requests = Select<Subscriber, Subscriber>;

impl NatsBus {
    pub(crate) async fn broadcast(
        &self,
        topic: &'static str,
        message: Bytes,
    ) -> Result<(), BusError> {
        self.check()?;
        let sent = self.inner.client.publish(broadcasts(topic), message).await;
        sent.map_err(|error| unavailable(&error))
    }

    pub(crate) async fn subscribe(&self, topic: &'static str) -> Result<Subscriber, BusError> {
        self.check_open()?;
        let subscribed = self.inner.client.subscribe(broadcasts(topic)).await;
        let subscription = subscribed.map_err(|error| unavailable(&error))?;
        self.settle().await;
        Ok(subscription)
    }

    pub(crate) async fn serve(&self, topic: &'static str) -> Result<Requests, BusError> {
        self.check_open()?;
        let client = &self.inner.client;
        let one = client.queue_subscribe(requests(topic), GROUP.to_owned()).await;
        let all = client.subscribe(requests_to_all(topic)).await;
        let one = one.map_err(|error| unavailable(&error))?;
        let all = all.map_err(|error| unavailable(&error))?;
        self.settle().await;
        Ok(select(one, all))
    }

    /// Returns the subscription to the replies.
    pub(crate) async fn request_all(
        &self,
        topic: &'static str,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<Subscriber, BusError> {
        self.check()?;
        let client = &self.inner.client;
        let inbox = client.new_inbox();
        let replies = client.subscribe(inbox.clone()).await;
        let replies = replies.map_err(|error| unavailable(&error))?;
        let subject = requests_to_all(topic);
        let headers = timeout_header(timeout);
        let sent = client.publish_with_reply_and_headers(subject, inbox, headers, payload).await;
        sent.map_err(|error| unavailable(&error))?;
        Ok(replies)
    }

    /// Returns what a server replied.
    pub(crate) fn reply(message: Message, topic: &'static str) -> Result<Bytes, BusError> {
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            return Err(BusError::NoResponder(topic));
        }
        match refusal(&message) {
            None => Ok(message.payload),
            Some(refused) => Err(refused.error(topic)),
        }
    }

    pub(crate) async fn request(
        &self,
        topic: &'static str,
        payload: Bytes,
        timeout: Duration,
    ) -> Result<Bytes, BusError> {
        self.check()?;
        let headers = timeout_header(timeout);
        let request = Request::new().payload(payload).headers(headers).timeout(Some(timeout));
        let answer = self.inner.client.send_request(requests(topic), request);
        let mut connected = self.inner.connected.clone();
        let message = tokio::select! {
            answer = answer => answer.map_err(|error| match error.kind() {
                RequestErrorKind::NoResponders => BusError::NoResponder(topic),
                RequestErrorKind::TimedOut => BusError::RequestTimeout(topic),
                RequestErrorKind::MaxPayloadExceeded => BusError::TooLarge(topic),
                _ => unavailable(&error),
            })?,
            _ = connected.wait_for(|connected| !connected) => return Err(disconnected()),
        };
        Self::reply(message, topic)
    }

    pub(crate) fn pending(&self, message: Message) -> PendingRequest {
        let timeout = message.headers.as_ref().and_then(|headers| headers.get(TIMEOUT_HEADER));
        let timeout = timeout.and_then(|millis| millis.as_str().parse().ok());
        let timeout = timeout.map_or(CONFIRM, Duration::from_millis);
        let reply = NatsReply { client: self.inner.client.clone(), subject: message.reply };
        let until = Instant::now() + timeout;
        PendingRequest { payload: message.payload, until, reply: ReplyHandle::Nats(reply) }
    }

    /// Waits until the server has the subscription, so that no later message of another process is
    /// missed. Without a connection the client subscribes when there is one.
    async fn settle(&self) {
        if self.inner.client.connection_state() == State::Connected {
            timeout(READY, self.inner.client.request(NOBODY, Bytes::new())).await.ok();
        }
    }
}

/// Reply channel of a request.
#[derive(Debug)]
pub(crate) struct NatsReply {
    client: Client,
    subject: Option<Subject>,
}

impl NatsReply {
    pub(crate) async fn send(self, answer: Result<Bytes, RequestRefused>) {
        // A broadcast, no request: nobody waits for a reply.
        let Some(subject) = self.subject else { return };
        // The server's own limit may be lower than ours.
        let answer = answer.and_then(|bytes| {
            if bytes.len() > self.client.max_payload() {
                Err(RequestRefused::TooLarge)
            } else {
                Ok(bytes)
            }
        });
        let sent = match answer {
            Ok(answer) => self.client.publish(subject, answer).await,
            Err(refused) => {
                let mut headers = HeaderMap::new();
                headers.insert(REFUSED, name(refused));
                self.client.publish_with_headers(subject, headers, Bytes::new()).await
            }
        };
        if let Err(error) = sent {
            debug!(%error, "cannot send a reply");
        }
    }
}

fn timeout_header(timeout: Duration) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(TIMEOUT_HEADER, timeout.as_millis().to_string());
    headers
}

const fn name(refused: RequestRefused) -> &'static str {
    match refused {
        RequestRefused::Busy => "busy",
        RequestRefused::TooLarge => "too-large",
    }
}

/// Reason for a refused request, if the message carries one.
fn refusal(message: &Message) -> Option<RequestRefused> {
    let why = message.headers.as_ref()?.get(REFUSED)?;
    let large = why.as_str() == name(RequestRefused::TooLarge);
    Some(if large { RequestRefused::TooLarge } else { RequestRefused::Busy })
}
