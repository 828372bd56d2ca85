//! Events of messages that are not stored: what is told of them, and when nothing more is.

use std::sync::Arc;
use std::time::Duration;

use chatkeep_core::bounds::Bounds;
use chatkeep_core::pseudonym::PseudonymKey;
use chatkeep_view::EventView;
use chatkeep_view::pseudonyms::Mask;
use chrono_tz::Tz;
use serde_json::{Value, json};

use super::super::{GROUP, Group, OTHER, OWNER, caller};
use super::{answered, at, bounded, call, edited, keep, parts, renderer, said, since, unsent};
use crate::Caller;
use crate::access::{ReadMessages, WriteBackup};
use crate::deletion::DeletionService;
use crate::events::EventService;
use crate::messages::MessageService;
use crate::removals::RemovalWorker;

/// Returns the kinds of all events about messages, with what they tell of them.
async fn told(group: &Group, caller: Caller) -> Vec<(&'static str, Value)> {
    let access = group.access.scoped::<ReadMessages>(caller).unwrap();
    let events = EventService::new(parts(group).0, renderer(group));
    let page = events.page(&access, 100, None).await.unwrap();
    let about = |event: &EventView| {
        let message = serde_json::to_value(event.data.message.as_ref()?).unwrap();
        Some((event.kind.name(), message))
    };
    page.events.iter().filter_map(about).collect()
}

/// Returns the kinds and ids of all events about messages.
async fn kinds(group: &Group, caller: Caller) -> Vec<String> {
    let events = told(group, caller).await.into_iter();
    events.map(|(kind, message)| format!("{kind} {}", message["id"].as_str().unwrap())).collect()
}

/// Returns a group to which nobody subscribes.
async fn unsubscribed() -> Group {
    let group = Group::new().await;
    let now = group.clock.now();
    group.store.accounts().unsubscribe(&GROUP.into(), &OWNER.into(), now).await.unwrap();
    group.hands.advance(Duration::from_secs(1));
    group
}

#[tokio::test]
async fn everything_is_told_of_it_but_its_content() {
    let group = unsubscribed().await;
    call(&group, &[(OTHER, "Mia")]).await;
    keep(&group, &[said(GROUP, "m1", OTHER, at(4_000), "nobody keeps this")]).await;
    let events = told(&group, caller(OWNER)).await;
    let [(kind, message)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(*kind, "message.received");
    let expected = [
        ("id", json!("m1")),
        ("channelId", json!(GROUP)),
        ("timestamp", json!(at(4_000).to_string())),
        ("backedUpAt", Value::Null),
        ("type", json!("text")),
        ("content", Value::Null),
        ("bytes", json!(0)),
        ("url", Value::Null),
        ("unsentAt", Value::Null),
        ("isBot", json!(false)),
        ("kept", json!(false)),
        ("reason", json!("not_subscribed")),
        ("sender", json!({"userId": OTHER, "displayName": "Mia", "pictureUrl": null})),
    ];
    for (member, value) in expected {
        assert_eq!(message.get(member), Some(&value), "{member}: {message}");
    }
    // Nothing of it is told otherwise, however often it comes; an edit is of nothing.
    let again = said(GROUP, "m1", OTHER, at(4_000), "nobody keeps this");
    keep(&group, &[again, edited(GROUP, "m1", at(5_000), "nor this")]).await;
    let events = told(&group, caller(OWNER)).await;
    assert!(!format!("{events:?}").contains("keeps this"), "{events:?}");
}

#[tokio::test]
async fn the_reason_is_that_of_the_moment_in_which_it_came() {
    let group = Group::new().await;
    group.sql("UPDATE users SET used_bytes = 524288000 WHERE user_id = 'U1'").await;
    keep(&group, &[said(GROUP, "m1", OTHER, at(4_000), "no room")]).await;
    group.sql("UPDATE users SET used_bytes = 0 WHERE user_id = 'U1'").await;
    keep(&group, &[said(GROUP, "m2", OTHER, at(5_000), "room")]).await;
    let now = group.clock.now();
    group.store.accounts().unsubscribe(&GROUP.into(), &OWNER.into(), now).await.unwrap();
    keep(&group, &[said(GROUP, "m3", OTHER, now, "nobody")]).await;
    let reasons = told(&group, caller(OWNER)).await.into_iter();
    let reasons = reasons.map(|(_, message)| [message["kept"].clone(), message["reason"].clone()]);
    let expected = [
        [json!(false), json!("quota")],
        [json!(true), Value::Null],
        [json!(false), json!("not_subscribed")],
    ];
    assert_eq!(reasons.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn what_a_bot_sent_is_told_as_sent() {
    let group = unsubscribed().await;
    keep(&group, &[answered(GROUP, "m1", "Ubot", at(4_000), "9-18")]).await;
    let events = told(&group, caller(OWNER)).await;
    let [(kind, message)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((*kind, &message["isBot"]), ("message.sent", &json!(true)));
    let bot = json!({"userId": "Ubot", "displayName": null, "pictureUrl": null});
    assert_eq!(message["sender"], bot, "nobody has told its name");
}

#[tokio::test]
async fn once_it_is_unsent_only_that_is_told_and_without_its_sender() {
    let group = unsubscribed().await;
    let sent = [
        said(GROUP, "m1", OTHER, at(4_000), "never mind"),
        said(GROUP, "m2", OTHER, at(5_000), "stays"),
    ];
    keep(&group, &sent).await;
    assert_eq!(kinds(&group, caller(OWNER)).await, ["message.received m1", "message.received m2"]);
    keep(&group, &[unsent(GROUP, "m1", at(6_000))]).await;
    let after = ["message.received m2", "message.unsent m1"];
    assert_eq!(kinds(&group, caller(OWNER)).await, after);
    let (_, message) = told(&group, caller(OWNER)).await.pop().unwrap();
    assert_eq!(message["timestamp"], at(4_000).to_string());
    assert_eq!(message["unsentAt"], at(6_000).to_string());
    assert_eq!((&message["sender"], &message["kept"]), (&Value::Null, &json!(false)));
    // Both come once more.
    keep(&group, &sent[..1]).await;
    keep(&group, &[unsent(GROUP, "m1", at(6_000))]).await;
    assert_eq!(kinds(&group, caller(OWNER)).await, after);
    // A reader of later times learns nothing of a message of before.
    let late = bounded(OWNER, since(at(4_500)));
    assert_eq!(kinds(&group, late).await, ["message.received m2"]);
}

#[tokio::test]
async fn once_its_sender_is_erased_it_is_told_as_unsent() {
    let group = unsubscribed().await;
    let own = said(GROUP, "m1", OTHER, at(4_000), "mine");
    keep(&group, &[own, said(GROUP, "m2", OWNER, at(5_000), "the owner's")]).await;
    let (store, clock) = parts(&group);
    let messages = MessageService::new(store.clone(), Tz::UTC);
    let worker = RemovalWorker::new(store.clone(), Arc::clone(&clock));
    let deletion = DeletionService::new(store, clock, messages, worker);
    let access = group.access.reaches::<WriteBackup>(caller(OTHER), GROUP.into()).await.unwrap();
    deletion.erase(&access, OTHER.into()).await.unwrap();
    let found = kinds(&group, caller(OWNER)).await;
    assert_eq!(found, ["message.received m2", "message.unsent m1"]);
    let events = told(&group, caller(OWNER)).await;
    assert!(!format!("{events:?}").contains(OTHER), "{events:?}");
}

#[tokio::test]
async fn a_reader_of_pseudonyms_gets_the_stand_in_of_its_sender() {
    let group = unsubscribed().await;
    call(&group, &[(OTHER, "Mia")]).await;
    keep(&group, &[said(GROUP, "m1", OTHER, at(4_000), "hello")]).await;
    let key = PseudonymKey::new([8; 32]);
    let bounds = Bounds { pseudonyms: Some(key.clone()), ..Bounds::full() };
    let mask = Mask::of(&key, &[(OTHER.into(), Some("Mia".to_owned()))]).unwrap();
    let masked = Caller { mask, ..bounded(OWNER, bounds) };
    let (_, message) = told(&group, masked).await.pop().unwrap();
    assert_eq!(message["sender"]["displayName"], key.person(&OTHER.into()).name);
}
