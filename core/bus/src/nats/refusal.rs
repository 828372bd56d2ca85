//! Last refusal of a server to store a message, while it answers everything else.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::jetstream::ErrorCode;
use tokio::time::Instant;

use crate::BusError;

/// Answers of a server that cannot store: its disk is full, or a limit of the stream or the account is
/// reached.
pub(super) const NOT_STORED: [ErrorCode; 4] = [
    ErrorCode::STREAM_STORE_FAILED,
    ErrorCode::INSUFFICIENT_RESOURCES,
    ErrorCode::STORAGE_RESOURCES_EXCEEDED,
    ErrorCode::MEMORY_RESOURCES_EXCEEDED,
];
/// Time after which a refusal says nothing any more: perhaps nobody has published since.
const VALID: Duration = Duration::from_mins(1);

/// Reason and time of the last refusal; none once something was stored.
#[derive(Debug, Default)]
pub(super) struct LastRefusal(Mutex<Option<(Instant, String)>>);

impl LastRefusal {
    /// Records a refusal, and returns it as an error.
    pub(super) fn note(&self, why: String) -> BusError {
        *self.lock() = Some((Instant::now(), why.clone()));
        BusError::NotStored(why)
    }

    /// Records that something was stored.
    pub(super) fn clear(&self) {
        *self.lock() = None;
    }

    /// Returns the last refusal as an error, unless something was stored since, or it is too long ago.
    pub(super) fn check(&self) -> Result<(), BusError> {
        match &*self.lock() {
            Some((at, why)) if at.elapsed() < VALID => Err(BusError::NotStored(why.clone())),
            _ => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
