//! A live view of the pipeline for observers: the demo page. Costs nothing without observers, and
//! never holds a stage up.

use tokio::sync::broadcast;

/// Number of notices buffered for a slow observer.
const BUFFER: usize = 1_024;

/// A step of an event in the pipeline.
#[derive(Clone, Debug)]
pub struct Notice {
    /// `ingress` or a stage's name.
    pub stage: &'static str,
    /// Id of the event (or, for jobs, of the job).
    pub event: String,
    /// Result: `published`, `done`, `wait`, `hold`, `retry`, `drop`.
    pub outcome: &'static str,
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
    pub fn notify(&self, stage: &'static str, event: &str, outcome: &'static str) {
        if self.0.receiver_count() > 0 {
            // Only fails if the last observer left just now.
            let _ = self.0.send(Notice { stage, event: event.to_owned(), outcome });
        }
    }

    /// Subscribes to notices.
    pub fn watch(&self) -> broadcast::Receiver<Notice> {
        self.0.subscribe()
    }
}
