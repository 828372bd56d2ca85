//! Tests of durability: duplicates, restarts, a full bus.

use std::time::Duration;

use chatkeep_bus::{Bus, BusError};
use tokio::time::{Instant, timeout};

use crate::fixture::{
    Fixture, TIMEOUT, ack_all, event, events, gather, ids, jobs, message, nothing, one, publish,
    publish_many, until_backlog,
};

pub(crate) async fn drops_a_second_message_with_the_same_id(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let mut media = bus.consume(&jobs("media")).await.unwrap();
    publish(&bus, &["e1", "e1", "e2"]).await;
    publish(&bus, &["e2", "e3"]).await;
    // Streams deduplicate separately.
    bus.publish(vec![message("job.media.1", "e1")]).await.unwrap();

    let come = gather(&mut consumer, 3).await;
    assert_eq!(ids(&come), ["e1", "e2", "e3"]);
    ack_all(come).await;
    // Acknowledged messages are deduplicated, too.
    until_backlog(&bus, &events("backup"), 0).await;
    publish(&bus, &["e1", "e3"]).await;
    nothing(&mut consumer).await;
    assert_eq!(one(&mut media).await.id, "e1");
    bus.close().await;
}

pub(crate) async fn drops_duplicates_published_at_once(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let mut publishers = Vec::new();
    for _ in 0..16 {
        let bus = bus.clone();
        publishers.push(tokio::spawn(async move {
            for round in 0..20 {
                bus.publish(vec![event(format!("e{round}"))]).await.unwrap();
            }
        }));
    }
    for publisher in publishers {
        publisher.await.unwrap();
    }
    ack_all(gather(&mut consumer, 20).await).await;
    nothing(&mut consumer).await;
    bus.close().await;
}

pub(crate) async fn forgets_ids_after_the_window(fixture: Fixture) {
    let window = Duration::from_millis(800);
    let fixture = fixture.dedupe_window(window);
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1"]).await;
    one(&mut consumer).await.ack().await.unwrap();
    let again = async {
        loop {
            publish(&bus, &["e1"]).await;
            let again = consumer.fetch(1, Duration::from_millis(50)).await.unwrap();
            if !again.is_empty() {
                break;
            }
        }
    };
    // Else the id is never forgotten.
    timeout(TIMEOUT, again).await.unwrap();
    bus.close().await;
}

pub(crate) async fn keeps_messages_and_ids_over_a_restart(fixture: Fixture) {
    let bus = fixture.open().await;
    bus.ensure(&events("backup")).await.unwrap();
    publish(&bus, &["e1", "e2"]).await;
    bus.close().await;
    let refused = bus.publish(vec![event("e9")]).await;
    assert!(matches!(refused, Err(BusError::Unavailable(_))), "{refused:?}");

    let bus = fixture.open().await;
    bus.ensure(&events("backup")).await.unwrap();
    publish(&bus, &["e2", "e3"]).await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let come = gather(&mut consumer, 3).await;
    assert_eq!(ids(&come), ["e1", "e2", "e3"]);
    bus.close().await;
}

pub(crate) async fn keeps_acknowledgements_over_a_restart(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1", "e2", "e3", "e4"]).await;
    let mut come = gather(&mut consumer, 3).await;
    // Out of order: the second stays open.
    come.remove(2).ack().await.unwrap();
    come.remove(0).ack().await.unwrap();
    let open = come.remove(0);
    bus.close().await;
    drop(open);

    let bus = fixture.open().await;
    // The lease of "e2" has no owner any more, but JetStream lets it expire all the same.
    let spec = crate::fixture::with_lease(events("backup"), Duration::from_secs(1));
    let mut consumer = bus.consume(&spec).await.unwrap();
    // "e4" comes first; acknowledged at once, for its lease expires before "e2" comes.
    let mut come = Vec::new();
    for _ in 0..2 {
        let next = one(&mut consumer).await;
        come.push((next.id.clone(), next.attempt));
        next.ack().await.unwrap();
    }
    come.sort();
    assert_eq!(come, [("e2".to_owned(), 2), ("e4".to_owned(), 1)]);
    assert!(consumer.fetch(10, Duration::from_millis(1_500)).await.unwrap().is_empty());
    bus.close().await;
}

pub(crate) async fn keeps_retries_over_a_restart(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1", "e2"]).await;
    let mut come = gather(&mut consumer, 2).await;
    come.remove(0).retry(Duration::from_mins(1)).await.unwrap();
    come.remove(0).retry(Duration::from_millis(500)).await.unwrap();
    bus.close().await;

    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let again = one(&mut consumer).await;
    assert_eq!((again.id.as_str(), again.attempt), ("e2", 2));
    again.ack().await.unwrap();
    until_backlog(&bus, &events("backup"), 1).await;
    nothing(&mut consumer).await;
    bus.close().await;
}

/// Publishes an event again until a full bus takes it.
async fn publish_once_there_is_room(bus: &Bus, id: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while let Err(error) = bus.publish(vec![event(id)]).await {
        assert!(matches!(error, BusError::Full { .. }), "{error}");
        assert!(Instant::now() < deadline, "stays full");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn refuses_when_full_and_recovers(fixture: Fixture) {
    let fixture = fixture.max_backlog(10);
    let bus = fixture.open().await;
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    let mut assistant = bus.consume(&events("assistant")).await.unwrap();
    publish_many(&bus, 10).await;
    let refused = bus.publish(vec![event("e10")]).await;
    assert!(matches!(refused, Err(BusError::Full { backlog: 10 })), "{refused:?}");

    // One consumer alone frees no space.
    ack_all(gather(&mut backup, 10).await).await;
    until_backlog(&bus, &events("backup"), 0).await;
    let refused = bus.publish(vec![event("e10")]).await;
    assert!(matches!(refused, Err(BusError::Full { .. })), "{refused:?}");

    ack_all(gather(&mut assistant, 4).await).await;
    publish_once_there_is_room(&bus, "e10").await;
    assert_eq!(one(&mut backup).await.id, "e10");
    // No old message was dropped for it.
    let rest = gather(&mut assistant, 7).await;
    assert_eq!(ids(&rest), ["e4", "e5", "e6", "e7", "e8", "e9", "e10"]);
    bus.close().await;
}

pub(crate) async fn makes_room_when_a_consumer_is_removed(fixture: Fixture) {
    let fixture = fixture.max_backlog(10);
    let bus = fixture.open().await;
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    bus.ensure(&events("forgotten")).await.unwrap();
    publish_many(&bus, 10).await;
    ack_all(gather(&mut backup, 10).await).await;
    until_backlog(&bus, &events("backup"), 0).await;
    let mut listed = bus.consumers().await.unwrap();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    let ages: Vec<_> = listed.iter().map(|c| c.oldest_seconds.is_some()).collect();
    assert_eq!(ages, [false, true], "only what waits has an age");
    let listed: Vec<_> = listed.iter().map(|c| (c.name.as_str(), c.backlog)).collect();
    assert_eq!(listed, [("backup", 0), ("forgotten", 10)]);
    let refused = bus.publish(vec![event("e10")]).await;
    assert!(matches!(refused, Err(BusError::Full { .. })), "{refused:?}");

    assert!(bus.remove_consumer("forgotten").await.unwrap());
    assert!(!bus.remove_consumer("forgotten").await.unwrap(), "it is gone");
    publish_once_there_is_room(&bus, "e10").await;
    assert_eq!(one(&mut backup).await.id, "e10");
    bus.close().await;
    // Nor does it come back.
    let bus = fixture.open().await;
    assert_eq!(bus.consumers().await.unwrap().len(), 1);
    bus.close().await;
}

pub(crate) async fn keeps_messages_for_a_consumer_that_is_away(fixture: Fixture) {
    let bus = fixture.open().await;
    bus.ensure(&events("assistant")).await.unwrap();
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1", "e2"]).await;
    ack_all(gather(&mut backup, 2).await).await;
    bus.close().await;

    // This time the process runs one stage only.
    let bus = fixture.open().await;
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e3"]).await;
    ack_all(gather(&mut backup, 1).await).await;
    bus.close().await;

    let bus = fixture.open().await;
    let mut assistant = bus.consume(&events("assistant")).await.unwrap();
    let come = gather(&mut assistant, 3).await;
    assert_eq!(ids(&come), ["e1", "e2", "e3"]);
    bus.close().await;
}
