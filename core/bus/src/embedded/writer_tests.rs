//! Tests of the syncs to the disk: commits that somebody relies on have one, others have none.

use chatkeep_core::time::SystemClock;

use super::*;
use crate::embedded::EmbeddedBus;
use crate::{BusLimits, Outgoing};

/// A writer beside a bus that has the same memory.
struct Bench {
    writer: Writer,
    ops: mpsc::Sender<Op>,
    bus: EmbeddedBus,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (path, clock) = (folder.path(), Arc::new(SystemClock));
        let bus = EmbeddedBus::attach(path, BusLimits::default(), clock).await.unwrap();
        let file = BusFile::new(path.to_owned(), schema::writer(path).await.unwrap());
        let (ops, queue) = mpsc::channel(1);
        let writer = Writer::new(file, Arc::clone(&bus.inner.shared), queue, None);
        Self { writer, ops, bus, _folder: folder }
    }

    /// Runs a round with an operation; returns whether its commit was synced.
    async fn operate(
        &mut self,
        op: impl FnOnce(oneshot::Sender<Result<(), BusError>>) -> Op,
    ) -> bool {
        let (done, answer) = oneshot::channel();
        self.ops.send(op(done)).await.unwrap();
        let _ = self.writer.round().await;
        answer.await.unwrap().unwrap();
        self.writer.file.syncs().await
    }

    /// Runs a round in which nothing but changes in memory is written.
    async fn acknowledge(&mut self) -> bool {
        self.bus.inner.shared.state().touch(Instant::now());
        let _ = self.writer.round().await;
        self.writer.file.syncs().await
    }
}

fn publish(done: oneshot::Sender<Result<(), BusError>>) -> Op {
    let (subject, id) = ("event.line.0".to_owned(), "E1".to_owned());
    let message = Outgoing { subject, id, payload: "{}".into(), trace: None };
    Op::Publish { messages: vec![RoutedMessage::of(message).unwrap()], done }
}

#[tokio::test]
async fn only_what_somebody_relies_on_is_synced() {
    let mut bench = Bench::new().await;
    assert!(!bench.acknowledge().await);
    assert!(bench.operate(publish).await, "a webhook is answered after it");
    assert!(!bench.acknowledge().await);
    assert!(bench.operate(|done| Op::Flush { done }).await);
    bench.writer.file.lose().await;
    assert!(bench.operate(publish).await, "a new connection");
    assert!(!bench.acknowledge().await);
}
