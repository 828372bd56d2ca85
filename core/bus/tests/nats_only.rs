//! Tests of the NATS bus only: servers that are down, come back, or come back empty.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy};
use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusError, BusLimits, BusOwner, Outgoing, Stream};
use chatkeep_core::time::SystemClock;
use tempfile::TempDir;
use tokio::time::{Instant, timeout};

use crate::fixture::{
    Fixture, TIMEOUT, ack_all, event, events, gather, ids, jobs, nothing, one, publish, set,
};
use crate::nats_server::{NatsServer, free_port};

async fn connect(servers: &str) -> Result<Bus, BusError> {
    let (limits, clock) = (BusLimits::default(), Arc::new(SystemClock));
    Ok(Bus::Nats(NatsBus::connect(servers, limits, clock).await?))
}

/// Publishes until it succeeds again.
async fn publish_again(bus: &Bus, id: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while let Err(error) = bus.publish(vec![event(id)]).await {
        assert!(matches!(error, BusError::Unavailable(_)), "{error}");
        assert!(Instant::now() < deadline, "never works again: {error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn says_when_no_server_is_there() {
    let address = format!("nats://127.0.0.1:{}", free_port());
    let refused = timeout(TIMEOUT, connect(&address)).await.expect("it waits for a server");
    assert!(matches!(refused, Err(BusError::Unavailable(_))), "{refused:?}");
}

#[tokio::test]
async fn logs_in_and_keeps_the_password_to_itself() {
    let server = NatsServer::start(&["--user", "bot", "--pass", "hush-hush"]).await;
    let address = server.address();
    let bus = connect(&format!("nats://bot:hush-hush@{address}")).await.unwrap();
    bus.ready().await.unwrap();
    assert!(!format!("{bus:?}").contains("hush-hush"));
    bus.close().await;
    let refused = connect(&format!("nats://bot:wrong-one@{address}")).await;
    let Err(BusError::Unavailable(why)) = refused else { panic!("{refused:?}") };
    assert!(!why.contains("wrong-one"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recovers_from_an_outage_without_loss() {
    let mut fixture = Fixture::nats().await;
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1", "e2"]).await;
    let held = gather(&mut consumer, 1).await;

    fixture.server().kill();
    let refusals = async {
        let refused = bus.publish(vec![event("e3")]).await;
        assert!(matches!(refused, Err(BusError::Unavailable(_))), "{refused:?}");
        let refused = consumer.fetch(1, TIMEOUT * 10).await;
        assert!(matches!(refused, Err(BusError::Unavailable(_))));
        assert!(bus.ready().await.is_err());
    };
    timeout(TIMEOUT, refusals).await.expect("it waits for the server");
    for delivery in held {
        assert!(delivery.ack().await.is_err(), "an acknowledgement that nobody takes");
    }

    fixture.server().restart().await;
    publish_again(&bus, "e4").await;
    bus.ready().await.unwrap();
    // "e1" is still leased; "e3" was refused, but may have been buffered by the client.
    let mut come = gather(&mut consumer, 2).await;
    come.extend(consumer.fetch(1, Duration::from_millis(200)).await.unwrap());
    let come_ids = set(&come);
    assert!(come_ids.contains("e2") && come_ids.contains("e4"), "{come_ids:?}");
    ack_all(come).await;
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sets_up_a_server_that_came_back_empty() {
    let mut fixture = Fixture::nats().await;
    let bus = fixture.open().await;
    let mut backup = bus.consume(&events("backup")).await.unwrap();
    let mut assistant = bus.consume(&events("assistant")).await.unwrap();
    let mut media = bus.consume(&jobs("media")).await.unwrap();
    publish(&bus, &["e1"]).await;

    fixture.server().restart_empty().await;
    publish_again(&bus, "e2").await;
    let job = crate::fixture::message("job.media.1", "m1");
    bus.publish(vec![job]).await.unwrap();
    for (consumer, expected) in [(&mut backup, "e2"), (&mut assistant, "e2"), (&mut media, "m1")] {
        assert_eq!(ids(&gather(consumer, 1).await), [expected]);
    }
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_consumer_outlives_an_empty_restart() {
    let mut fixture = Fixture::nats().await;
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    fixture.server().restart_empty().await;
    // A process that knows no consumer cannot create any; the waiting one must.
    let other = fixture.open().await;
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let published = other.publish(vec![event("e1")]).await;
        match consumer.fetch(1, Duration::from_millis(50)).await {
            Ok(come) if !come.is_empty() => break assert_eq!(ids(&come), ["e1"]),
            come => assert!(Instant::now() < deadline, "stays away: {published:?} {come:?}"),
        }
    }
    other.close().await;
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_that_would_delete_events_are_reset() {
    let mut fixture = Fixture::nats().await;
    let bus = fixture.open().await;
    bus.ensure(&events("backup")).await.unwrap();
    let client = async_nats::connect(fixture.server().address()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let config = async || {
        let stream = context.get_stream(Stream::Events.name()).await.unwrap();
        stream.cached_info().config.clone()
    };
    let before = config().await;
    let deleting = Config {
        max_age: Duration::from_hours(1),
        discard: DiscardPolicy::Old,
        max_messages_per_subject: 1,
        // At this size new messages are refused once more.
        max_bytes: 1 << 30,
        ..before.clone()
    };
    let refusing = Config {
        max_messages_per_subject: 1,
        discard_new_per_subject: true,
        max_bytes: 1 << 30,
        ..before.clone()
    };
    for limits in [deleting, refusing] {
        context.update_stream(limits).await.unwrap();
        let bus = fixture.open().await;
        bus.ensure(&events("backup")).await.unwrap();
        assert_eq!(config().await, Config { max_bytes: 1 << 30, ..before.clone() });
        bus.close().await;
    }
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stores_nothing_is_away_whatever_else_it_answers() {
    let mut fixture = Fixture::nats().await;
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    bus.publish(vec![event("e1")]).await.unwrap();
    let client = async_nats::connect(fixture.server().address()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let set_limit = async |max_bytes| {
        let stream = context.get_stream(Stream::Events.name()).await.unwrap();
        let config = stream.cached_info().config.clone();
        context.update_stream(Config { max_bytes, ..config }).await.unwrap();
    };
    set_limit(1_000).await;
    let refused = bus.publish(vec![sized("e2", 10_000)]).await.unwrap_err();
    assert!(matches!(&refused, BusError::NotStored(_)) && refused.is_outage(), "{refused:?}");
    // It still delivers.
    one(&mut consumer).await.ack().await.unwrap();
    assert!(bus.availability().is_away());
    let ready = bus.ready().await;
    assert!(matches!(ready, Err(BusError::NotStored(_))), "{ready:?}");
    set_limit(-1).await;
    bus.publish(vec![sized("e2", 10_000)]).await.unwrap();
    assert!(!bus.availability().is_away());
    bus.ready().await.unwrap();
    bus.close().await;
}

#[tokio::test]
async fn refuses_events_that_no_consumer_waits_for() {
    let fixture = Fixture::nats().await;
    let bus = fixture.open().await;
    let refused = bus.publish(vec![event("e1")]).await;
    assert!(matches!(refused, Err(BusError::Unavailable(_))), "{refused:?}");
    bus.close().await;
}

fn sized(id: &str, bytes: usize) -> Outgoing {
    Outgoing { payload: vec![b'x'; bytes].into(), ..event(id) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_the_server_never_takes_is_no_outage() {
    let fixture = Fixture::nats().await;
    let bus = fixture.open().await;
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    let limit = bus.max_message_bytes().unwrap();
    for bytes in [limit + 1, 1 << 20, 1 << 21] {
        let refused = bus.publish(vec![event("e1"), sized("e2", bytes)]).await.unwrap_err();
        assert!(matches!(&refused, BusError::MessageTooLarge(_)), "{refused:?}");
        assert!(!refused.is_outage() && refused.to_string().contains("e2"), "{refused}");
    }
    assert!(!bus.availability().is_troubled());
    nothing(&mut consumer).await;

    // The largest one finds its way through the dead letters, too, whatever the reason.
    bus.publish(vec![sized("e3", limit)]).await.unwrap();
    let reason = format!("invalid type: {}", "早".repeat(50_000));
    one(&mut consumer).await.dead_letter(&reason).await.unwrap();
    let letter = bus.dead_letters(1).await.unwrap().remove(0);
    assert!(letter.reason.starts_with("invalid type: 早") && letter.reason.len() < 4_096);
    assert_eq!(letter.payload.len(), limit);
    assert!(bus.retry_dead_letter(&letter.id).await.unwrap());
    let again = one(&mut consumer).await;
    assert_eq!((again.id.as_str(), again.payload.len()), ("e3", limit));
    again.ack().await.unwrap();
    bus.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_longer_than_a_fetch_comes_alone() {
    let folder = TempDir::new().unwrap();
    let settings = folder.path().join("nats.conf");
    std::fs::write(&settings, "max_payload: 16MB\n").unwrap();
    let server = NatsServer::start(&["--config", settings.to_str().unwrap()]).await;
    let bus = connect(&format!("nats://{}", server.address())).await.unwrap();
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    publish(&bus, &["e1"]).await;
    bus.publish(vec![sized("e2", 9 << 20)]).await.unwrap();
    publish(&bus, &["e3"]).await;
    let come = gather(&mut consumer, 3).await;
    assert_eq!(ids(&come), ["e1", "e2", "e3"]);
    assert_eq!(come[1].payload.len(), 9 << 20);
    ack_all(come).await;
    nothing(&mut consumer).await;
    bus.close().await;
}

fn owner(database: &str, restored_at: i64) -> BusOwner {
    BusOwner { database: database.to_owned(), restored_at }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_of_another_database_get_nothing() {
    let mut fixture = Fixture::nats().await;
    let (bus, other) = (fixture.open().await, fixture.open().await);
    let mut consumer = bus.consume(&events("backup")).await.unwrap();
    bus.claim(&owner("a", 0)).await.unwrap();
    // Another process of the same database.
    let second = fixture.open().await;
    second.claim(&owner("a", 0)).await.unwrap();
    second.ensure(&events("backup")).await.unwrap();
    second.publish(vec![event("e1")]).await.unwrap();
    let refused = other.claim(&owner("b", 9)).await;
    assert!(matches!(refused, Err(BusError::Foreign(_))), "{refused:?}");
    let refused = other.publish(vec![event("lost")]).await;
    assert!(matches!(refused, Err(BusError::Foreign(_))), "{refused:?}");
    let mut foreign = other.consume(&events("backup")).await;
    assert!(foreign.is_err() || foreign.as_mut().unwrap().fetch(1, TIMEOUT).await.is_err());
    assert_eq!(ids(&gather(&mut consumer, 1).await), ["e1"]);

    // The server comes back empty: its streams belong to the same database.
    fixture.server().restart_empty().await;
    publish_again(&bus, "e2").await;
    let refused = other.claim(&owner("b", 9)).await;
    assert!(matches!(refused, Err(BusError::Foreign(_))), "{refused:?}");

    other.adopt(&owner("b", 9)).await.unwrap();
    other.publish(vec![event("e3")]).await.unwrap();
    let refused = bus.claim(&owner("a", 0)).await;
    assert!(matches!(refused, Err(BusError::Foreign(_))), "{refused:?}");
    for bus in [bus, other, second] {
        bus.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_database_takes_the_place_of_the_one_before() {
    let fixture = Fixture::nats().await;
    let (before, after) = (fixture.open().await, fixture.open().await);
    before.claim(&owner("a", 0)).await.unwrap();
    after.claim(&owner("a", 5)).await.unwrap();
    let claimed = before.claim(&owner("a", 0)).await;
    let published = before.publish(vec![event("lost")]).await;
    for refused in [claimed, published] {
        let reason = refused.unwrap_err().to_string();
        assert!(reason.ends_with("to a database that was restored from this one"), "{reason}");
    }
    after.claim(&owner("a", 5)).await.unwrap();
    for bus in [before, after] {
        bus.close().await;
    }
}
