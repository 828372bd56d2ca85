//! CPU-bound work, apart from the threads that serve requests.
//!
//! Those threads are few and shared: a request that computes for long on one of them delays all
//! others, webhooks among them. So work that grows with the input goes to a thread pool of its own
//! as soon as it may take about a millisecond, with a concurrency that leaves a processor for the
//! rest.

use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Bytes of input that are processed in well under a millisecond, whatever their content.
pub const LIGHT: usize = 16 * 1024;

/// Pool for one kind of work with bounded concurrency.
#[derive(Debug)]
pub struct BlockingPool(LazyLock<Arc<Semaphore>>);

/// Work for callers of the API.
pub static CALLERS: BlockingPool = BlockingPool::new();
/// Work for incoming webhooks, which never wait for callers of the API.
pub static WEBHOOKS: BlockingPool = BlockingPool::new();
/// Work for saved searches, for which nobody waits.
pub static SAVED_SEARCHES: BlockingPool = BlockingPool::new();

/// Creates permits for all processors but one.
fn turns() -> Arc<Semaphore> {
    let processors = available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(processors.saturating_sub(1).max(1)))
}

impl BlockingPool {
    const fn new() -> Self {
        Self(LazyLock::new(turns))
    }

    /// Runs `work` on a blocking thread once there is a permit. Panics are propagated.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // Never closed.
        let turn = Arc::clone(&self.0).acquire_owned().await;
        // Boxed, so that the code of a task is compiled for each result and not for each caller.
        let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
        // The permit goes with the work: the caller may be gone before it is done.
        let done = spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        match done.await {
            Ok(done) => done,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // The process ends.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn a_processor_is_left_and_the_caller_is_not_held_up() {
        let heavy = BlockingPool(LazyLock::new(|| Arc::new(Semaphore::new(2))));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let here = thread::current().id();
        let all = (0..20).map(|_| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            heavy.run(move || {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
                thread::current().id()
            })
        });
        for done in futures_util::future::join_all(all).await {
            assert_ne!(done, here);
        }
        assert!(most.load(Ordering::SeqCst) <= 2);
        assert!(turns().available_permits() >= 1);
    }
}
