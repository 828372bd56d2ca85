//! Events about imports: whoever keeps copies learns which part of a channel to list again.

use chatkeep_core::id::ChannelId;
use chatkeep_core::time::Timestamp;

use super::super::StoreError;
use super::super::db::Tx;
use super::super::outbox_kind::OutboxEventKind;
use super::super::outbox_log::{NewDetailedEvent, NewOutboxEvent, log};
use super::imported::ImportedMessage;

/// Times of sending of the messages that a part of an import added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedTimes {
    /// Time of the earliest.
    pub first: Timestamp,
    /// Time of the latest.
    pub last: Timestamp,
}

impl ImportedTimes {
    /// Returns the times of messages; `None` without any.
    fn of(messages: &[&ImportedMessage]) -> Option<Self> {
        let times = || messages.iter().map(|message| message.sent_at);
        Some(Self { first: times().min()?, last: times().max()? })
    }

    /// Returns them as the further subject of an event.
    fn text(self) -> String {
        format!("{}/{}", self.first.millis(), self.last.millis())
    }

    /// Returns the times in the further subject of an event.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('/')?;
        let [first, last] = [first, last].map(|millis| millis.parse().map(Timestamp::from_millis));
        Some(Self { first: first.ok()?, last: last.ok()? })
    }
}

/// Logs that a part of an import added these messages, in its transaction: also an import that is
/// killed half-way has told of what it added.
pub(super) async fn log_added(
    tx: &mut Tx,
    channel: &ChannelId,
    messages: &[&ImportedMessage],
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(times) = ImportedTimes::of(messages) else {
        return Ok(());
    };
    let (outbox_event, detail) = (event(OutboxEventKind::ImportAdded, channel, now), times.text());
    log(tx, &[NewDetailedEvent { outbox_event, detail: &detail }], now).await
}

/// Logs that an import was undone. Its messages are gone, and with them their times.
pub(super) async fn log_undone(
    tx: &mut Tx,
    channel: &ChannelId,
    now: Timestamp,
) -> Result<(), StoreError> {
    log(tx, &[event(OutboxEventKind::ImportUndone, channel, now)], now).await
}

fn event(kind: OutboxEventKind, channel: &ChannelId, now: Timestamp) -> NewOutboxEvent<'_> {
    NewOutboxEvent { kind: kind.name(), at: now.millis(), c: Some(channel.as_str()), s: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        let times =
            ImportedTimes { first: Timestamp::from_millis(-5), last: Timestamp::from_millis(7) };
        assert_eq!(ImportedTimes::parse(&times.text()), Some(times));
        for wrong in ["", "5", "5/", "a/b", "ss_1"] {
            assert_eq!(ImportedTimes::parse(wrong), None, "{wrong}");
        }
    }
}
