//! Recording of the results of attempts, in batches.

use std::time::Duration;

use chatkeep_core::metric;
use chatkeep_store::{Attempt, DatabaseFault, LeasedDelivery, Next, StoreError};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{Bodies, Notifier};
use crate::log_failure;

/// Maximum number of attempts in one transaction.
const BATCH: usize = 256;
/// Pause while the store is unavailable.
const PAUSE: Duration = Duration::from_secs(1);

/// Result of a leased delivery.
pub(super) enum DeliveryResult {
    /// It was attempted.
    Tried(Attempt),
    /// It was released before its turn.
    Returned(LeasedDelivery),
}

impl<B: Bodies> Notifier<B> {
    /// Records results until all senders are gone.
    pub(super) async fn record(
        &self,
        stop: &CancellationToken,
        wake: &Notify,
        mut results: mpsc::Receiver<DeliveryResult>,
    ) {
        let mut batch = Vec::new();
        while results.recv_many(&mut batch, BATCH).await > 0 {
            let (mut tried, mut returned) = (Vec::new(), Vec::new());
            for done in batch.drain(..) {
                match done {
                    DeliveryResult::Tried(attempt) => tried.push(attempt),
                    DeliveryResult::Returned(delivery) => returned.push(delivery),
                }
            }
            self.give_back(&returned).await;
            if !tried.is_empty() {
                self.settle(stop, &tried).await;
            }
            wake.notify_one();
        }
    }

    /// Releases deliveries. One that cannot be released is due when its lease ends.
    async fn give_back(&self, deliveries: &[LeasedDelivery]) {
        if deliveries.is_empty() {
            return;
        }
        if let Err(error) =
            self.store.webhooks().return_deliveries(deliveries, self.clock.now()).await
        {
            log_failure!(warn, &error, "cannot return webhook deliveries to the queue");
        }
    }

    /// Records a batch, waiting for a store that is not available. A batch that is refused is
    /// divided, so that the refusal falls on one delivery alone. A stopping process waits for
    /// nothing: an unrecorded delivery is made again when its lease has expired.
    async fn settle(&self, stop: &CancellationToken, batch: &[Attempt]) {
        let mut parts = vec![(batch, Try::First)];
        while let Some((part, attempt)) = parts.pop() {
            let Err(error) = self.settle_part(part).await else { continue };
            log_failure!(warn, &error, deliveries = part.len(), "cannot record webhook deliveries");
            match error.fault() {
                DatabaseFault::Cancelled | DatabaseFault::Refused | DatabaseFault::Unknown
                    if part.len() > 1 =>
                {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([(second, Try::First), (first, Try::First)]);
                }
                DatabaseFault::Unavailable | DatabaseFault::Cancelled => {
                    parts.push((part, attempt));
                    if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
                        return;
                    }
                }
                // Perhaps one of the connection alone.
                DatabaseFault::Unknown if attempt == Try::First => {
                    parts.push((part, Try::Second));
                    if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
                        return;
                    }
                }
                DatabaseFault::Refused | DatabaseFault::Unknown => {
                    metric::DELIVERY_ATTEMPTS.add(["unrecorded".into()], part.len() as u64);
                }
            }
        }
    }

    async fn settle_part(&self, part: &[Attempt]) -> Result<(), StoreError> {
        let now = self.clock.now();
        let give_up = now.minus(self.settings.give_up);
        let disabled = self.store.webhooks().settle_webhooks(part, give_up, now).await?;
        for (webhook, reason) in disabled {
            info!(%webhook, reason = reason.name(), "a webhook was disabled");
        }
        part.iter().for_each(count);
        Ok(())
    }
}

/// Attempt to record one delivery for whose failure there is no known reason.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Try {
    First,
    Second,
}

fn count(attempt: &Attempt) {
    let outcome = match attempt.next {
        Next::Delivered => "delivered",
        Next::Retry(_) => "retry",
        Next::Failed => "failed",
        Next::Dropped => "dropped",
        Next::Gone => "gone",
    };
    metric::DELIVERY_ATTEMPTS.add([outcome.into()], 1);
    if let Some(took) = attempt.took_ms.and_then(|took| u64::try_from(took).ok()) {
        metric::DELIVERY_SECONDS.record([], Duration::from_millis(took));
    }
}
