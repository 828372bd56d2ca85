//! CPU-bound work, apart from the threads that serve requests.
//!
//! Those threads are few and shared: a request that computes for long on one of them delays all
//! others, webhooks among them. So work that grows with the input goes to a thread pool of its own
//! as soon as it may take about a millisecond, with a concurrency that leaves a processor for the
//! rest.

use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// Bytes of input that are processed in well under a millisecond, whatever their content.
pub const LIGHT: usize = 16 * 1024;

/// Pool for one kind of work with bounded concurrency.
#[derive(Debug)]
pub struct BlockingPool {
    /// Returns the number of permits for a number of processors.
    size: fn(usize) -> usize,
    permits: OnceLock<Arc<Semaphore>>,
}

/// Work for callers of the API.
pub static CALLERS: BlockingPool = BlockingPool::new(all_but_one);
/// Work for incoming webhooks, which never wait for callers of the API.
pub static WEBHOOKS: BlockingPool = BlockingPool::new(all_but_one);
/// Work for saved searches, for which nobody waits.
pub static SAVED_SEARCHES: BlockingPool = BlockingPool::new(all_but_one);

/// Returns the number of permits that leaves a processor for the rest.
pub const fn all_but_one(processors: usize) -> usize {
    processors.saturating_sub(1)
}

impl BlockingPool {
    /// Creates a pool with as many permits as `size` returns for the number of processors, at least
    /// one.
    pub const fn new(size: fn(usize) -> usize) -> Self {
        Self { size, permits: OnceLock::new() }
    }

    fn permits(&self) -> Arc<Semaphore> {
        let permits = || {
            let processors = available_parallelism().map_or(1, usize::from);
            Arc::new(Semaphore::new((self.size)(processors).max(1)))
        };
        Arc::clone(self.permits.get_or_init(permits))
    }

    /// Runs `work` on a blocking thread once there is a permit. The permit ends with the work, which
    /// a caller that is gone does not stop.
    ///
    /// # Errors
    /// Returns an error if the work panics.
    pub async fn try_run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        // Never closed.
        let permit = self.permits().acquire_owned().await;
        // Boxed, so that the code of a task is compiled for each result and not for each caller.
        let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
        let done = spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        });
        done.await
    }

    /// Runs `work` as [`try_run`](Self::try_run) does, and propagates its panics.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        match self.try_run(work).await {
            Ok(done) => done,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // The process ends.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
#[path = "heavy_edge_tests.rs"]
mod edge_tests;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn a_processor_is_left_and_the_caller_is_not_held_up() {
        let heavy = BlockingPool::new(|_| 2);
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
        assert!(CALLERS.permits().available_permits() >= 1);
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_does_not_make_room_before_its_work_is_done() {
        let heavy = BlockingPool::new(|_| 1);
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let mut first = Box::pin(heavy.run(move || ended.recv()));
        // It has begun, and waits.
        assert!(futures_util::poll!(&mut first).is_pending());
        drop(first);
        let mut second = Box::pin(heavy.run(|| ()));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert_eq!(heavy.permits().available_permits(), 0);
        end.send(()).unwrap();
        second.await;
    }
}
