//! Messages that came and are not kept: what is told of them all the same.

use serde::{Deserialize, Serialize};

use super::{Kept, StoreError, parsed};
use crate::id::UserId;
use crate::message::{MessageType, Received};

/// Why a message is told of and not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnkeptReason {
    /// Every subscriber's quota is exceeded.
    Quota,
    /// Nobody subscribes to the channel.
    NotSubscribed,
}

/// What is told of a message that is not kept. Its content is not in here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unkept {
    /// Why it is not kept.
    pub reason: UnkeptReason,
    /// Who sent it, where the platform tells.
    pub sender: Option<UserId>,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: MessageType,
}

impl UnkeptReason {
    /// Returns why a message with that outcome is told of as not kept; `None` for what is told in
    /// another way, or not at all. Every outcome is named here: one for people who do not want to
    /// be kept gives `None`, for nothing of them is told.
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

    /// Reads a column of the row `row` of `table`.
    pub(super) fn read(
        json: Option<&str>,
        table: &'static str,
        row: &str,
    ) -> Result<Option<Self>, StoreError> {
        let unkept = json.map(|json| serde_json::from_str(json).ok());
        unkept.map(|unkept| parsed(unkept, table, "unkept", row)).transpose()
    }
}
