//! Tests of delivery: which messages consumers get, at what time, and how often.

use std::pin::pin;
use std::time::Duration;

use chatkeep_bus::{BusError, ConsumerSpec, Outgoing};
use futures_util::poll;
use tokio::time::MissedTickBehavior;

use crate::fixture::{
    Fixture, TIMEOUT, ack_all, event, events, gather, ids, jobs, message, nothing, one, publish,
    publish_many, set, until_backlog, with_lease,
};

pub(crate) async fn delivers_what_was_published(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let sent = event("e1");
    bus.publish(vec![sent.clone()]).await.unwrap();
    bus.ready().await.unwrap();

    let delivery = one(&mut consumer).await;
    assert_eq!(delivery.subject, sent.subject);
    assert_eq!(delivery.id, "e1");
    assert_eq!(delivery.payload, sent.payload);
    assert_eq!(delivery.attempt, 1);
    assert!(delivery.published_at.millis() > 1_600_000_000_000);
    delivery.ack().await.unwrap();
    nothing(&mut consumer).await;
    bus.close().await;
}

pub(crate) async fn keeps_the_order_of_publishing(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let names: Vec<String> = (0..300).map(|n| format!("e{n}")).collect();
    for chunk in names.chunks(7) {
        bus.publish(chunk.iter().map(event).collect()).await.unwrap();
    }
    let come = gather(&mut consumer, names.len()).await;
    assert_eq!(ids(&come), names);
    ack_all(come).await;
    bus.close().await;
}

pub(crate) async fn leases_long_messages_by_their_size(fixture: Fixture) {
    const LONG: usize = 900_000;
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let names: Vec<String> = (0..20).map(|n| format!("e{n}")).collect();
    for name in &names {
        let long = Outgoing { payload: vec![b'x'; LONG].into(), ..event(name) };
        bus.publish(vec![long]).await.unwrap();
    }
    let first = consumer.fetch(names.len(), TIMEOUT).await.unwrap();
    assert!((2..=10).contains(&first.len()), "{} in 8 MiB", first.len());
    let rest = gather(&mut consumer, names.len() - first.len()).await;
    assert_eq!([ids(&first), ids(&rest)].concat(), names);
    ack_all(first).await;
    ack_all(rest).await;
    nothing(&mut consumer).await;
    bus.close().await;
}

pub(crate) async fn waits_for_the_first_message(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    nothing(&mut consumer).await;
    let mut waiting = pin!(consumer.fetch(10, TIMEOUT));
    assert!(poll!(&mut waiting).is_pending(), "nothing is published yet");
    publish(&bus, &["e1"]).await;
    assert_eq!(ids(&waiting.await.unwrap()), ["e1"]);
    bus.close().await;
}

pub(crate) async fn shows_events_to_every_consumer(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    let mut assistant = bus.consume(&events("assistant")).await.unwrap();
    publish(&bus, &["e1", "e2", "e3"]).await;

    let first = gather(&mut backup, 3).await;
    assert_eq!(ids(&first), ["e1", "e2", "e3"]);
    ack_all(first).await;
    // A message that one has acknowledged is still there for the other.
    until_backlog(&bus, &events("backup"), 0).await;
    let second = gather(&mut assistant, 3).await;
    assert_eq!(ids(&second), ["e1", "e2", "e3"]);
    ack_all(second).await;
    bus.close().await;
}

pub(crate) async fn gives_a_job_to_its_queue_alone(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut media = bus.consume(&jobs("media")).await.unwrap();
    let mut index = bus.consume(&jobs("index")).await.unwrap();
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    let mixed = [
        ("job.media.1", "m1"),
        ("job.index.1", "i1"),
        ("event.line.1", "e1"),
        ("job.media.2", "m2"),
        ("job.index.2", "i2"),
    ];
    let mixed = mixed.iter().map(|(subject, id)| message(subject, id)).collect();
    bus.publish(mixed).await.unwrap();

    for (consumer, expected) in
        [(&mut media, &["m1", "m2"][..]), (&mut index, &["i1", "i2"]), (&mut backup, &["e1"])]
    {
        let come = gather(consumer, expected.len()).await;
        assert_eq!(ids(&come), expected);
        ack_all(come).await;
        nothing(consumer).await;
    }
    bus.close().await;
}

pub(crate) async fn shares_messages_between_members(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut one_member = bus.consume(&events("backup")).await.unwrap();
    let mut other_member = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1", "e2", "e3", "e4"]).await;

    let mut come = gather(&mut one_member, 2).await;
    come.extend(gather(&mut other_member, 2).await);
    assert_eq!(set(&come).len(), 4);
    ack_all(come).await;
    nothing(&mut one_member).await;
    nothing(&mut other_member).await;
    bus.close().await;
}

pub(crate) async fn delivers_again_when_the_lease_runs_out(fixture: Fixture) {
    let bus = fixture.open().await;
    let lease = Duration::from_millis(300);
    let mut consumer = bus.consume(&with_lease(events("backup"), lease)).await.unwrap();
    publish(&bus, &["e1"]).await;
    for attempt in 1..=3 {
        let delivery = one(&mut consumer).await;
        assert_eq!((delivery.id.as_str(), delivery.attempt), ("e1", attempt));
        if attempt == 3 {
            delivery.ack().await.unwrap();
        }
    }
    assert!(consumer.fetch(1, lease * 3).await.unwrap().is_empty());
    bus.close().await;
}

pub(crate) async fn extends_the_lease_on_progress(fixture: Fixture) {
    let bus = fixture.open().await;
    let spec = with_lease(events("backup"), Duration::from_secs(1));
    let mut consumer = bus.consume(&spec).await.unwrap();
    let mut rival = bus.consume(&spec).await.unwrap();
    publish(&bus, &["e1"]).await;
    let delivery = one(&mut consumer).await;

    // The lease is that of a server with a clock of its own, so this takes three leases of time.
    let work = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(200));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for _ in 0..15 {
            ticks.tick().await;
            delivery.progress().await.unwrap();
        }
    };
    tokio::select! {
        come = rival.fetch(1, TIMEOUT) => panic!("taken away: {:?}", ids(&come.unwrap())),
        () = work => {}
    }
    drop(delivery);
    let again = one(&mut rival).await;
    assert_eq!(again.attempt, 2);
    again.ack().await.unwrap();
    bus.close().await;
}

pub(crate) async fn waits_before_a_retry(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1", "e2"]).await;
    let mut come = gather(&mut consumer, 2).await;
    come.remove(0).retry(Duration::from_mins(1)).await.unwrap();
    come.remove(0).retry(Duration::from_millis(300)).await.unwrap();

    // Other messages pass meanwhile, and each retry waits for its own time.
    publish(&bus, &["e3"]).await;
    let mut come = gather(&mut consumer, 2).await;
    come.sort_by(|one, other| one.id.cmp(&other.id));
    let attempts: Vec<_> = come.iter().map(|come| (come.id.as_str(), come.attempt)).collect();
    assert_eq!(attempts, [("e2", 2), ("e3", 1)]);
    nothing(&mut consumer).await;
    come.remove(1).ack().await.unwrap();
    let again = come.remove(0);

    // At once.
    again.retry(Duration::ZERO).await.unwrap();
    let again = one(&mut consumer).await;
    assert_eq!((again.id.as_str(), again.attempt), ("e2", 3));
    again.ack().await.unwrap();
    nothing(&mut consumer).await;
    until_backlog(&bus, &events("backup"), 1).await;
    bus.close().await;
}

pub(crate) async fn leases_no_more_than_allowed(fixture: Fixture) {
    let bus = fixture.open().await;
    let spec = ConsumerSpec { max_in_flight: 4, ..events("backup") };
    let mut consumer = bus.consume(&spec).await.unwrap();
    let mut other = bus.consume(&spec).await.unwrap();
    publish_many(&bus, 10).await;

    let mut held = consumer.fetch(10, TIMEOUT).await.unwrap();
    assert_eq!(held.len(), 4);
    nothing(&mut consumer).await;
    nothing(&mut other).await;

    // A waiting member notices that there is capacity.
    let mut waiting = Box::pin(one(&mut other));
    assert!(poll!(&mut waiting).is_pending(), "there is no capacity yet");
    held.remove(0).ack().await.unwrap();
    let fifth = waiting.await;
    assert_eq!(fifth.id, "e4");
    ack_all(held).await;
    let rest = gather(&mut other, 3).await;
    assert_eq!(ids(&rest), ["e5", "e6", "e7"]);

    // A version that allows more finds the consumer of the one before.
    let mut more = bus.consume(&ConsumerSpec { max_in_flight: 6, ..spec }).await.unwrap();
    assert_eq!(ids(&gather(&mut more, 2).await), ["e8", "e9"]);
    bus.close().await;
}

/// Lets the other tasks have that many turns.
async fn pass(turns: usize) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn loses_nothing_when_a_fetch_is_given_up(fixture: Fixture) {
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    for round in 0..17 {
        let name = format!("e{round}");
        let messages = vec![event(&name)];
        // Given up at any point: before, while and after the message arrives. As the distances of
        // the points are unknown, each is twice as far as the one before.
        let turns = 1_usize << round;
        tokio::select! {
            biased;
            () = pass(turns) => {}
            come = consumer.fetch(1, TIMEOUT) => panic!("too early: {:?}", ids(&come.unwrap())),
        }
        let publishing = tokio::spawn({
            let bus = bus.clone();
            async move { bus.publish(messages).await.unwrap() }
        });
        let early = tokio::select! {
            biased;
            () = pass(turns) => Vec::new(),
            come = consumer.fetch(1, TIMEOUT) => come.unwrap(),
        };
        publishing.await.unwrap();
        let delivery = match early.into_iter().next() {
            Some(delivery) => delivery,
            None => one(&mut consumer).await,
        };
        assert_eq!((delivery.id.as_str(), delivery.attempt), (name.as_str(), 1));
        delivery.ack().await.unwrap();
    }
    bus.close().await;
}

pub(crate) async fn refuses_subjects_that_nobody_reads(fixture: Fixture) {
    let bus = fixture.open().await;
    bus.ensure(&events("backup")).await.unwrap();
    for subject in ["", "event.line", "events.line.1", "event.*.1", "job.media.>", "job.a b.1"] {
        let refused = bus.publish(vec![message(subject, "e1")]).await;
        assert!(matches!(refused, Err(BusError::Config(_))), "{subject}: {refused:?}");
    }
    bus.close().await;
}

pub(crate) async fn counts_what_is_not_finished(fixture: Fixture) {
    let bus = fixture.open().await;
    let spec = events("backup");
    let mut consumer = bus.consume(&spec).await.unwrap();
    until_backlog(&bus, &spec, 0).await;
    publish(&bus, &["e1", "e2", "e3", "e4", "e5"]).await;
    until_backlog(&bus, &spec, 5).await;
    let mut held = gather(&mut consumer, 3).await;
    until_backlog(&bus, &spec, 5).await;
    held.remove(0).ack().await.unwrap();
    until_backlog(&bus, &spec, 4).await;
    held.remove(0).retry(TIMEOUT * 10).await.unwrap();
    until_backlog(&bus, &spec, 4).await;
    ack_all(held).await;
    until_backlog(&bus, &spec, 3).await;
    bus.close().await;
}
