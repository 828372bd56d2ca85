//! Dispatch: leases due deliveries, and makes them concurrently.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::id::WebhookId;
use chatkeep_store::{LeaseRoom, LeasedDelivery, StoreError};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::record::DeliveryResult;
use super::{Bodies, FAILING_AFTER, Notifier, POLL_INTERVAL};
use crate::log_failure;
use crate::supervisor::track;

/// Time added to a delivery's lease beyond its timeout and waiting time.
const LEASE_MARGIN: Duration = Duration::from_secs(15);
/// Maximum time that a leased delivery waits for its turn; then it is released.
const MAX_QUEUE_TIME: Duration = Duration::from_secs(15);
/// Factor of the concurrency that gives the batch size of a lease: leasing each delivery by itself
/// would take longer than making it.
const CLAIM_FACTOR: usize = 8;

/// Semaphores of concurrent deliveries.
struct Slots {
    all: Arc<Semaphore>,
    /// Limit of those to endpoints that keep failing, which take long.
    failing: Arc<Semaphore>,
    /// Limit of those to one endpoint.
    each: HashMap<WebhookId, Arc<Semaphore>>,
}

impl Slots {
    /// Creates the semaphores of `all` concurrent deliveries.
    fn new(all: usize) -> Self {
        let failing = Arc::new(Semaphore::new((all / 2).max(1)));
        Self { all: Arc::new(Semaphore::new(all)), failing, each: HashMap::new() }
    }
}

/// Semaphores and cancellation of one delivery.
struct Turn {
    all: Arc<Semaphore>,
    each: Arc<Semaphore>,
    stop: CancellationToken,
}

impl<B: Bodies> Notifier<B> {
    /// Makes deliveries until `stop`, then waits for those under way.
    pub(super) async fn dispatch(
        self: Arc<Self>,
        stop: &CancellationToken,
        wake: &Notify,
        results: mpsc::Sender<DeliveryResult>,
    ) {
        let mut slots = Slots::new(self.settings.parallel);
        let tasks = TaskTracker::new();
        while !stop.is_cancelled() {
            let started = self.start_due(&mut slots, stop, &tasks, &results).await;
            if let Err(error) = &started {
                log_failure!(warn, error, "cannot lease webhook deliveries");
            }
            if !matches!(started, Ok(1..)) {
                slots.each.retain(|_, permits| Arc::strong_count(permits) > 1);
                let wait = tokio::time::timeout(POLL_INTERVAL, wake.notified());
                stop.run_until_cancelled(wait).await;
            }
        }
        tasks.close();
        tasks.wait().await;
    }

    /// Makes due deliveries, as many as may be leased at once; returns their number.
    pub(super) async fn dispatch_once(
        self: Arc<Self>,
        stop: &CancellationToken,
        results: mpsc::Sender<DeliveryResult>,
    ) -> Result<usize, StoreError> {
        let tasks = TaskTracker::new();
        let mut slots = Slots::new(self.settings.parallel);
        let started = self.start_due(&mut slots, stop, &tasks, &results).await;
        tasks.close();
        tasks.wait().await;
        started
    }

    /// Leases due deliveries and starts them; returns their number.
    async fn start_due(
        self: &Arc<Self>,
        slots: &mut Slots,
        stop: &CancellationToken,
        tasks: &TaskTracker,
        results: &mpsc::Sender<DeliveryResult>,
    ) -> Result<usize, StoreError> {
        let taken = self.take(slots, tasks.len()).await?;
        let started = taken.len();
        for delivery in taken {
            self.start(delivery, slots, stop, tasks, results);
        }
        Ok(started)
    }

    /// Leases due deliveries, if so few of `held` ones are left that it is worth a query.
    async fn take(&self, slots: &Slots, held: usize) -> Result<Vec<LeasedDelivery>, StoreError> {
        let most = self.settings.parallel * CLAIM_FACTOR;
        if held > most / 2 {
            return Ok(Vec::new());
        }
        let now = self.clock.now();
        let room = LeaseRoom {
            total: most - held,
            failing: slots.failing.available_permits(),
            each: self.settings.parallel_each * CLAIM_FACTOR,
            per_failed: self.settings.parallel_each,
            failing_before: now.minus(FAILING_AFTER),
        };
        let lease_end = now.plus(MAX_QUEUE_TIME + self.settings.timeout + LEASE_MARGIN);
        self.store.webhooks().lease_deliveries(room, lease_end, now).await
    }

    fn start(
        self: &Arc<Self>,
        delivery: LeasedDelivery,
        slots: &mut Slots,
        stop: &CancellationToken,
        tasks: &TaskTracker,
        results: &mpsc::Sender<DeliveryResult>,
    ) {
        let (notifier, results) = (Arc::clone(self), results.clone());
        let each = self.settings.parallel_each;
        let entry = slots.each.entry(delivery.webhook.clone());
        let each = Arc::clone(entry.or_insert_with(|| Arc::new(Semaphore::new(each))));
        let all = Arc::clone(&slots.all);
        let turn = Turn { all, each, stop: stop.clone() };
        // Only this loop takes these permits, and no more than it saw free.
        let failing = delivery.failing;
        let failing = failing.then(|| Arc::clone(&slots.failing).try_acquire_owned());
        track(tasks, "delivery", async move {
            let done = notifier.in_turn(delivery, turn).await;
            drop(failing);
            if let Some(done) = done {
                // Fails only if the recorder is gone; then the lease expires.
                let _ = results.send(done).await;
            }
        });
    }

    /// Waits for a delivery's turn, and makes it; releases it if its lease would end meanwhile.
    async fn in_turn(&self, delivery: LeasedDelivery, turn: Turn) -> Option<DeliveryResult> {
        let slots =
            async { Some((turn.each.acquire().await.ok()?, turn.all.acquire().await.ok()?)) };
        let slots =
            turn.stop.run_until_cancelled(tokio::time::timeout(MAX_QUEUE_TIME, slots)).await;
        match slots {
            Some(Ok(Some(_slots))) => self.attempt(delivery).await.map(DeliveryResult::Tried),
            _ => Some(DeliveryResult::Returned(delivery)),
        }
    }
}
