//! Claims of idempotency keys: a request with a key is run once.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_core::time::SharedClock;
use chatkeep_store::{IdempotencyClaim, IdempotencyKey, IdempotencyState, Store, StoreError};
use chatkeep_workers::log_failure;
use tokio::time::Instant;

use super::ServiceError;

/// Maximum time to wait for a request that runs.
const RUNNING: Duration = Duration::from_secs(5);
/// Interval of looking for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Claims of idempotency keys. Cheap to clone.
#[derive(Clone, Debug)]
pub struct IdempotencyService {
    store: Store,
    clock: SharedClock,
}

impl IdempotencyService {
    pub(super) const fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Claims a key for a request, or returns what became of the first request with it.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn claim(&self, key: &IdempotencyKey) -> Result<IdempotencyState, ServiceError> {
        Ok(self.store.idempotency().claim_idempotency(key, self.clock.now()).await?)
    }

    /// Claims a key as [`Self::claim`] does, and waits a few seconds for the end of a request that has
    /// claimed it and still runs.
    ///
    /// # Errors
    /// Returns an error when the store fails.
    #[boxed]
    pub async fn claim_after_others(
        &self,
        key: &IdempotencyKey,
    ) -> Result<IdempotencyState, ServiceError> {
        let end = Instant::now() + RUNNING;
        loop {
            let state = self.claim(key).await?;
            if state != IdempotencyState::Running || Instant::now() >= end {
                return Ok(state);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Frees a key after its request failed, if it changed nothing. Errors are logged.
    #[boxed]
    pub async fn abandon_after_failure(&self, claim: &IdempotencyClaim) {
        if let Err(error) = self.store.idempotency().abandon_idempotency(claim).await {
            log_unstored(&error);
        }
    }

    /// Stores the sealed response of a completed request, or frees the key of one that changed
    /// nothing, as most refused ones. Errors are logged: the request is never run again, only its
    /// response cannot be replayed.
    #[boxed]
    pub async fn finish(&self, claim: &IdempotencyClaim, status: u16, sealed: &str) {
        if let Err(error) = self.store.idempotency().finish_idempotency(claim, status, sealed).await
        {
            log_unstored(&error);
        }
    }
}

fn log_unstored(error: &StoreError) {
    log_failure!(warn, error, "cannot store the response for its Idempotency-Key");
}
