//! Unstored messages: received, with an event, but without stored content.

use chatkeep_core::id::UserId;
use chatkeep_core::message::{MessageType, Received};
use chatkeep_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{IngestOutcome, StoreError, parsed};

/// Reason for not storing a message that has an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnstoredReason {
    /// Every subscriber's quota is exceeded.
    Quota,
    /// Nobody subscribes to the channel.
    NotSubscribed,
}

/// Properties of an unstored message for its event. Its content is not among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnstoredMessage {
    /// Reason for not storing it.
    pub reason: UnstoredReason,
    /// Sender, if the platform names one.
    pub sender: Option<UserId>,
    /// Message type.
    #[serde(rename = "type")]
    pub kind: MessageType,
    /// Time of sending, in the event that it was unsent; otherwise that of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
}

impl UnstoredReason {
    /// Returns the reason to report a message with that outcome as unstored; `None` for an outcome
    /// with another event, or with none. Messages of people who opted out have none.
    pub(super) const fn of(kept: IngestOutcome) -> Option<Self> {
        match kept {
            IngestOutcome::Skipped => Some(Self::Quota),
            IngestOutcome::NotBackedUp => Some(Self::NotSubscribed),
            IngestOutcome::Changed | IngestOutcome::Known | IngestOutcome::OptedOut => None,
        }
    }
}

impl UnstoredMessage {
    pub(super) fn of(message: &Received, kept: IngestOutcome) -> Option<Self> {
        let reason = UnstoredReason::of(kept)?;
        Some(Self { reason, sender: message.sender.clone(), kind: message.kind, sent_at: None })
    }

    /// Returns the content of its `message.unsent` event, without the sender.
    pub(super) fn retracted(self, sent_at: Timestamp) -> Self {
        Self { sender: None, sent_at: Some(sent_at), ..self }
    }

    /// Parses a column of the row `row` of `table`.
    pub(super) fn read(
        json: Option<&str>,
        table: &'static str,
        row: &str,
    ) -> Result<Option<Self>, StoreError> {
        let unstored = json.map(|json| serde_json::from_str(json).ok());
        unstored.map(|unstored| parsed(unstored, table, "unstored", row)).transpose()
    }
}
