//! Subjects: parsing and validation; a subject gives a message's stream, and a job's queue.
//!
//! The form is `event.<platform>.<shard>` or `job.<queue>.<shard>`; both adapters refuse anything
//! else, so that a message never ends up where nobody reads.

use chatkeep_core::event::Envelope;
use chatkeep_core::id::{ChannelId, shard_of};

use super::{BusError, Outgoing, Stream};

/// Usual size of an envelope beside the platform's own event, in bytes.
const ROOM: usize = 256;

impl Outgoing {
    /// Builds the message that carries a platform event.
    ///
    /// # Errors
    /// Never in practice: an envelope is always valid JSON.
    pub fn event(envelope: &Envelope) -> Result<Self, serde_json::Error> {
        let key = envelope.channel.as_ref().map_or(envelope.id.as_str(), ChannelId::as_str);
        let (stream, platform) = (Stream::Events.prefix(), envelope.platform.name());
        let subject = format!("{stream}.{platform}.{}", shard_of(key));
        let mut payload = Vec::with_capacity(envelope.raw.get().len() + ROOM);
        serde_json::to_writer(&mut payload, envelope)?;
        Ok(Self { subject, id: envelope.bus_id(), payload: payload.into(), trace: None })
    }
}

/// Returns the stream of a subject and its second token (a job's queue).
pub(super) fn parse(subject: &str) -> Result<(Stream, &str), BusError> {
    let mut tokens = subject.split('.');
    let stream = match tokens.next() {
        Some(first) if first == Stream::Events.prefix() => Stream::Events,
        Some(first) if first == Stream::Jobs.prefix() => Stream::Jobs,
        _ => return Err(refused(subject)),
    };
    match (tokens.next(), tokens.next(), tokens.next()) {
        (Some(second), Some(shard), None) if is_token(second) && is_token(shard) => {
            Ok((stream, second))
        }
        _ => Err(refused(subject)),
    }
}

/// Returns `true` if NATS takes the text as one literal token of a subject.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'.' | b'*' | b'>'))
}

fn refused(subject: &str) -> BusError {
    BusError::Config(format!("no stream has the subject {subject:?}"))
}

#[cfg(test)]
#[path = "subject_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_stream_and_queue() {
        assert!(matches!(parse("event.line.7"), Ok((Stream::Events, "line"))));
        assert!(matches!(parse("job.media.63"), Ok((Stream::Jobs, "media"))));
    }

    #[test]
    fn refuses_what_nobody_reads() {
        for subject in ["", "event", "event.line", "event.line.7.x", "events.line.7", "job..7"] {
            assert!(parse(subject).is_err(), "{subject}");
        }
        for subject in ["job.*.7", "job.media.>", "job.me dia.7", "job.mé.7"] {
            assert!(parse(subject).is_err(), "{subject}");
        }
    }
}
