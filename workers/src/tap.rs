//! A window on the pipeline for whoever wants to watch it: the demo page. Costs nothing while
//! nobody watches, and never holds a stage up.

use tokio::sync::broadcast;

/// Notices kept for a watcher that is slow.
const BUFFER: usize = 1_024;

/// Something that happened to an event.
#[derive(Clone, Debug)]
pub struct Notice {
    /// `ingress` or a stage's name.
    pub stage: &'static str,
    /// The event (or, for jobs, the job).
    pub event: String,
    /// What became of it: `published`, `done`, `wait`, `retry`, `drop`.
    pub outcome: &'static str,
}

/// Where notices go. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tap(broadcast::Sender<Notice>);

impl Default for Tap {
    fn default() -> Self {
        Self(broadcast::channel(BUFFER).0)
    }
}

impl Tap {
    /// Tells every watcher.
    pub fn tell(&self, stage: &'static str, event: &str, outcome: &'static str) {
        if self.0.receiver_count() > 0 {
            // Only fails when the last watcher left just now.
            let _ = self.0.send(Notice { stage, event: event.to_owned(), outcome });
        }
    }

    /// Starts watching.
    pub fn watch(&self) -> broadcast::Receiver<Notice> {
        self.0.subscribe()
    }
}
