//! Unstored messages: received, with an event, but without stored content.

use serde::{Deserialize, Serialize};

use super::{Kept, StoreError, parsed};
use crate::id::UserId;
use crate::message::{MessageType, Received};

/// Reason for not storing a message that has an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnkeptReason {
    /// Every subscriber's quota is exceeded.
    Quota,
    /// Nobody subscribes to the channel.
    NotSubscribed,
}

/// Properties of an unstored message for its event. Its content is not among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unkept {
    /// Reason for not storing it.
    pub reason: UnkeptReason,
    /// Sender, if the platform names one.
    pub sender: Option<UserId>,
    /// Message type.
    #[serde(rename = "type")]
    pub kind: MessageType,
}

impl UnkeptReason {
    /// Returns the reason to report a message with that outcome as unstored; `None` for an outcome
    /// with another event, or with none. Every outcome is named here: one for people who object to
    /// storage gives `None`, for they get no event at all.
    pub(super) const fn of(kept: Kept) -> Option<Self> {
        match kept {
            Kept::Skipped => Some(Self::Quota),
            Kept::NotBackedUp => Some(Self::NotSubscribed),
            Kept::Changed | Kept::Known => None,
        }
    }
}

impl Unkept {
    pub(super) fn of(message: &Received, kept: Kept) -> Option<Self> {
        let reason = UnkeptReason::of(kept)?;
        Some(Self { reason, sender: message.sender.clone(), kind: message.kind })
    }

    /// Parses a column of the row `row` of `table`.
    pub(super) fn read(
        json: Option<&str>,
        table: &'static str,
        row: &str,
    ) -> Result<Option<Self>, StoreError> {
        let unkept = json.map(|json| serde_json::from_str(json).ok());
        unkept.map(|unkept| parsed(unkept, table, "unkept", row)).transpose()
    }
}
