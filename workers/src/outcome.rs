//! Outcome of an event in a stage.

use chatkeep_bus::BusError;
use chatkeep_core::outage::Failure;
use chatkeep_store::{DatabaseFault, StoreError};

/// Outcome of an event, which is acknowledged once it is done. Of a call with several events, those
/// to be retried or dropped are handed over once more in ever smaller groups (see the runner), so a
/// stage may give every event the outcome of the whole call.
pub type Outcome = Result<(), Unfinished>;

/// Reason why an event is not done, which says what the runner does with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// A dependency is unavailable (store, bus). The runner holds the event and tries again until
    /// that is back, however long it takes; this never uses up an event's attempts.
    Unavailable(Failure),
    /// The database broke the call off because it took too long. The runner tries again with fewer
    /// events at once; one that is alone waits as for an unavailable database.
    Cancelled(Failure),
    /// It has to wait for what another event brings. Deliver it again later; this never uses up an
    /// event's attempts either. The stage ends the waiting.
    Hold(Failure),
    /// It failed for a transient reason. Deliver it again later, a bounded number of times.
    Retry(Failure),
    /// It can never be handled. Move it to the dead letters with this reason.
    Drop(String),
}

/// Returns the name of an outcome in metrics and logs.
pub(crate) const fn name_of(outcome: &Outcome) -> &'static str {
    match outcome {
        Ok(()) => "done",
        Err(unfinished) => unfinished.name(),
    }
}

impl Unfinished {
    /// Returns its name in metrics and logs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Unavailable(_) | Self::Cancelled(_) => "wait",
            Self::Hold(_) => "hold",
            Self::Retry(_) => "retry",
            Self::Drop(_) => "drop",
        }
    }

    /// Returns the failure of something that has to be back before the same can succeed.
    pub(crate) const fn waits_for(&self) -> Option<&Failure> {
        match self {
            Self::Unavailable(failure) | Self::Cancelled(failure) => Some(failure),
            _ => None,
        }
    }
}

impl From<StoreError> for Unfinished {
    fn from(error: StoreError) -> Self {
        Self::from(&error)
    }
}

impl From<&StoreError> for Unfinished {
    fn from(error: &StoreError) -> Self {
        match error.fault() {
            DatabaseFault::Unavailable => Self::Unavailable(crate::failure::of(error)),
            DatabaseFault::Cancelled => Self::Cancelled(crate::failure::of(error)),
            DatabaseFault::Refused => Self::Drop(error.refusal()),
            DatabaseFault::Unknown => Self::Retry(crate::failure::of(error)),
        }
    }
}

impl From<BusError> for Unfinished {
    fn from(error: BusError) -> Self {
        Self::Unavailable(crate::failure::of(&error))
    }
}
