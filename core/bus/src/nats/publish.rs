//! Publishes to JetStream: all messages of a call are sent, then all confirmations are awaited.

use std::error::Error as _;

use async_nats::header::{HeaderMap, NATS_MESSAGE_ID};
use async_nats::jetstream::context::{PublishAckFuture, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{Error as ServerError, ErrorCode};
use bytes::Bytes;
use chatkeep_core::causes::with_causes;
use chatkeep_core::trace;

use super::refusal::NOT_STORED;
use super::{NatsBus, unavailable};
use crate::{BusError, Outgoing, subject};

/// Reason for a failed publish that the bus itself may mend.
enum Refusal {
    /// No stream has the subject: the server is new, or came back empty.
    NoStream,
    Other(BusError),
}

impl NatsBus {
    pub(super) async fn publish_all(&self, messages: &[Outgoing]) -> Result<(), BusError> {
        for message in messages {
            subject::parse(&message.subject)?;
            self.check_size(message)?;
        }
        self.with_streams(|| self.send_all(messages)).await
    }

    /// Publishes one message with headers of its own.
    pub(super) async fn publish_one(
        &self,
        subject: &str,
        headers: &HeaderMap,
        payload: &Bytes,
    ) -> Result<(), BusError> {
        self.with_streams(|| async {
            let message = PublishMessage::build().headers(headers.clone()).payload(payload.clone());
            let ack = self.send(subject, message).await?;
            ack.await.map_err(|error| self.refusal(&error)).map(drop)
        })
        .await
    }

    /// Publishes; sets up the streams and tries once more when there are none.
    async fn with_streams<F>(&self, publish: impl Fn() -> F) -> Result<(), BusError>
    where
        F: Future<Output = Result<(), Refusal>>,
    {
        for last in [false, true] {
            let attempt = self.confirmed(async { Ok(publish().await) }).await?;
            match attempt {
                Ok(()) => {
                    self.inner.refused.clear();
                    return Ok(());
                }
                Err(Refusal::Other(error)) => return Err(error),
                Err(Refusal::NoStream) if last => break,
                // Boxed: the future of every publish would be as large as that of this rare one, and is
                // moved some times until it is polled.
                Err(Refusal::NoStream) => Box::pin(self.set_up_again()).await?,
            }
        }
        Err(BusError::Unavailable("no stream takes the message".into()))
    }

    async fn send_all(&self, messages: &[Outgoing]) -> Result<(), Refusal> {
        let mut acks = Vec::with_capacity(messages.len());
        for message in messages {
            let mut outgoing = PublishMessage::build()
                .header(NATS_MESSAGE_ID, message.id.as_str())
                .payload(message.payload.clone());
            if let Some(trace) = &message.trace {
                outgoing = outgoing.header(trace::HEADER, trace.header());
            }
            acks.push(self.send(&message.subject, outgoing).await?);
        }
        for ack in acks {
            ack.await.map_err(|error| self.refusal(&error))?;
        }
        Ok(())
    }

    async fn send(
        &self,
        subject: &str,
        message: PublishMessage,
    ) -> Result<PublishAckFuture, Refusal> {
        let sent = self.inner.context.send_publish(subject.to_owned(), message).await;
        sent.map_err(|error| self.refusal(&error))
    }

    fn refusal(&self, error: &PublishError) -> Refusal {
        match error.kind() {
            PublishErrorKind::StreamNotFound => return Refusal::NoStream,
            // No outage: the server takes others.
            PublishErrorKind::MaxPayloadExceeded => {
                return Refusal::Other(BusError::MessageTooLarge(with_causes(error)));
            }
            _ => {}
        }
        let answer = error.source().and_then(|source| source.downcast_ref::<ServerError>());
        // The server has one code for all reasons why a stream refuses to store a message.
        let full = answer.is_some_and(|answer| {
            answer.error_code() == ErrorCode::STREAM_STORE_FAILED
                && answer.to_string().contains("maximum messages")
        });
        Refusal::Other(if full {
            BusError::Full { backlog: self.inner.limits.max_backlog }
        } else if answer.is_some_and(|answer| NOT_STORED.contains(&answer.error_code())) {
            self.inner.refused.note(with_causes(error))
        } else {
            unavailable(error)
        })
    }
}
