//! Notifier: sends what happens to the webhooks that want it.
//!
//! Two loops that any number of processes may run side by side. One makes deliveries of what
//! happened, from a place in the feed that is kept in the store. The other takes deliveries that
//! are due, a few of each webhook at a time, so that a slow or dead one holds up nobody else. A
//! delivery is leased while it waits for its turn and is made: one whose process died is made again,
//! under the same `webhook-id`.

mod attempt;
mod dispatch;
mod owners;
mod record;
mod schedule;
mod texts;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::log_failure;
use chatkeep_core::metric;
use chatkeep_core::platform::Bots;
use chatkeep_core::store::{Store, StoreError, Told};
use chatkeep_core::time::{SharedClock, Timestamp};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::info;

/// How often it is looked whether something happened, or is due.
const LOOK: Duration = Duration::from_millis(250);
/// How often the queue is measured.
const MEASURE: Duration = Duration::from_secs(5);
/// How often old deliveries are looked for.
const PURGE: Duration = Duration::from_mins(10);
/// Attempts that wait to be written down, at most.
const RESULTS: usize = 1_024;

/// What is sent of something that happened.
pub trait Bodies: Send + Sync + 'static {
    /// The body, as things are now; nothing when what it is about is gone, or beyond what may be
    /// told.
    fn body<'a>(
        &'a self,
        told: &'a Told,
        bounds: &'a Bounds,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, StoreError>> + Send + 'a;
}

/// How webhooks are delivered.
#[derive(Clone, Debug)]
pub struct NotifierSettings {
    /// Deliveries at once.
    pub parallel: usize,
    /// Of them to one webhook, by one process.
    pub parallel_each: usize,
    /// For one delivery.
    pub timeout: Duration,
    /// Pauses before each further attempt.
    pub retries: Vec<Duration>,
    /// A webhook that fails for this long is disabled.
    pub give_up: Duration,
    /// How long deliveries are kept.
    pub keep: Duration,
    /// Whether owners are told in their chat with the bot.
    pub tell_owners: bool,
}

/// Sends what happens to webhooks.
#[derive(Debug)]
pub struct Notifier<B> {
    /// Holds webhooks and deliveries.
    pub store: Store,
    /// Makes what is sent.
    pub bodies: B,
    /// Calls only addresses that may be called.
    pub http: GuardedClient,
    /// Tells owners of their webhook's end.
    pub bots: Bots,
    /// Tells what is due.
    pub clock: SharedClock,
    /// How it is done.
    pub settings: NotifierSettings,
}

impl<B: Bodies> Notifier<B> {
    /// Works until `stop` is cancelled, then finishes the deliveries under way.
    pub async fn run(self, stop: CancellationToken) {
        if self.store.is_embedded() {
            // Nobody else uses it, so what is taken was taken by a process that is dead.
            match self.store.release_webhooks(self.clock.now()).await {
                Ok(0) => {}
                Ok(freed) => info!(freed, "webhook deliveries were interrupted by a crash"),
                Err(error) => log_failure!(warn, &error, "cannot free webhook deliveries"),
            }
        }
        let notifier = Arc::new(self);
        let wake = Arc::new(Notify::new());
        let (results, recorded) = mpsc::channel(RESULTS);
        tokio::join!(
            notifier.fan_out(&stop, &wake),
            Arc::clone(&notifier).dispatch(&stop, &wake, results),
            notifier.record(&stop, &wake, recorded),
            notifier.tell_owners(&stop),
            notifier.measure(&stop),
            notifier.purge(&stop),
        );
    }

    /// Makes deliveries of what happened.
    async fn fan_out(&self, stop: &CancellationToken, wake: &Notify) {
        let mut looks = looks(LOOK);
        while stop.run_until_cancelled(looks.tick()).await.is_some() {
            loop {
                match self.store.fan_out_webhooks(self.clock.now()).await {
                    Ok(Some(made)) if made > 0 => wake.notify_one(),
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(error) => {
                        log_failure!(warn, &error, "cannot look for what happened");
                        break;
                    }
                }
                if stop.is_cancelled() {
                    break;
                }
            }
        }
    }

    async fn measure(&self, stop: &CancellationToken) {
        let mut looks = looks(MEASURE);
        while stop.run_until_cancelled(looks.tick()).await.is_some() {
            let now = self.clock.now();
            match self.store.webhook_queue(now).await {
                Ok(queue) => {
                    let lag = queue.oldest_due.map_or(Duration::ZERO, |due| now.since(due));
                    metric::DELIVERY_QUEUE.set([], counted(queue.waiting));
                    metric::DELIVERY_DUE.set([], counted(queue.due));
                    metric::DELIVERY_LAG_SECONDS.set([], lag.as_secs_f64());
                }
                Err(error) => log_failure!(warn, &error, "cannot count webhook deliveries"),
            }
        }
    }

    async fn purge(&self, stop: &CancellationToken) {
        let mut looks = looks(PURGE);
        while stop.run_until_cancelled(looks.tick()).await.is_some() {
            let age = i64::try_from(self.settings.keep.as_millis()).unwrap_or(i64::MAX);
            let before = Timestamp::from_millis(self.clock.now().millis().saturating_sub(age));
            loop {
                match self.store.purge_webhook_deliveries(before).await {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => {
                        log_failure!(warn, &error, "cannot remove old webhook deliveries");
                        break;
                    }
                }
            }
        }
    }
}

fn looks(every: Duration) -> tokio::time::Interval {
    let mut looks = tokio::time::interval(every);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    looks
}

#[expect(clippy::cast_precision_loss, reason = "a gauge; nobody has 2^53 deliveries")]
const fn counted(count: i64) -> f64 {
    count as f64
}
