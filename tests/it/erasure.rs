//! Retracted content is gone from every store.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_bus::embedded::EmbeddedBus;
use chatkeep_bus::nats::NatsBus;
use chatkeep_bus::{Bus, BusLimits, Outgoing};
use chatkeep_core::event::{Envelope, PlatformKind};
use chatkeep_core::time::SystemClock;
use chatkeep_workers::StageName;
use chatkeep_workers::dead_letters::DeadLetterCleaner;
use reqwest::Method;
use serde_json::json;
use serde_json::value::to_raw_value;

use crate::harness::nats::Nats;
use crate::harness::wait::until;
use crate::harness::{files, scratch};
use crate::pipeline::conversation::{emulator, group};
use crate::stack::{DEADLINE, Parts, Stack};
use crate::store::{Fixture, at, delete_before, erase_person, said, unsent};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_holds_what_was_taken_back() {
    const SECRET: &str = "burn after reading 機密計畫書";
    const EDITED: &str = "first draft of 機密計畫書";
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (channel, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    let told = stack.line.say(channel, user, SECRET).await.unwrap();
    let edited = stack.line.say(channel, user, EDITED).await.unwrap();
    stack.drained().await;
    assert!(
        !files::holding(stack.ground.folder.path(), SECRET.as_bytes()).is_empty(),
        "it is kept at first"
    );
    stack.line.edit(edited.message_id().unwrap(), "final").await.unwrap();
    stack.line.unsend(told.message_id().unwrap()).await.unwrap();
    stack.drained().await;
    // Files are swept periodically, and whenever the program starts.
    stack.crash().await;
    for text in [SECRET, EDITED] {
        let mut left = Vec::new();
        until("no file holds it", DEADLINE, async || {
            left = files::holding(stack.ground.folder.path(), text.as_bytes());
            left.is_empty()
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_holds_earlier_texts_that_are_kept_no_more() {
    const UNSENT: &str = "first draft of 機密計畫書";
    const SWITCHED_OFF: &str = "first draft of 公開計畫書";
    let mut stack = Stack::start(Parts::Embedded, emulator().await).await;
    let (group, people) = group(&mut stack).await;
    let (channel, user) = (group.chat_id.as_str(), people[1].user_id.as_str());
    let set = async |stack: &Stack, keep: bool| {
        let (path, setting) =
            (format!("/channels/{channel}/backup/config"), json!({"keepEarlierTexts": keep}));
        let (status, body) = stack.call(Method::PUT, &path, Some(setting)).await;
        assert!(status.is_success(), "{body}");
    };
    set(&stack, true).await;
    let mut ids = Vec::new();
    for text in [UNSENT, SWITCHED_OFF] {
        let told = stack.line.say(channel, user, text).await.unwrap();
        ids.push(told.message_id().unwrap().to_owned());
        stack.line.edit(ids.last().unwrap(), "final").await.unwrap();
    }
    stack.drained().await;
    for (id, text) in ids.iter().zip([UNSENT, SWITCHED_OFF]) {
        let message = stack.get(&format!("/channels/{channel}/backup/messages/{id}")).await;
        assert_eq!(message["earlierTexts"][0]["content"], text, "{message}");
    }
    stack.line.unsend(&ids[0]).await.unwrap();
    stack.drained().await;
    set(&stack, false).await;
    // The job runs at the start, and files are swept at the next one at the latest.
    stack.crash().await;
    let store = stack.ground.store().await;
    until("they are erased", DEADLINE, async || {
        let left = store.messages().find_earlier_texts(&channel.into(), None, 100).await;
        left.unwrap().0.is_empty()
    })
    .await;
    store.close().await;
    stack.crash().await;
    for text in [UNSENT, SWITCHED_OFF] {
        until("no file holds it", DEADLINE, async || {
            files::holding(stack.ground.folder.path(), text.as_bytes()).is_empty()
        })
        .await;
    }
    stack.is_well().await;
}

/// Publishes a message's event, which a stage then moves to the dead letters.
async fn dead_letter(bus: &Bus, message: &str) {
    let text = json!({"type": "text", "id": message, "text": "a secret"});
    dead_letter_event(bus, message, "U1", text).await;
}

/// Publishes the same of any message of that person.
async fn dead_letter_event(bus: &Bus, event: &str, user: &str, message: serde_json::Value) {
    let spec = StageName::Assistant.consumer(Duration::from_secs(30));
    let mut consumer = bus.consume(&spec).await.unwrap();
    bus.publish(vec![Outgoing::event(&envelope(event, user, &message)).unwrap()]).await.unwrap();
    let delivery = consumer.fetch(1, Duration::from_secs(30)).await.unwrap().remove(0);
    delivery.dead_letter("it failed").await.unwrap();
}

fn envelope(event: &str, user: &str, message: &serde_json::Value) -> Envelope {
    let raw = json!({
        "type": "message", "mode": "active", "timestamp": 10, "webhookEventId": event,
        "source": {"type": "group", "groupId": "C1", "userId": user},
        "message": message,
    });
    Envelope {
        v: Envelope::VERSION,
        id: event.into(),
        platform: PlatformKind::Line,
        bot: "main".to_owned(),
        channel: Some("C1".into()),
        received_at: 10,
        raw: to_raw_value(&raw).unwrap(),
    }
}

async fn dead_letters_are_dropped(bus: Bus) {
    let fixture = Fixture::sqlite().await;
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    for message in ["stays", "regretted"] {
        dead_letter(&bus, message).await;
        fixture.keep(&[said("C1", message, 10, "a secret")], 11).await;
    }
    let clock = Arc::new(SystemClock);
    let mut dead_letters =
        DeadLetterCleaner::new(fixture.store.clone(), bus.clone(), clock.clone());
    assert_eq!(dead_letters.clear().await, Ok(0));
    fixture.keep(&[unsent("C1", "regretted", 12)], 13).await;
    assert_eq!(dead_letters.clear().await, Ok(1));
    assert_eq!(dead_letters.clear().await, Ok(0));
    assert_eq!(left(&bus).await, ["stays"]);

    // A sender without a stored message; one letter cannot even be decoded.
    let text = json!({"type": "text", "id": "never kept", "text": "a secret"});
    dead_letter_event(&bus, "of the erased", "U2", text).await;
    dead_letter_event(&bus, "broken", "U2", json!({"id": 7, "text": ["a secret"]})).await;
    assert_eq!(dead_letters.clear().await, Ok(0));
    let (channel, erased) = ("C1".into(), "U2".into());
    erase_person(&fixture.store, &channel, &erased, at(20), at(21)).await;
    assert_eq!(dead_letters.clear().await, Ok(2));
    assert_eq!(left(&bus).await, ["stays"]);
    // A late one, read by another process.
    let text = json!({"type": "text", "id": "late", "text": "a secret"});
    dead_letter_event(&bus, "late", "U2", text).await;
    let mut other = DeadLetterCleaner::new(fixture.store.clone(), bus.clone(), clock);
    assert_eq!(other.clear().await, Ok(1));
    assert_eq!(dead_letters.clear().await, Ok(0));

    delete_before(&fixture.store, &channel, at(30), at(31)).await;
    assert_eq!(dead_letters.clear().await, Ok(1));
    assert!(left(&bus).await.is_empty());
}

async fn left(bus: &Bus) -> Vec<String> {
    let letters = bus.dead_letters(10).await.unwrap();
    let ids = letters.iter().map(|letter| letter.message_id.trim_start_matches("line:main:"));
    ids.map(str::to_owned).collect()
}

#[tokio::test]
async fn dead_letters_of_messages_taken_back_are_dropped_here() {
    let folder = scratch::folder("bus-");
    let clock = Arc::new(SystemClock);
    let bus = EmbeddedBus::open(folder.path(), BusLimits::default(), clock).await.unwrap();
    dead_letters_are_dropped(Bus::Embedded(bus)).await;
}

#[tokio::test]
async fn dead_letters_of_messages_taken_back_are_dropped_on_nats() {
    let nats = Nats::start().await;
    let clock = Arc::new(SystemClock);
    let bus = NatsBus::connect(&nats.url(), BusLimits::default(), clock).await.unwrap();
    dead_letters_are_dropped(Bus::Nats(bus)).await;
}

#[tokio::test]
async fn letters_of_a_server_that_came_back_empty_are_not_those_of_before() {
    let mut nats = Nats::start().await;
    let clock = Arc::new(SystemClock);
    let bus = NatsBus::connect(&nats.url(), BusLimits::default(), clock.clone()).await.unwrap();
    let bus = Bus::Nats(bus);
    let fixture = Fixture::sqlite().await;
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 5).await;
    let said = ["first", "second", "new"].map(|message| said("C1", message, 10, "a secret"));
    fixture.keep(&said, 11).await;
    dead_letter(&bus, "first").await;
    dead_letter(&bus, "second").await;
    let mut dead_letters = DeadLetterCleaner::new(fixture.store.clone(), bus.clone(), clock);
    assert_eq!(dead_letters.clear().await, Ok(0));
    nats.lose_everything().await;
    // With the number that the first one had.
    // It is set up anew when something is published, which comes once, however often that is.
    let text = json!({"type": "text", "id": "new", "text": "a secret"});
    let new = envelope("new", "U1", &text);
    until("it is set up", DEADLINE, async || {
        bus.publish(vec![Outgoing::event(&new).unwrap()]).await.is_ok()
    })
    .await;
    dead_letter(&bus, "new").await;
    fixture.keep(&[unsent("C1", "first", 12)], 13).await;
    assert_eq!(dead_letters.clear().await, Ok(0), "of another message");
    assert_eq!(left(&bus).await, ["new"]);
    fixture.keep(&[unsent("C1", "new", 14)], 15).await;
    assert_eq!(
        dead_letters.clear().await,
        Ok(1),
        "although it comes before the last one that was read"
    );
}
