//! Several notifiers, endpoints that hang or fail beside others, and processes that end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chatkeep_store::DeliveryStatus;
use chatkeep_workers::notifier::NotifierSettings;
use tokio_util::sync::CancellationToken;

use super::super::bench::{skip, until};
use super::super::sink::Reply;
use super::{Scene, settings};

#[tokio::test]
async fn several_notifiers_tell_everything_once() {
    const COUNT: usize = 100;
    let scene = Scene::new().await;
    let hook = scene.hook("/all").await;
    scene.say(COUNT).await;
    let notifiers = [(); 3].map(|()| scene.notifier(settings()).drain());
    let [one, two, three] = notifiers;
    let (one, two, three) = tokio::join!(one, two, three);
    assert_eq!(one.unwrap() + two.unwrap() + three.unwrap(), COUNT);
    let received = scene.sink.at("/all");
    let ids: BTreeSet<_> = received.iter().map(|one| one.id().to_owned()).collect();
    assert_eq!((received.len(), ids.len()), (COUNT, COUNT));
    let log = scene.log(&hook).await;
    assert!(log.iter().all(|delivery| delivery.status == DeliveryStatus::Delivered));
}

#[tokio::test]
async fn a_delivery_whose_process_died_before_its_record_is_made_again_under_the_same_id() {
    let mut scene = Scene::new().await;
    let hook = scene.hook("/once").await;
    scene.say(1).await;
    let sql = "CREATE TRIGGER no_record BEFORE UPDATE ON webhook_deliveries
               WHEN NEW.status = 'delivered' BEGIN SELECT RAISE(ABORT, 'dead'); END";
    scene.bench.sql(sql).await;
    // What a process that dies leaves behind.
    assert_eq!(scene.drain().await, 1);
    assert_eq!(scene.drain().await, 0, "it is leased");
    scene.bench.restart().await;
    scene.bench.sql("DROP TRIGGER no_record").await;
    let notifier = scene.notifier(settings());
    assert_eq!(Arc::clone(&notifier).drain().await.unwrap(), 0, "its lease has not ended");
    notifier.release_interrupted().await;
    assert_eq!(notifier.drain().await.unwrap(), 1);
    let received = scene.sink.at("/once");
    assert!(received.len() == 2 && received[0].id() == received[1].id());
    let delivery = scene.only(&hook).await;
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Delivered, 1));
}

#[tokio::test]
async fn a_result_that_the_database_refuses_costs_no_other() {
    const COUNT: usize = 10;
    let scene = Scene::new().await;
    let hook = scene.hook("/many").await;
    scene.say(COUNT).await;
    let sql = "CREATE TRIGGER no_record BEFORE UPDATE ON webhook_deliveries
               WHEN NEW.status = 'delivered' BEGIN
                   SELECT RAISE(ABORT, 'refused')
                   WHERE NEW.delivery_no = (SELECT MIN(delivery_no) FROM webhook_deliveries);
               END";
    scene.bench.sql(sql).await;
    assert_eq!(scene.drain().await, COUNT);
    let log = scene.log(&hook).await;
    let recorded = log.iter().filter(|delivery| delivery.status == DeliveryStatus::Delivered);
    assert_eq!((scene.sink.at("/many").len(), recorded.count()), (COUNT, COUNT - 1));
}

#[tokio::test]
async fn the_lease_of_a_dead_process_ends_by_the_clock() {
    let scene = Scene::new().await;
    scene.hook("/hangs").await;
    scene.sink.answer("/hangs", Reply::Hang);
    scene.say(1).await;
    let dying = tokio::spawn(scene.notifier(settings()).drain());
    until("it is called", async || scene.sink.at("/hangs").len() == 1).await;
    dying.abort();
    scene.sink.status("/hangs", 200);
    // Its timeout, the longest time in a queue, and a margin of 15 s each.
    scene.bench.clock.advance(Duration::from_secs(44));
    assert_eq!(scene.drain().await, 0);
    scene.bench.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.drain().await, 1);
}

#[tokio::test]
async fn an_endpoint_that_hangs_delays_no_other() {
    const ENDPOINTS: usize = 12;
    const MESSAGES: usize = 10;
    let scene = Scene::new().await;
    let dead = scene.hook("/dead").await;
    scene.sink.answer("/dead", Reply::Hang);
    let paths: Vec<_> = (0..ENDPOINTS).map(|n| format!("/live/{n}")).collect();
    for path in &paths {
        scene.hook_of(&scene.group.bob, path).await;
    }
    scene.say(MESSAGES).await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(scene.notifier(settings()).run(stop.clone()));
    until("everybody else has everything", async || {
        paths.iter().all(|path| scene.sink.at(path).len() == MESSAGES)
    })
    .await;
    assert_eq!(scene.sink.at("/dead").len(), 4, "it holds as many as it may");
    assert!(scene.log(&dead).await.iter().all(|delivery| delivery.attempts == 0));
    running.abort();
}

#[tokio::test]
async fn endpoints_that_keep_failing_take_half_of_the_deliveries_at_most() {
    const FAILING: usize = 5;
    let settings = || NotifierSettings { parallel: 4, ..settings() };
    let scene = Scene::new().await;
    let dead: Vec<_> = (0..FAILING).map(|n| format!("/dead/{n}")).collect();
    for path in &dead {
        scene.sink.status(path, 500);
        scene.hook(path).await;
    }
    scene.say(1).await;
    scene.drain().await;
    // The next attempts are due, and each of these endpoints has been failing for a while.
    scene.bench.clock.advance(Duration::from_mins(2));
    for path in &dead {
        scene.sink.answer(path, Reply::Hang);
    }
    scene.hook_of(&scene.group.bob, "/live").await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(scene.notifier(settings()).run(stop.clone()));
    let called = || dead.iter().map(|path| scene.sink.at(path).len() - 1).sum::<usize>();
    until("as many as may are called", async || called() == settings().parallel / 2).await;
    // Each message needs a further lease.
    for told in 1..=3 {
        scene.say(1).await;
        until("the other endpoint has it", async || scene.sink.at("/live").len() == told).await;
        let leased = "SELECT COUNT(*) FROM webhook_deliveries d JOIN webhooks w
                      ON w.webhook_id = d.webhook_id
                      WHERE d.leased = 1 AND w.failing_since IS NOT NULL";
        let leased = scene.bench.value(leased).await;
        assert_eq!((leased, called()), ((settings().parallel / 2).to_string(), 2));
    }
    running.abort();
}

#[tokio::test]
async fn who_stops_leaves_what_it_did_not_begin() {
    const COUNT: usize = 20;
    let scene = Scene::new().await;
    scene.hook("/slow").await;
    scene.sink.answer("/slow", Reply::Hang);
    scene.say(COUNT).await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(scene.notifier(settings()).run(stop.clone()));
    let leased = async || {
        let all = "SELECT COUNT(*) FROM webhook_deliveries WHERE leased = 1";
        scene.bench.value(all).await
    };
    let each = settings().parallel_each;
    until("all are taken, as many as may be under way", async || {
        scene.sink.at("/slow").len() == each && leased().await == COUNT.to_string()
    })
    .await;
    stop.cancel();
    until("what is under way times out", async || {
        skip(Duration::from_secs(1)).await;
        running.is_finished()
    })
    .await;
    assert_eq!(scene.sink.at("/slow").len(), each, "nothing was begun after the stop");
    assert_eq!(leased().await, "0");
    // The clock stands still: no lease ends, and no retry is due.
    scene.sink.status("/slow", 204);
    assert_eq!(scene.drain().await, COUNT - each);
}

#[tokio::test]
async fn a_drain_that_fails_says_so() {
    let scene = Scene::new().await;
    scene.hook("/told").await;
    for (table, what) in [("webhook_deliveries", "claims"), ("webhook_outbox_position", "fan-out")]
    {
        scene.bench.sql(&format!("ALTER TABLE {table} RENAME TO gone")).await;
        let failed = scene.notifier(settings()).drain().await;
        assert!(failed.is_err(), "{what}: {failed:?}");
        scene.bench.sql(&format!("ALTER TABLE gone RENAME TO {table}")).await;
    }
    scene.say(1).await;
    assert_eq!(scene.drain().await, 1);
}
