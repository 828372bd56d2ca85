//! Dead letters on JetStream: messages of the stream `DEAD`, identified by their sequence number.

use async_nats::header::{HeaderMap, NATS_MESSAGE_ID};
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{DeleteMessageErrorKind, RawMessageErrorKind, Stream};
use chatkeep_core::text::shortened;
use chatkeep_core::time::Timestamp;

use super::topology::DEAD;
use super::{ID, NatsBus, ONLY, unavailable};
use crate::{BusError, DeadLetter, DeadLetterRequest};

const SUBJECT: &str = "Chatkeep-Subject";
const REASON: &str = "Chatkeep-Reason";
const ATTEMPTS: &str = "Chatkeep-Attempts";
const DIED_AT: &str = "Chatkeep-Died-At";

/// Maximum length of a reason in characters: a parser's may repeat a long part of the message, and
/// headers count towards the size of a message.
const REASON_LENGTH: usize = 1_000;

impl NatsBus {
    /// Adds a dead letter. `key` is an idempotency key: a second call with it changes nothing.
    pub(super) async fn add_dead(
        &self,
        consumer: &str,
        key: &str,
        letter: &DeadLetterRequest<'_>,
    ) -> Result<(), BusError> {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, key);
        headers.insert(ID, line(&letter.message_id));
        headers.insert(SUBJECT, line(&letter.subject));
        headers.insert(REASON, line(&shortened(letter.reason, REASON_LENGTH)));
        headers.insert(ATTEMPTS, letter.attempts.to_string());
        headers.insert(DIED_AT, self.inner.clock.now().millis().to_string());
        self.publish_one(&format!("dead.{consumer}"), &headers, &letter.payload).await
    }

    /// Returns the oldest `limit` dead letters of a consumer, or of all, with sequence numbers
    /// above `after`.
    pub(super) async fn list_dead(
        &self,
        consumer: Option<&str>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, BusError> {
        let stream = self.dead_stream().await?;
        let subject = format!("dead.{}", consumer.unwrap_or(">"));
        let mut letters = Vec::new();
        let mut next = after.saturating_add(1);
        while letters.len() < limit {
            let request =
                stream.raw_message_builder().sequence(next).next_by_subject(subject.as_str());
            let found = self.confirmed(async { found(request.send().await) }).await?;
            let Some(message) = found else { break };
            next = message.sequence + 1;
            letters.push(letter(message));
        }
        Ok(letters)
    }

    /// Returns the number of dead letters.
    pub(super) async fn count_dead(&self) -> Result<u64, BusError> {
        let stream = self.dead_stream().await?;
        let info = stream.get_info().await.map_err(|error| unavailable(&error))?;
        Ok(info.state.messages)
    }

    pub(super) async fn find_dead(&self, seq: u64) -> Result<Option<DeadLetter>, BusError> {
        // The server takes 0 as "the last one".
        if seq == 0 {
            return Ok(None);
        }
        let stream = self.dead_stream().await?;
        let found = self.confirmed(async { found(stream.get_raw_message(seq).await) }).await?;
        Ok(found.map(letter))
    }

    /// Publishes a dead letter again for its consumer alone, then deletes it.
    pub(super) async fn revive(&self, seq: u64) -> Result<bool, BusError> {
        let Some(letter) = self.find_dead(seq).await? else {
            return Ok(false);
        };
        let mut headers = HeaderMap::new();
        // The message's own id may still be remembered. This one makes a second retry harmless when
        // the first could not delete the letter.
        let key = format!("{DEAD} {seq} {}", letter.died_at.millis());
        headers.insert(NATS_MESSAGE_ID, key);
        headers.insert(ID, line(&letter.message_id));
        headers.insert(ONLY, letter.consumer.as_str());
        self.publish_one(&letter.subject, &headers, &letter.payload).await?;
        self.delete_dead(seq).await?;
        Ok(true)
    }

    pub(super) async fn delete_dead(&self, seq: u64) -> Result<bool, BusError> {
        if seq == 0 {
            return Ok(false);
        }
        let stream = self.dead_stream().await?;
        self.confirmed(async {
            match stream.delete_message(seq).await {
                Ok(deleted) => Ok(deleted),
                Err(error) => match error.kind() {
                    DeleteMessageErrorKind::JetStream(answer)
                        if answer.error_code() == ErrorCode::STREAM_MESSAGE_DELETE_FAILED
                            || answer.error_code() == ErrorCode::NO_MESSAGE_FOUND =>
                    {
                        Ok(false)
                    }
                    _ => Err(unavailable(&error)),
                },
            }
        })
        .await
    }

    async fn dead_stream(&self) -> Result<Stream<()>, BusError> {
        self.check()?;
        let stream = self.inner.context.get_stream_no_info(DEAD).await;
        stream.map_err(|error| unavailable(&error))
    }
}

/// Returns the message of an answer; `None` when there is none.
pub(super) fn found(
    result: Result<StreamMessage, async_nats::jetstream::stream::RawMessageError>,
) -> Result<Option<StreamMessage>, BusError> {
    match result {
        Ok(message) => Ok(Some(message)),
        Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(unavailable(&error)),
    }
}

/// Reduces a text to one line, as a header's value must be.
fn line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

fn letter(message: StreamMessage) -> DeadLetter {
    let header = |name| message.headers.get(name).map_or_else(String::new, ToString::to_string);
    let number = |name| header(name).parse::<i64>().unwrap_or(0);
    DeadLetter {
        id: message.sequence.to_string(),
        consumer: message.subject.strip_prefix("dead.").unwrap_or(&message.subject).to_owned(),
        subject: header(SUBJECT),
        message_id: header(ID),
        reason: header(REASON),
        attempts: u32::try_from(number(ATTEMPTS)).unwrap_or(0),
        died_at: Timestamp::from_millis(number(DIED_AT)),
        payload: message.payload,
    }
}
