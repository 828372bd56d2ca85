//! Place of the snapshots of a running service. A disk that is not mounted when the service starts
//! keeps nothing else from working: the place is opened once it is there.

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_recursion::async_recursion as boxed;
use chatkeep_blobs::Archive;
use chatkeep_core::config::Config;
use chatkeep_core::time::SharedClock;
use chatkeep_store::Store;

use super::{SnapshotError, SnapshotService};

/// Place of the settings, opened when it is first needed. Clones share it.
#[derive(Clone)]
pub struct SnapshotPlace(Arc<State>);

struct State {
    config: Config,
    store: Store,
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
    /// Creates the place of these settings, for a database, without opening it. `opened` is called with
    /// the archive as soon as it is open.
    pub fn new(
        config: Config,
        store: Store,
        clock: SharedClock,
        opened: impl Fn(&Archive) + Send + Sync + 'static,
    ) -> Self {
        let opened = Box::new(opened);
        Self(Arc::new(State { config, store, clock, opened, service: OnceLock::new() }))
    }

    /// Returns the snapshots there; opens the place if it is not open yet.
    ///
    /// # Errors
    /// Those of [`SnapshotService::open_for`], and [`SnapshotError::OtherTarget`]; the next call
    /// tries again.
    #[boxed]
    pub async fn service(&self) -> Result<SnapshotService, SnapshotError> {
        let service = match self.0.service.get() {
            Some(service) => service.clone(),
            None => self.open().await?,
        };
        // Each time, for its disk may be unmounted at any time.
        service.check_target_id(&self.0.store).await?;
        Ok(service)
    }

    async fn open(&self) -> Result<SnapshotService, SnapshotError> {
        let State { config, store, clock, .. } = &*self.0;
        let new = SnapshotService::open_for(store, config, None, Arc::clone(clock)).await?;
        let opened = self.0.service.get_or_init(|| {
            (self.0.opened)(new.archive());
            new
        });
        Ok(opened.clone())
    }
}
