//! Periodic work beside the deliveries: figures of the queue, and the purge of old deliveries.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::metric;
use tokio_util::sync::CancellationToken;

use super::owners::OwnerNotices;
use super::{Bodies, FAILING_AFTER, Notifier};
use crate::periodic::{JobFailure, JobScope, PeriodicJob, PeriodicJobs};

/// Measures the queue of deliveries.
struct QueueFigures<B>(Arc<Notifier<B>>);

/// Purges old deliveries.
struct DeliveryPurge<B>(Arc<Notifier<B>>);

impl<B: Bodies> Notifier<B> {
    /// Adds its periodic jobs to those of the process.
    pub fn add_jobs(self: &Arc<Self>, jobs: &PeriodicJobs) {
        jobs.add(OwnerNotices(Arc::clone(self)));
        jobs.add(QueueFigures(Arc::clone(self)));
        jobs.add(DeliveryPurge(Arc::clone(self)));
    }
}

impl<B: Bodies> PeriodicJob for QueueFigures<B> {
    const NAME: &'static str = "delivery_queue_figures";
    /// Every pending delivery is counted.
    const PERIOD: Duration = Duration::from_mins(1);
    const FAILURE: &'static str = "cannot count webhook deliveries";

    async fn run(&self, _stop: &CancellationToken) -> Result<(), JobFailure> {
        let Notifier { store, clock, .. } = &*self.0;
        let now = clock.now();
        let queue = store.webhooks().webhook_queue(now.minus(FAILING_AFTER), now).await?;
        let lag = queue.oldest_due.map_or(Duration::ZERO, |due| now.since(due));
        metric::DELIVERY_QUEUE.set([], counted(queue.waiting));
        metric::DELIVERY_DUE.set([], counted(queue.due));
        metric::DELIVERY_LAG_SECONDS.set([], lag.as_secs_f64());
        Ok(())
    }
}

impl<B: Bodies> PeriodicJob for DeliveryPurge<B> {
    const NAME: &'static str = "delivery_purge";
    const PERIOD: Duration = Duration::from_mins(10);
    const FAILURE: &'static str = "cannot remove old webhook deliveries";
    const SCOPE: JobScope = JobScope::Deployment;
    const GOES_BY_AGE: bool = true;

    async fn run(&self, stop: &CancellationToken) -> Result<(), JobFailure> {
        let Notifier { store, clock, settings, .. } = &*self.0;
        let before = clock.now().minus(settings.keep);
        while !stop.is_cancelled() && store.webhooks().purge_webhook_deliveries(before).await? > 0 {
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a gauge; nobody has 2^53 deliveries")]
const fn counted(count: i64) -> f64 {
    count as f64
}
