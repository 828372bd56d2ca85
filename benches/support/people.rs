//! Helpers shared by the API benches: an API key, and request latency.

use std::time::{Duration, Instant};

use anyhow::Result;
use chatkeep_core::id::UserId;
use chatkeep_core::role::Scope;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{NewKey, Store};

/// API key that [`add_key`] creates.
pub(crate) const KEY: &str = "ck_bench";

/// Creates the API key [`KEY`] with all scopes for the user.
pub(crate) async fn add_key(store: &Store, user: &UserId, now: Timestamp) -> Result<()> {
    let key = NewKey {
        pseudonyms: None,
        id: &"key_bench".into(),
        secret: KEY,
        user,
        name: "bench",
        scopes: &Scope::ALL,
        channels: None,
        not_before: None,
        expires_at: None,
    };
    store.keys().add_key(&key, now).await?;
    Ok(())
}

/// Makes a request `rounds` times, one after another; returns the median and the 99th percentile of
/// the latency.
pub(crate) async fn latency(
    rounds: usize,
    mut request: impl AsyncFnMut() -> Result<()>,
) -> Result<(Duration, Duration)> {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        request().await?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok((times[rounds / 2], times[rounds * 99 / 100]))
}
