//! Tests of the writer: commits that somebody relies on are synced, others are not; and a panic loses
//! nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use chatkeep_core::time::{Clock, SystemClock, Timestamp};

use super::*;
use crate::embedded::EmbeddedBus;
use crate::embedded::state::PendingDeadLetter;
use crate::{BusLimits, Outgoing, Stream};

/// A clock that panics once it is told to.
#[derive(Debug, Default)]
struct Fuse {
    blown: AtomicBool,
}

impl Clock for Fuse {
    fn now(&self) -> Timestamp {
        assert!(!self.blown.swap(false, Ordering::SeqCst), "a defect");
        SystemClock.now()
    }
}

/// A writer beside a bus that has the same memory.
struct Bench {
    writer: Writer,
    ops: mpsc::Sender<Op>,
    bus: EmbeddedBus,
    fuse: Arc<Fuse>,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (path, fuse) = (folder.path(), Arc::new(Fuse::default()));
        let bus = EmbeddedBus::attach(path, BusLimits::default(), fuse.clone()).await.unwrap();
        let file = BusFile::new(path.to_owned(), schema::writer(path).await.unwrap());
        let (ops, queue) = mpsc::channel(1);
        let writer = Writer::new(file, Arc::clone(&bus.inner.shared), queue, None);
        Self { writer, ops, bus, fuse, _folder: folder }
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

#[tokio::test]
async fn a_panic_while_it_writes_loses_nothing() {
    let mut bench = Bench::new().await;
    let letter = PendingDeadLetter {
        consumer: "backup".to_owned(),
        stream: Stream::Events,
        queue: String::new(),
        subject: "event.line.0".to_owned(),
        message_id: "E1".to_owned(),
        reason: "poison".to_owned(),
        attempts: 1,
        died_at: SystemClock.now(),
        payload: "{}".into(),
    };
    bench
        .bus
        .inner
        .shared
        .state()
        .restore(Changes { dead_letters: vec![letter], ..Changes::default() }, Instant::now());
    bench.fuse.blown.store(true, Ordering::SeqCst);
    let (done, answer) = oneshot::channel();
    bench.ops.send(Op::Flush { done }).await.unwrap();
    let _ = bench.writer.round().await;
    assert!(answer.await.unwrap().is_err(), "who waits is told");
    assert!(!bench.fuse.blown.load(Ordering::SeqCst), "it panicked");
    assert!(bench.operate(|done| Op::Flush { done }).await);
    assert_eq!(bench.bus.dead_letters(None, None, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_checkpoint_that_a_reader_prevents_is_not_taken_for_done() {
    let mut bench = Bench::new().await;
    let mut reader = bench.bus.inner.readers.acquire().await.unwrap();
    for sql in ["BEGIN", "SELECT COUNT(*) FROM message"] {
        sqlx::query(sql).execute(&mut *reader).await.unwrap();
    }
    bench.operate(publish).await;
    bench.writer.scrub(DueCheckpoint::Idle).await;
    assert!(bench.bus.checkpoint_overdue().is_some());
    sqlx::query("ROLLBACK").execute(&mut *reader).await.unwrap();
    bench.writer.scrub(DueCheckpoint::Idle).await;
    assert_eq!(bench.bus.checkpoint_overdue(), None);
}
