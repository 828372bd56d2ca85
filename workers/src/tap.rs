//! A live view of the pipeline for observers: the demo page. Costs nothing without observers, and
//! never holds a stage up.

use tokio::sync::broadcast;

use crate::outcome::{Outcome, Unfinished};

/// Number of notices buffered for a slow observer.
const BUFFER: usize = 1_024;

/// A step of an event in the pipeline.
#[derive(Clone, Debug)]
pub struct Notice {
    /// `ingress` or a stage's name.
    pub stage: &'static str,
    /// Id of the event (or, for jobs, of the job).
    pub event: String,
    /// Result of the step for the event.
    pub step: EventStep,
}

/// Result of an event in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStep {
    /// It was published on the bus.
    Published,
    /// It is done.
    Done,
    /// It waits for another event.
    Held,
    /// It failed, and is delivered again.
    Retried,
    /// It can never be handled.
    Dropped,
    /// It was moved to the dead letters.
    Dead,
}

impl EventStep {
    /// Returns its name in the view.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Done => "done",
            Self::Held => "hold",
            Self::Retried => "retry",
            Self::Dropped => "drop",
            Self::Dead => "dead",
        }
    }
}

impl From<&Outcome> for EventStep {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Ok(()) => Self::Done,
            Err(Unfinished::Hold(_)) => Self::Held,
            Err(Unfinished::Retry(_) | Unfinished::Unavailable(_) | Unfinished::Cancelled(_)) => {
                Self::Retried
            }
            Err(Unfinished::Drop(_)) => Self::Dropped,
        }
    }
}

/// Sender of notices. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tap(broadcast::Sender<Notice>);

impl Default for Tap {
    fn default() -> Self {
        Self(broadcast::channel(BUFFER).0)
    }
}

impl Tap {
    /// Sends a notice to every observer.
    pub fn notify(&self, stage: &'static str, event: &str, step: EventStep) {
        if self.0.receiver_count() > 0 {
            // Only fails if the last observer left just now.
            let _ = self.0.send(Notice { stage, event: event.to_owned(), step });
        }
    }

    /// Subscribes to notices.
    pub fn watch(&self) -> broadcast::Receiver<Notice> {
        self.0.subscribe()
    }
}
