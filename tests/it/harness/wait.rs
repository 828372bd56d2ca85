//! Waiting for a condition, the only kind of waiting in tests: no fixed sleeps.

use std::panic::Location;
use std::time::{Duration, Instant};

/// Poll interval: short beside any test, cheap beside two cores.
const INTERVAL: Duration = Duration::from_millis(10);

/// Polls `condition` until it holds.
///
/// # Panics
/// Panics if it does not hold within `deadline`, with `what` and the line of the caller.
#[track_caller]
pub(crate) fn until<C>(what: &str, deadline: Duration, mut condition: C) -> impl Future<Output = ()>
where
    C: AsyncFnMut() -> bool,
{
    let caller = Location::caller();
    async move {
        let start = Instant::now();
        let poll = async {
            while !condition().await {
                tokio::time::sleep(INTERVAL).await;
            }
        };
        // The timeout also ends a condition which itself hangs.
        if tokio::time::timeout(deadline, poll).await.is_err() {
            let waited = start.elapsed();
            panic!("{caller}: waited {waited:.1?} in vain for {what}");
        }
    }
}
