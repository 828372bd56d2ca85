//! Delivery of an event to a webhook, as the log has it.

use chatkeep_core::named;
use chatkeep_core::time::Timestamp;

use super::rows::{EventColumns, EventRef};
use crate::{StoreError, parsed};

/// Name of the event of a test delivery, for statements.
macro_rules! test_event {
    () => {
        "webhook.test"
    };
}

pub(crate) use test_event;

/// Name of the event of a test delivery.
pub const TEST_EVENT: &str = test_event!();

/// Status of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// Waiting for its first or next attempt, or being made.
    Pending,
    /// Delivered.
    Delivered,
    /// Given up.
    Failed,
    /// Not delivered any more: its subject is gone, or its owner may not read it.
    Dropped,
}

named! {
    pub DeliveryStatus {
        Pending = "pending",
        Delivered = "delivered",
        Failed = "failed",
        Dropped = "dropped",
    }
}

/// Reason for which an attempt failed, or a delivery was dropped. None of them reveals anything of
/// the network behind the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryFailure {
    /// The endpoint responded with an error.
    Status,
    /// It did not respond in time.
    Timeout,
    /// It could not be reached.
    Connect,
    /// The connection broke off.
    Broken,
    /// It redirects, which is not followed.
    Redirect,
    /// It responded with 410.
    Gone,
    /// The message that the delivery is about was deleted.
    MessageGone,
    /// Its address is not one that is called.
    ForbiddenAddress,
    /// The secret of the webhook cannot sign.
    UnusableSecret,
    /// The owner may not read the subject any more.
    NotPermitted,
    /// The body could not be rendered; nothing was sent.
    NotRendered,
}

named! {
    pub DeliveryFailure {
        Status = "status",
        Timeout = "timeout",
        Connect = "connect",
        Broken = "broken",
        Redirect = "redirect",
        Gone = "gone",
        MessageGone = "message_gone",
        ForbiddenAddress = "forbidden_address",
        UnusableSecret = "unusable_secret",
        NotPermitted = "not_permitted",
        NotRendered = "not_rendered",
    }
}

/// Delivery in the log.
#[derive(Clone, Debug)]
pub struct WebhookDelivery {
    /// Number of the delivery.
    pub number: i64,
    /// Status.
    pub status: DeliveryStatus,
    /// Event.
    pub event: EventRef,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Number of attempts so far.
    pub attempts: i64,
    /// Time of the next attempt, which a pause of the webhook puts off.
    pub due_at: Option<Timestamp>,
    /// Time of the last attempt.
    pub tried_at: Option<Timestamp>,
    /// Duration of the last attempt in milliseconds.
    pub took_ms: Option<i64>,
    /// HTTP status of the response.
    pub http_status: Option<i64>,
    /// Reason for the failure of the last attempt, or for dropping it.
    pub error: Option<DeliveryFailure>,
    /// Beginning of the response body.
    pub answer: Option<String>,
    /// Size of the request in bytes.
    pub request_bytes: Option<i64>,
}

#[derive(Debug, sqlx_macros::FromRow)]
pub(super) struct DeliveryRow {
    delivery_no: i64,
    #[sqlx(flatten)]
    event: EventColumns,
    created_at: i64,
    status: String,
    attempts: i64,
    due_at: Option<i64>,
    not_until: Option<i64>,
    tried_at: Option<i64>,
    took_ms: Option<i64>,
    http_status: Option<i64>,
    error: Option<String>,
    answer: Option<String>,
    request_bytes: Option<i64>,
}

impl DeliveryFailure {
    /// Returns the reason of a recorded name; `Broken` for one that only another version knows.
    fn recorded(name: &str) -> Self {
        Self::parse(name).unwrap_or(Self::Broken)
    }
}

impl TryFrom<DeliveryRow> for WebhookDelivery {
    type Error = StoreError;

    fn try_from(row: DeliveryRow) -> Result<Self, StoreError> {
        let status = DeliveryStatus::parse(&row.status);
        let number = row.delivery_no.to_string();
        let due_at = row.due_at.map(|due| due.max(row.not_until.unwrap_or(due)));
        Ok(Self {
            number: row.delivery_no,
            status: parsed(status, "webhook_deliveries", "status", &number)?,
            event: row.event.read(row.delivery_no)?,
            created_at: Timestamp::from_millis(row.created_at),
            attempts: row.attempts,
            due_at: due_at.map(Timestamp::from_millis),
            tried_at: row.tried_at.map(Timestamp::from_millis),
            took_ms: row.took_ms,
            http_status: row.http_status,
            error: row.error.as_deref().map(DeliveryFailure::recorded),
            answer: row.answer,
            request_bytes: row.request_bytes,
        })
    }
}
