//! Stages whose process dies in the middle of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chatkeep_workers::{Outcome, Stage, StageName};
use tokio::sync::Notify;

use super::bench::Bench;

/// Moment of a process' death in a call of its stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// The messages are leased, nothing is done.
    BeforeWork,
    /// Everything is done, nothing is acknowledged.
    BeforeAck,
}

impl Death {
    pub(crate) const ALL: [Self; 2] = [Self::BeforeWork, Self::BeforeAck];
}

/// Every moment in the first two calls of a stage: a starting runner takes the first message alone,
/// and then as many as it may.
pub(crate) fn deaths() -> impl Iterator<Item = (Death, usize)> {
    Death::ALL.into_iter().flat_map(|death| [(death, 0), (death, 1)])
}

/// A stage that never returns from one of its calls.
struct Dying<S> {
    stage: S,
    death: Death,
    /// Calls that it survives.
    calls: AtomicUsize,
    dead: Arc<Notify>,
}

impl<S: Stage> Stage for Dying<S> {
    type Item = S::Item;

    fn name(&self) -> StageName {
        self.stage.name()
    }

    fn batch_size(&self) -> usize {
        self.stage.batch_size()
    }

    fn concurrency(&self) -> usize {
        self.stage.concurrency()
    }

    fn timeout(&self) -> Duration {
        Duration::MAX
    }

    fn decode(&self, payload: &[u8]) -> Result<S::Item, String> {
        self.stage.decode(payload)
    }

    async fn handle(&self, items: &[S::Item]) -> Vec<Outcome> {
        let left =
            self.calls.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if left.is_ok() {
            return self.stage.handle(items).await;
        }
        if self.death == Death::BeforeAck {
            self.stage.handle(items).await;
        }
        self.dead.notify_one();
        std::future::pending().await
    }
}

impl Bench {
    /// Lets a process die after that many calls of this stage, and starts the next one.
    pub(crate) async fn die<S: Stage>(&mut self, stage: S, (death, calls): (Death, usize)) {
        let (dead, calls) = (Arc::new(Notify::new()), AtomicUsize::new(calls));
        let runner = self.runner(Dying { stage, death, calls, dead: Arc::clone(&dead) });
        let mut running = tokio::spawn(async move { runner.drain().await });
        tokio::select! {
            () = dead.notified() => {}
            ended = &mut running => panic!("the stage ended instead of dying: {ended:?}"),
        }
        running.abort();
        self.restart().await;
    }
}
