//! Place of the snapshots of a running service. A disk that is not mounted when the service starts
//! keeps nothing else from working: the place is opened once it is there.

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::Archive;
use chatkeep_core::config::Config;
use chatkeep_core::time::SharedClock;

use super::{SnapshotError, SnapshotService};

/// Place of the settings, opened when it is first needed. Clones share it.
#[derive(Clone)]
pub struct SnapshotPlace(Arc<State>);

struct State {
    config: Config,
    clock: SharedClock,
    /// Called with the archive as soon as it is open.
    opened: Box<dyn Fn(&Archive) + Send + Sync>,
    service: OnceLock<SnapshotService>,
}

impl fmt::Debug for SnapshotPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotPlace").field("service", &self.0.service).finish_non_exhaustive()
    }
}

impl SnapshotPlace {
    /// Creates the place of these settings without opening it. `opened` is called with the archive
    /// as soon as it is open.
    pub fn new(
        config: Config,
        clock: SharedClock,
        opened: impl Fn(&Archive) + Send + Sync + 'static,
    ) -> Self {
        let opened = Box::new(opened);
        Self(Arc::new(State { config, clock, opened, service: OnceLock::new() }))
    }

    /// Returns the snapshots there; opens the place if it is not open yet.
    ///
    /// # Errors
    /// As of [`SnapshotService::open`]; the next call tries again.
    #[boxed]
    pub async fn service(&self) -> Result<SnapshotService, SnapshotError> {
        if let Some(service) = self.0.service.get() {
            return Ok(service.clone());
        }
        let state = Arc::clone(&self.0);
        // A file system of another machine may not answer.
        let open = move || SnapshotService::open(&state.config, None, Arc::clone(&state.clock));
        let service = tokio::task::spawn_blocking(open).await.map_err(std::io::Error::other)??;
        let known = self.0.service.get_or_init(|| {
            (self.0.opened)(service.archive());
            service
        });
        Ok(known.clone())
    }
}
