//! Leases of a deployment, extended while their work is under way.

use std::error::Error;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use chatkeep_store::{Store, StoreError};
use tokio::time::{Instant, sleep};
use tracing::debug;

/// Duration of a lease, which is extended meanwhile: after a crash its work rests this long.
pub const LEASE: Duration = Duration::from_secs(30);

/// Reason why a lease is not held any more.
#[derive(Debug)]
pub enum LostLease<E = StoreError> {
    /// Another process has it.
    Taken,
    /// It ended while it could not be extended.
    Ended(E),
}

/// Extends the lease `name`, which `process` took at that time, until it is lost; returns why.
/// A failure to extend it is no loss while it is valid.
#[boxed]
pub async fn extend_lease(
    store: &Store,
    name: &str,
    process: &str,
    taken_at: Instant,
) -> LostLease {
    let jobs = store.jobs();
    let take = || jobs.take_job_lease(name, process, LEASE);
    extend(name, take, taken_at).await
}

async fn extend<E: Error, F: Future<Output = Result<bool, E>>>(
    name: &str,
    take: impl Fn() -> F,
    taken_at: Instant,
) -> LostLease<E> {
    let mut ends_at = taken_at + LEASE;
    loop {
        sleep(LEASE / 3).await;
        // It is valid from the request on, not from the answer.
        let asked_at = Instant::now();
        match take().await {
            Ok(true) => ends_at = asked_at + LEASE,
            Ok(false) => return LostLease::Taken,
            Err(error) if Instant::now() < ends_at => {
                debug!(%error, lease = name, "cannot extend a lease yet");
            }
            Err(error) => return LostLease::Ended(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::ready;
    use std::io;

    use super::*;

    /// Returns the end of a lease whose requests, which last an instant, have these results, and the
    /// time until then in seconds.
    async fn extended(results: &[Option<bool>]) -> (LostLease<io::Error>, u64) {
        let began = Instant::now();
        let results = RefCell::new(results.iter());
        let take = || {
            let taken = results.borrow_mut().next().copied().flatten();
            ready(taken.ok_or_else(|| io::Error::other("the store is away")))
        };
        let lost = extend("job", take, began).await;
        (lost, began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_no_loss_while_the_lease_is_valid() {
        let (lost, seconds) = extended(&[None, Some(true), None, None, Some(true)]).await;
        assert!(matches!(lost, LostLease::Ended(_)));
        // Thirty seconds after the last request that succeeded, at fifty.
        assert_eq!(seconds, 80);
        let (lost, seconds) = extended(&[]).await;
        assert!(matches!(lost, LostLease::Ended(_)));
        assert_eq!(seconds, 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_of_another_process_is_lost_at_once() {
        let (lost, seconds) = extended(&[Some(true), Some(false)]).await;
        assert!(matches!(lost, LostLease::Taken));
        assert_eq!(seconds, 20);
    }
}
