//! Probes of the dependencies of the process: frequent during an outage, so that its end is
//! noticed, and rare otherwise, so that an outage is noticed before a request fails.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_blobs::Blobs;
use chatkeep_bus::Bus;
use chatkeep_core::outage::Availability;
use chatkeep_search::SearchService;
use chatkeep_store::Store;
use tokio_util::sync::CancellationToken;

/// Interval between probes during an outage.
const INTERVAL: Duration = Duration::from_secs(1);
/// Number of intervals between probes of a dependency that is available.
const IDLE_INTERVALS: u64 = 10;
/// Timeout of a probe.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Watches the database, the bus, the media store and search.
#[derive(Debug)]
pub(super) struct Outages {
    pub(super) store: Store,
    pub(super) bus: Bus,
    pub(super) blobs: Blobs,
    pub(super) search: SearchService,
}

impl Outages {
    /// Probes until `stop` is cancelled.
    pub(super) async fn run(self: Arc<Self>, stop: CancellationToken) {
        for tick in 1.. {
            if stop.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_none() {
                return;
            }
            let is_due = tick % IDLE_INTERVALS == 0;
            let probes = async {
                tokio::join!(
                    probe(self.store.availability(), is_due, self.store.ready()),
                    probe(self.bus.availability(), is_due, self.bus.ready()),
                    // Requests to an object store cost money.
                    probe(self.blobs.availability(), false, self.blobs.ready()),
                    probe(self.search.availability(), false, self.search.probe()),
                )
            };
            Box::pin(stop.run_until_cancelled(probes)).await;
        }
    }
}

/// Probes a dependency if it is due or unavailable. The adapter that makes the call records the
/// result.
async fn probe<T>(availability: &Availability, is_due: bool, call: impl Future<Output = T>) {
    if is_due || availability.is_away() {
        tokio::time::timeout(TIMEOUT, call).await.ok();
    }
}
