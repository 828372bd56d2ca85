//! What benches of the API have in common: somebody's key, and how long requests take.

use std::time::{Duration, Instant};

use anyhow::Result;
use chatkeep_core::id::UserId;
use chatkeep_core::role::Scope;
use chatkeep_core::store::{NewKey, Store};
use chatkeep_core::time::Timestamp;

/// The key of [`add_key`].
pub(crate) const KEY: &str = "ck_bench";

/// Gives the user [`KEY`], with all scopes.
pub(crate) async fn add_key(store: &Store, user: &UserId, now: Timestamp) -> Result<()> {
    let key = NewKey {
        id: &"key_bench".into(),
        secret: KEY,
        user,
        name: "bench",
        scopes: &Scope::ALL,
        channels: None,
        not_before: None,
        expires_at: None,
    };
    store.add_key(&key, now).await?;
    Ok(())
}

/// Makes a request `rounds` times, one after another: how long half of them and 99 of 100 took at
/// most.
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
