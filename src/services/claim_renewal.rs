//! Claims of the workers' jobs: renewed while a step of one runs, however long it waits for its
//! channel or a store.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

/// Period in which a claim is renewed.
const PERIOD: Duration = Duration::from_secs(3);
/// Maximum number of renewals during a step: one that takes longer than two minutes hangs, and
/// another worker may have its job.
const MOST: u32 = 40;

/// Runs a step of a job, and renews the job's claim meanwhile.
pub(crate) async fn renewing<T, R>(renew: impl Fn() -> R, step: impl Future<Output = T>) -> T
where
    R: Future<Output = ()>,
{
    let renewals = async {
        for _ in 0..MOST {
            tokio::time::sleep(PERIOD).await;
            renew().await;
        }
        pending::<Infallible>().await
    };
    tokio::select! {
        done = step => done,
        never = renewals => match never {},
    }
}
