//! Notifier: delivers outbox events to the webhook endpoints that subscribe to them.
//!
//! Two loops that any number of processes may run side by side. One creates deliveries of outbox
//! events, from a position in the feed that is stored. The other leases due deliveries, a few of
//! each endpoint at a time, so that a slow or dead one holds up nobody else. A delivery is leased
//! while it waits for its turn and is made: one whose process died is made again, under the same
//! `webhook-id`.

mod attempt;
mod dispatch;
mod jobs;
mod owners;
mod record;
mod schedule;
mod texts;
mod traces;

use std::error::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_store::{LeasedDelivery, Store, StoreError};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::log_failure;
use crate::recent_traces::RecentTraces;

/// Poll interval of new events and due deliveries.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Time of failure after which an endpoint gets one delivery at a time, and is not counted as late.
pub const FAILING_AFTER: Duration = Duration::from_mins(1);
/// Maximum number of attempts that wait to be recorded.
const RESULTS: usize = 1_024;

/// Renderer of event bodies.
pub trait Bodies: Send + Sync + 'static {
    /// Reason for which there is no body now.
    type Error: Error + Send + Sync + 'static;

    /// Returns the body by the current state; `None` if its subject is gone, or beyond what may be
    /// shown.
    ///
    /// # Errors
    /// Returns an error if that cannot be known now; the delivery is tried again.
    fn body<'a>(
        &'a self,
        delivery: &'a LeasedDelivery,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, Self::Error>> + Send + 'a;

    /// Returns `true` if the same body can be rendered once the store is back: the delivery waits,
    /// and no attempt is counted.
    fn is_transient(error: &Self::Error) -> bool;
}

/// Settings of webhook deliveries.
#[derive(Clone, Debug)]
pub struct NotifierSettings {
    /// Concurrent deliveries.
    pub parallel: usize,
    /// Concurrent deliveries to one endpoint, by one process.
    pub parallel_each: usize,
    /// Timeout of one delivery attempt.
    pub timeout: Duration,
    /// Pauses before each further attempt.
    pub retries: Vec<Duration>,
    /// Time of continuous failure after which an endpoint is disabled.
    pub give_up: Duration,
    /// Retention of deliveries.
    pub keep: Duration,
    /// `true` if owners are notified in their chat with the bot.
    pub tell_owners: bool,
}

/// Delivers outbox events to webhook endpoints.
#[derive(Debug)]
pub struct Notifier<B> {
    /// Store of endpoints and deliveries.
    pub store: Store,
    /// Renderer of bodies.
    pub bodies: B,
    /// HTTP client that requests only allowed addresses.
    pub http: GuardedClient,
    /// Bots that notify owners of disabled endpoints.
    pub bots: Bots,
    /// Clock for due deliveries.
    pub clock: SharedClock,
    /// Settings.
    pub settings: NotifierSettings,
    /// Traces that deliveries continue.
    pub traces: RecentTraces,
}

impl<B: Bodies> Notifier<B> {
    /// Releases the deliveries that a crash has interrupted. To be called once, before
    /// [`Notifier::run`].
    #[boxed]
    pub async fn release_interrupted(&self) {
        if self.store.is_embedded() {
            // No other process uses the store, so existing leases belong to a dead process.
            match self.store.webhooks().release_deliveries(self.clock.now()).await {
                Ok(0) => {}
                Ok(freed) => {
                    info!(freed, "released webhook deliveries that a crash had interrupted");
                }
                Err(error) => log_failure!(warn, &error, "cannot release webhook deliveries"),
            }
        }
    }

    /// Runs until `stop` is cancelled, then finishes the deliveries under way. Its periodic work is
    /// in [`Notifier::add_jobs`].
    #[boxed]
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let wake = Notify::new();
        let (results, recorded) = mpsc::channel(RESULTS);
        tokio::join!(
            self.fan_out(&stop, &wake),
            Arc::clone(&self).dispatch(&stop, &wake, results),
            self.record(&stop, &wake, recorded),
        );
    }

    /// Creates the deliveries of every outbox event, makes those that are due, and returns their
    /// number once their results are recorded. For tests of stages; [`Notifier::run`] goes on until
    /// it is stopped.
    ///
    /// # Errors
    /// Returns an error when deliveries cannot be created or leased.
    #[boxed]
    pub async fn drain(self: Arc<Self>) -> Result<usize, StoreError> {
        let (stop, wake) = (CancellationToken::new(), Notify::new());
        self.fan_out_all(&stop, &wake).await?;
        let mut delivered = 0;
        loop {
            // What is not recorded keeps others of its endpoint from being leased.
            let (results, recorded) = mpsc::channel(RESULTS);
            let (made, ()) = tokio::join!(
                Arc::clone(&self).dispatch_once(&stop, results),
                self.record(&stop, &wake, recorded),
            );
            match made? {
                0 => return Ok(delivered),
                made => delivered += made,
            }
        }
    }

    /// Creates deliveries of outbox events.
    async fn fan_out(&self, stop: &CancellationToken, wake: &Notify) {
        let mut ticks = ticks(POLL_INTERVAL);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            if let Err(error) = self.fan_out_all(stop, wake).await {
                log_failure!(warn, &error, "cannot read outbox events");
            }
        }
    }

    /// Creates deliveries of outbox events until none is left.
    async fn fan_out_all(&self, stop: &CancellationToken, wake: &Notify) -> Result<(), StoreError> {
        while !stop.is_cancelled() {
            match self.store.webhooks().fan_out_webhooks(self.clock.now()).await? {
                Some(made) if made > 0 => wake.notify_one(),
                Some(_) => {}
                None => break,
            }
        }
        Ok(())
    }
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks
}
