//! Search replicas: new, behind, beside each other, or failing half-way.

use std::collections::BTreeMap;
use std::sync::Arc;

use chatkeep_core::health::Health;
use chatkeep_core::time::SystemClock;
use chatkeep_store::{ChannelChange, IndexRequest};
use chatkeep_workers::replica::{Replica, ReplicaPhase};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::harness::wait::until;
use crate::stack::DEADLINE;
use crate::store::{Fixture, at, delete_before, on_both, said};

/// More messages than one page.
const MANY: usize = 4_500;

/// A store of two subscribed groups, and a folder for replicas.
struct IndexingEnv {
    fixture: Fixture,
    folder: TempDir,
}

impl IndexingEnv {
    async fn new(fixture: Fixture) -> Self {
        for channel in ["C1", "C2"] {
            fixture.group(channel, &["U1"]).await;
            fixture.subscribe(channel, "U1", 2).await;
        }
        Self { fixture, folder: TempDir::new().unwrap() }
    }

    async fn replica(&self) -> Replica {
        let (store, folder) = (self.fixture.store.clone(), self.folder.path().join("index"));
        Replica::open(store, folder, Arc::new(SystemClock)).await.unwrap()
    }

    /// Makes a replica read the log to its end.
    async fn catch_up(&self, replica: &Replica) {
        self.fixture.log_settled().await;
        replica.catch_up().await.unwrap();
    }

    async fn keep(&self, channel: &str, from: usize, to: usize) {
        let all = (from..to).map(|number| said(channel, &number.to_string(), 5, "hello"));
        self.fixture.keep(&all.collect::<Vec<ChannelChange>>(), 5).await;
    }
}

/// Returns the numbers of messages in a replica, by channel.
fn found(replica: &Replica) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for key in replica.index().keys(None, usize::MAX).unwrap() {
        *found.entry(key.channel_id).or_default() += key.copies;
    }
    found
}

fn only(count: usize) -> BTreeMap<String, usize> {
    BTreeMap::from([("C1".to_owned(), count)])
}

on_both!(
    a_new_replica_has_everything_and_follows,
    a_replica_that_missed_something_fills_itself_anew,
    half_of_a_channel_is_never_committed,
    a_rebuild_loses_nothing_that_happens_meanwhile,
);

async fn a_new_replica_has_everything_and_follows(fixture: Fixture) {
    let ground = IndexingEnv::new(fixture).await;
    ground.keep("C1", 0, MANY).await;
    let replica = ground.replica().await;
    assert_eq!(replica.state().phase, ReplicaPhase::CatchingUp);
    ground.catch_up(&replica).await;
    assert_eq!(found(&replica), only(MANY));

    ground.keep("C1", MANY, MANY + 10).await;
    let store = &ground.fixture.store;
    delete_before(store, &"C1".into(), at(1), at(9)).await;
    ground.catch_up(&replica).await;
    assert_eq!(found(&replica), only(MANY + 10));
    // Two processes that share a data folder have a replica each.
    let second = ground.replica().await;
    assert_ne!(replica.folder(), second.folder());
    ground.catch_up(&second).await;
    assert_eq!(found(&second), only(MANY + 10));
    // A reopened replica continues at its position.
    drop(replica);
    while !delete_before(store, &"C1".into(), at(6), at(9)).await.last {}
    for replica in [ground.replica().await, second] {
        ground.catch_up(&replica).await;
        assert_eq!(found(&replica), BTreeMap::new());
    }
}

async fn a_replica_that_missed_something_fills_itself_anew(fixture: Fixture) {
    let ground = IndexingEnv::new(fixture).await;
    ground.keep("C1", 0, 10).await;
    let replica = ground.replica().await;
    ground.catch_up(&replica).await;
    let filled = replica.state().filled;

    // Behind the retention of the log.
    ground.keep("C1", 10, 20).await;
    ground.fixture.store.outbox().purge_outbox_events(at(100)).await.unwrap();
    ground.catch_up(&replica).await;
    assert_eq!(found(&replica), only(20));
    assert!(replica.state().filled > filled);

    // Of a later state of the database: yesterday's backup was restored.
    ground.fixture.run("DELETE FROM outbox_events").await;
    ground.fixture.run("DELETE FROM messages WHERE message_id > '15'").await;
    if ground.fixture.is_sqlite() {
        ground.fixture.run("UPDATE sqlite_sequence SET seq = 0 WHERE name = 'outbox_events'").await;
        ground.fixture.run("UPDATE deployment SET purged_seq = 0").await;
    } else {
        // Positions of another server.
        ground.fixture.run("UPDATE deployment SET log_epoch = 'other'").await;
    }
    ground.catch_up(&replica).await;
    let kept = ground.fixture.store.messages().all_messages(None, 100).await.unwrap().len();
    assert_eq!(found(&replica), only(kept));
    // No needless rebuild: without a reason it only follows.
    let filled = replica.state().filled;
    ground.keep("C1", 100, 101).await;
    ground.catch_up(&replica).await;
    assert_eq!(replica.state().filled, filled);
}

async fn half_of_a_channel_is_never_committed(fixture: Fixture) {
    let ground = IndexingEnv::new(fixture).await;
    ground.keep("C1", 0, MANY).await;
    let replica = ground.replica().await;
    ground.catch_up(&replica).await;
    ground.keep("C2", 0, 1).await;
    let both = BTreeMap::from([("C1".to_owned(), MANY), ("C2".to_owned(), 1)]);

    // The third page cannot be read.
    let (broken, whole) = ("'nonsense'", "'text'");
    let set = |kind: &str| format!("UPDATE messages SET type = {kind} WHERE message_id = '999'");
    ground.fixture.run(&set(broken)).await;
    let channel = "C1".into();
    let request = IndexRequest::Channel(&channel);
    ground.fixture.store.outbox().request_indexing(request, at(9)).await.unwrap();
    ground.fixture.log_settled().await;
    assert!(replica.catch_up().await.is_err());
    assert_eq!(found(&replica)["C1"], MANY, "as it was");
    let health = Health::new(Arc::new(SystemClock));
    let stop = CancellationToken::new();
    let running = tokio::spawn(replica.clone().run(health.clone(), stop.clone()));
    until("it says why", DEADLINE, async || replica.state().error.is_some()).await;
    assert_eq!(found(&replica)["C1"], MANY, "as it was");

    ground.fixture.run(&set(whole)).await;
    until("it goes on", DEADLINE, async || {
        let well = replica.state().error.is_none() && replica.is_ready();
        well && found(&replica) == both && health.problems().is_empty()
    })
    .await;
    stop.cancel();
    running.await.unwrap();
}

async fn a_rebuild_loses_nothing_that_happens_meanwhile(fixture: Fixture) {
    let ground = IndexingEnv::new(fixture).await;
    ground.keep("C1", 0, MANY).await;
    let replica = ground.replica().await;
    let stop = CancellationToken::new();
    let health = Health::new(Arc::new(SystemClock));
    let running = tokio::spawn(replica.clone().run(health, stop.clone()));
    until("it is ready", DEADLINE, async || replica.is_ready()).await;
    let asked =
        ground.fixture.store.outbox().request_indexing(IndexRequest::Rebuild, at(9)).await.unwrap();
    let mut kept = MANY;
    until("it is rebuilt", DEADLINE, async || {
        assert!(replica.is_ready(), "the old one is asked meanwhile");
        ground.keep("C1", kept, kept + 50).await;
        kept += 50;
        replica.state().filled >= asked
    })
    .await;
    until("nothing is missing", DEADLINE, async || found(&replica) == only(kept)).await;
    stop.cancel();
    running.await.unwrap();
}
