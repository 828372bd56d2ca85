//! Asks what the process depends on whether it answers: often while it does not, so that its return
//! is noticed, and now and then otherwise, so that nobody's request is the first to find out.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::blobs::Blobs;
use chatkeep_core::bus::Bus;
use chatkeep_core::outage::Availability;
use chatkeep_core::store::Store;
use tokio_util::sync::CancellationToken;

use crate::search::SearchService;

/// Time between two looks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Looks after which what answers is asked again.
const SELDOM: u64 = 10;
/// Longest time that a question may take; the next look asks again.
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
    /// Asks until `stop` is cancelled.
    pub(super) async fn run(self: Arc<Self>, stop: CancellationToken) {
        for look in 1.. {
            if stop.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_none() {
                return;
            }
            let seldom = look % SELDOM == 0;
            let questions = async {
                tokio::join!(
                    ask(self.store.availability(), seldom, self.store.ready()),
                    ask(self.bus.availability(), seldom, self.bus.ready()),
                    // Each question to an object store has its price.
                    ask(self.blobs.availability(), false, self.blobs.ready()),
                    ask(self.search.availability(), false, self.search.probe()),
                )
            };
            Box::pin(stop.run_until_cancelled(questions)).await;
        }
    }
}

/// Asks when it is due or when the last answer was missing. What comes of it is noted by whoever
/// makes the call.
async fn ask<T>(availability: &Availability, is_due: bool, question: impl Future<Output = T>) {
    if is_due || availability.is_away() {
        tokio::time::timeout(TIMEOUT, question).await.ok();
    }
}
