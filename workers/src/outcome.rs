//! What a stage says about an event it was given.

use chatkeep_core::bus::BusError;
use chatkeep_core::store::StoreError;

/// What is to happen to an event now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more: acknowledge it.
    Done,
    /// Something it needs is down (store, bus). The runner keeps it and tries again until that is
    /// back, however long it takes; this never uses up an event's attempts.
    Wait(String),
    /// It failed for a reason that may pass. Deliver it again later, a bounded number of times.
    Retry(String),
    /// It can never be handled. Move it to the dead letters with this reason.
    Drop(String),
}

impl Outcome {
    /// Its name in metrics and logs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Wait(_) => "wait",
            Self::Retry(_) => "retry",
            Self::Drop(_) => "drop",
        }
    }
}

impl From<StoreError> for Outcome {
    fn from(error: StoreError) -> Self {
        let text = described(&error);
        if error.is_transient() { Self::Wait(text) } else { Self::Retry(text) }
    }
}

impl From<BusError> for Outcome {
    fn from(error: BusError) -> Self {
        Self::Wait(described(&error))
    }
}

/// An error with its causes, on one line.
pub(crate) fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
