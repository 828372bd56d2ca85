//! Search replicas: the index says what the store says, whatever happened on the way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::time::{Clock as _, SharedClock};
use chatkeep_emulator::{Event, Media as File, Post};
use chatkeep_store::{IndexRequest, MediaReason};
use chatkeep_workers::periodic::PeriodicJob as _;
use chatkeep_workers::replica::{
    Drift, IndexAudit, LogPosition, Replica, ReplicaError, ReplicaPhase,
};
use proptest::test_runner::TestRunner;
use tokio_util::sync::CancellationToken;

use super::backup::story;
use super::bench::{Bench, DEADLINE, Group, message, shuffled_twice, skip, until};

async fn replica(bench: &Bench) -> Replica {
    let clock = Arc::clone(&bench.clock) as SharedClock;
    Replica::open(bench.store.clone(), bench.folder.path().join("index"), clock).await.unwrap()
}

/// Returns the number of copies of each message in the index, by channel.
fn found(replica: &Replica) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for key in replica.index().keys(None, usize::MAX).unwrap() {
        *found.entry(key.channel_id).or_default() += key.copies;
    }
    found
}

/// Returns the differences between index and store.
async fn drifts(bench: &Bench, replica: &Replica) -> Vec<Drift> {
    let index = replica.index();
    let mut audit = IndexAudit::new(&bench.store, &index, None, Duration::ZERO);
    let mut all = Vec::new();
    while let Some((drifts, _)) = audit.next().await.unwrap() {
        all.extend(drifts.into_values());
    }
    all
}

impl Bench {
    async fn store_all(&self, events: &[Event]) {
        self.publish(events).await;
        self.drain(self.backup()).await;
    }

    fn said_by_bob(&self, group: &Group, count: usize) -> Vec<Event> {
        (0..count).flat_map(|n| self.say(&group.id, &group.bob, format!("lunch {n}"))).collect()
    }
}

#[tokio::test]
async fn a_replica_follows_in_any_order() {
    let mut random = TestRunner::deterministic();
    for _ in 0..4 {
        let (bench, group) = Bench::with_group().await;
        let follower = replica(&bench).await;
        let events = story(&bench, &group);
        for part in shuffled_twice(events, &mut random).chunks(4) {
            bench.store_all(part).await;
            follower.catch_up().await.unwrap();
            assert_eq!(drifts(&bench, &follower).await, []);
        }
        // The text that stays, the edited one, and the picture.
        assert_eq!(found(&follower), BTreeMap::from([(group.id.clone(), 3)]));
        // One that begins now finds the same.
        let beginner = replica(&bench).await;
        assert_ne!(beginner.folder(), follower.folder());
        beginner.catch_up().await.unwrap();
        assert_eq!(found(&beginner), found(&follower));
    }
}

#[tokio::test]
async fn what_a_replica_has_read_is_there_when_its_process_died() {
    let (mut bench, group) = Bench::with_group().await;
    bench.store_all(&bench.said_by_bob(&group, 5)).await;
    let first = replica(&bench).await;
    first.catch_up().await.unwrap();
    let (position, filled) = (first.state().position, first.state().filled);
    bench.store_all(&bench.said_by_bob(&group, 5)).await;
    drop(first);
    bench.restart().await;
    let second = replica(&bench).await;
    assert_eq!(
        (second.state().position, second.state().phase),
        (position, ReplicaPhase::CatchingUp)
    );
    assert_eq!(found(&second), BTreeMap::from([(group.id.clone(), 5)]));
    second.catch_up().await.unwrap();
    assert_eq!(second.state().filled, filled, "it went on where it was");
    assert_eq!(found(&second), BTreeMap::from([(group.id.clone(), 10)]));
    assert!(second.is_ready());
}

#[tokio::test]
async fn the_lag_is_the_age_of_what_was_not_read() {
    let (bench, group) = Bench::with_group().await;
    let replica = replica(&bench).await;
    replica.catch_up().await.unwrap();
    assert_eq!(replica.lag().await.unwrap(), Duration::ZERO);
    bench.store_all(&bench.said_by_bob(&group, 1)).await;
    bench.clock.advance(Duration::from_secs(7));
    bench.store_all(&bench.said_by_bob(&group, 1)).await;
    bench.clock.advance(Duration::from_secs(1));
    assert_eq!(replica.lag().await.unwrap(), Duration::from_secs(8));
    replica.catch_up().await.unwrap();
    assert_eq!(replica.lag().await.unwrap(), Duration::ZERO);
}

#[tokio::test]
async fn rows_of_the_log_that_concern_no_message_cost_no_commit_each() {
    let (bench, group) = Bench::with_group().await;
    let sent =
        bench.post(&group.id, &group.bob, Post::File(File::new("text/plain", "a"), "a".to_owned()));
    bench.store_all(&sent).await;
    let replica = replica(&bench).await;
    replica.catch_up().await.unwrap();
    let (index, mut state) = (replica.index(), replica.watch());
    let committed = || index.position().as_deref().and_then(LogPosition::parse).unwrap().last.at;
    let stop = CancellationToken::new();
    let running = tokio::spawn(replica.clone().run(bench.health.clone(), stop.clone()));
    let mut read_on = async || {
        // What is committed may be told a moment later.
        let before = state.borrow_and_update().position.max(committed());
        let (channel, file) = (group.channel(), message(&sent));
        let (media, now) = (bench.store.media(), bench.clock.now());
        assert!(media.fail_media(&channel, &file, MediaReason::Refused, now).await.unwrap());
        replica.wake();
        let read = tokio::time::timeout(DEADLINE, state.wait_for(|now| now.position > before));
        read.await.unwrap().unwrap().position
    };
    let first = committed();
    let mut last = first;
    for _ in 0..5 {
        last = read_on().await;
        assert_eq!(committed(), first, "no commit");
    }
    assert!(replica.is_ready());
    assert_eq!(replica.lag().await.unwrap(), Duration::ZERO, "it has read everything");
    // With the next change, and otherwise after a while.
    bench.store_all(&bench.said_by_bob(&group, 1)).await;
    replica.wake();
    until("the message is found", async || found(&replica)[&group.id] == 2).await;
    assert!(committed() > last);
    let last = read_on().await;
    assert!(committed() < last);
    until("the position is committed", async || {
        skip(Duration::from_secs(10)).await;
        committed() == last
    })
    .await;
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn an_audit_waits_for_what_came_while_it_took_long() {
    let (bench, group) = Bench::with_group().await;
    let replica = replica(&bench).await;
    replica.catch_up().await.unwrap();
    let (index, timeout) = (replica.index(), Duration::from_secs(5));
    let mut audit = IndexAudit::new(&bench.store, &index, None, timeout);
    skip(timeout * 2).await;
    bench.store_all(&bench.said_by_bob(&group, 3)).await;
    let indexed = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        replica.catch_up().await.unwrap();
    };
    let (compared, ()) = tokio::join!(audit.next(), indexed);
    assert_eq!(compared.unwrap(), Some((BTreeMap::new(), 3)));
}

#[tokio::test]
async fn an_index_that_no_process_has_is_deleted_after_two_looks() {
    let (bench, group) = Bench::with_group().await;
    bench.store_all(&bench.said_by_bob(&group, 3)).await;
    let [first, second, third] =
        [replica(&bench).await, replica(&bench).await, replica(&bench).await];
    let folders = [&first, &second, &third].map(|replica| replica.folder().to_path_buf());
    for replica in [&first, &second, &third] {
        replica.catch_up().await.unwrap();
    }
    let (spares, stop) = (second.spares(), CancellationToken::new());
    let look = async || {
        spares.run(&stop).await.unwrap();
        folders.each_ref().map(|folder| folder.exists())
    };
    drop(third);
    assert_eq!(look().await, [true; 3], "it may come again");
    let third = replica(&bench).await;
    assert_eq!(third.folder(), folders[2]);
    assert_eq!(look().await, [true; 3], "it has come again");
    drop((first, third));
    assert_eq!(look().await, [true; 3]);
    assert_eq!(look().await, [false, true, false]);
    let again = replica(&bench).await;
    assert_eq!(again.folder(), folders[0], "the lowest number that is free");
    again.catch_up().await.unwrap();
    assert_eq!(found(&again), found(&second));
    // A command does not wait.
    drop(second);
    again.delete_spares().await.unwrap();
    assert_eq!(folders.each_ref().map(|folder| folder.exists()), [true, false, false]);
}

#[tokio::test]
async fn a_command_takes_the_first_index_or_none() {
    let (bench, _) = Bench::with_group().await;
    let folder = bench.folder.path().join("index");
    let open = async || {
        let clock = Arc::clone(&bench.clock) as SharedClock;
        Replica::open_first(bench.store.clone(), folder.clone(), clock).await
    };
    let replica = replica(&bench).await;
    assert!(matches!(open().await, Err(ReplicaError::Used(used)) if used == folder));
    drop(replica);
    assert_eq!(open().await.unwrap().folder(), folder);
}

#[tokio::test]
async fn a_message_that_cannot_be_read_is_reported() {
    let (bench, group) = Bench::with_group().await;
    bench.store_all(&bench.said_by_bob(&group, 3)).await;
    let replica = replica(&bench).await;
    replica.catch_up().await.unwrap();
    assert_eq!(found(&replica), BTreeMap::from([(group.id.clone(), 3)]));
    let newest = "(SELECT MAX(message_id) FROM messages)";
    bench.sql(&format!("UPDATE messages SET content = '\"?\"' WHERE message_id = {newest}")).await;
    assert_eq!(drifts(&bench, &replica).await, [Drift::Unreadable], "it is still found");
    let (channel, now) = (group.channel(), bench.clock.now());
    bench.store.outbox().request_indexing(IndexRequest::Channel(&channel), now).await.unwrap();
    replica.catch_up().await.unwrap();
    assert_eq!(found(&replica), BTreeMap::from([(group.id.clone(), 2)]), "all others");
    assert_eq!(drifts(&bench, &replica).await, [Drift::Unreadable]);
}

#[tokio::test]
async fn a_replica_behind_the_retention_of_the_log_fills_itself_anew() {
    let (bench, group) = Bench::with_group().await;
    bench.store_all(&bench.said_by_bob(&group, 3)).await;
    let replica = replica(&bench).await;
    replica.catch_up().await.unwrap();
    let filled = replica.state().filled;
    bench.store_all(&bench.said_by_bob(&group, 3)).await;
    let oldest = "(SELECT MIN(message_id) FROM messages)";
    bench.sql(&format!("DELETE FROM messages WHERE message_id = {oldest}")).await;
    bench.clock.advance(Duration::from_hours(1));
    while bench.store.outbox().purge_outbox_events(bench.clock.now()).await.unwrap() > 0 {}
    replica.catch_up().await.unwrap();
    assert!(replica.state().filled > filled);
    // What the store has not any more is not in the new index either.
    assert_eq!(found(&replica), BTreeMap::from([(group.id.clone(), 5)]));
    // Once: after that it follows again.
    let filled = replica.state().filled;
    bench.store_all(&bench.said_by_bob(&group, 1)).await;
    replica.catch_up().await.unwrap();
    assert_eq!(replica.state().filled, filled);
    assert_eq!(drifts(&bench, &replica).await, []);
}

#[tokio::test]
async fn what_the_store_lost_behind_the_logs_back_is_found_and_mended_by_a_rebuild() {
    let (bench, group) = Bench::with_group().await;
    bench.store_all(&bench.said_by_bob(&group, 4)).await;
    let replica = replica(&bench).await;
    replica.catch_up().await.unwrap();
    let oldest = "(SELECT MIN(message_id) FROM messages)";
    bench.sql(&format!("DELETE FROM messages WHERE message_id = {oldest}")).await;
    assert_eq!(drifts(&bench, &replica).await, [Drift::Extra]);
    let now = bench.clock.now();
    bench.store.outbox().request_indexing(IndexRequest::Rebuild, now).await.unwrap();
    replica.catch_up().await.unwrap();
    assert_eq!(drifts(&bench, &replica).await, []);
    assert_eq!(found(&replica), BTreeMap::from([(group.id.clone(), 3)]));
}

#[tokio::test]
async fn a_channel_that_cannot_be_read_is_never_half_in_the_index() {
    let (bench, group) = Bench::with_group().await;
    bench.store_all(&bench.said_by_bob(&group, 6)).await;
    let replica = replica(&bench).await;
    replica.catch_up().await.unwrap();
    bench.sql("UPDATE messages SET type = 'nonsense' WHERE message_id = (SELECT MAX(message_id) FROM messages)").await;
    let (channel, now) = (group.channel(), bench.clock.now());
    bench.store.outbox().request_indexing(IndexRequest::Channel(&channel), now).await.unwrap();
    for _ in 0..2 {
        assert!(replica.catch_up().await.is_err());
        assert_eq!(found(&replica), BTreeMap::from([(group.id.clone(), 6)]), "as it was");
    }
    bench.sql("UPDATE messages SET type = 'text'").await;
    replica.catch_up().await.unwrap();
    assert_eq!(drifts(&bench, &replica).await, []);
    assert_eq!(found(&replica), BTreeMap::from([(group.id.clone(), 6)]));
}

#[tokio::test]
async fn an_index_that_another_version_made_current_is_a_failure_that_shows() {
    let (bench, group) = Bench::with_group().await;
    let replica = replica(&bench).await;
    replica.catch_up().await.unwrap();
    let other = replica.folder().join("g9");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("index-version"), "1").unwrap();
    std::fs::write(replica.folder().join("current"), "9").unwrap();
    bench.store_all(&bench.said_by_bob(&group, 1)).await;
    let mut state = replica.watch();
    let stop = CancellationToken::new();
    let running = tokio::spawn(replica.run(bench.health.clone(), stop.clone()));
    let failed = tokio::time::timeout(DEADLINE, state.wait_for(|state| state.error.is_some()));
    let error = failed.await.unwrap().unwrap().error.clone();
    assert!(error.unwrap().contains("rebuilt"));
    stop.cancel();
    running.await.unwrap();
}
