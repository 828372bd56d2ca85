//! Events that cannot be decoded, or are of an unknown type: stored as they came, and erased with the
//! message that they are about.

use chatkeep_core::time::Clock as _;
use serde_json::{Value, json};

use super::bench::{Bench, Group};

/// Words that nothing may hold once they were taken back.
const SECRET: &str = "I should not say this";

/// Returns the source of an event that Bob caused.
fn source(group: &Group) -> Value {
    json!({"type": "group", "groupId": group.id, "userId": group.bob})
}

/// Publishes an event with these fields.
async fn publish(bench: &Bench, id: &str, fields: &Value) {
    let mut event = json!({"webhookEventId": id, "timestamp": 1_700_000_000_000_i64,
                           "mode": "active"});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let body = json!({"destination": "U1", "events": [event]});
    bench.publish_raw("main", &body.to_string()).await;
    bench.drain(bench.backup()).await;
}

/// Returns the number of stored events, and of rows that hold the words.
async fn stored(bench: &Bench) -> (usize, usize) {
    let words = format!(
        "SELECT (SELECT COUNT(*) FROM other_events WHERE raw LIKE '%{SECRET}%')
              + (SELECT COUNT(*) FROM messages WHERE content LIKE '%{SECRET}%')"
    );
    let events = bench.value("SELECT COUNT(*) FROM other_events").await;
    (events.parse().unwrap(), bench.value(&words).await.parse().unwrap())
}

/// Returns events about message 77 in forms that this version does not expect, each with the unsend
/// that takes it back.
fn odd_events(group: &Group) -> Vec<(Value, Value)> {
    let unsend = json!({"type": "unsend", "source": source(group), "unsend": {"messageId": "77"}});
    let of = |fields: Value| {
        let mut event = json!({"source": source(group)});
        event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        (event, unsend.clone())
    };
    let odd_source = json!({"type": "stage", "stageId": "S1"});
    vec![
        of(json!({"type": "message", "message": {"id": 77, "type": "text", "text": SECRET}})),
        of(json!({"type": "message", "timestamp": "soon",
                  "message": {"id": "77", "type": "text", "text": SECRET}})),
        of(json!({"type": "message", "source": {"groupId": group.id, "userId": []},
                  "message": {"id": 77, "text": SECRET}})),
        of(json!({"type": "translated", "translation": {"messageId": "77", "text": SECRET}})),
        of(json!({"type": "messageEdited", "message": {"id": 77, "text": SECRET}})),
        (
            json!({"type": "message", "source": odd_source,
                   "message": {"id": "77", "type": "text", "text": SECRET}}),
            json!({"type": "unsend", "source": odd_source, "unsend": {"messageId": "77"}}),
        ),
        (
            json!({"type": "messageEdited", "source": odd_source,
                   "message": {"id": "77", "type": "text", "text": SECRET}}),
            json!({"type": "unsend", "source": odd_source, "unsend": {"messageId": "77"}}),
        ),
        (
            json!({"type": "message", "source": source(group),
                   "message": {"id": 77, "type": "text", "text": SECRET}}),
            json!({"type": "unsend", "source": source(group), "mode": {},
                   "unsend": {"messageId": 77}}),
        ),
    ]
}

#[tokio::test]
async fn what_is_said_in_an_unknown_kind_of_chat_is_not_of_the_writers_own() {
    let (bench, group) = Bench::with_group().await;
    let chat = group.bob.as_str().into();
    let said = |source: Value, id: &str| {
        json!({"type": "message", "source": source, "timestamp": bench.clock.now().millis(),
               "replyToken": "r", "message": {"id": id, "type": "text", "text": SECRET}})
    };
    let own = json!({"type": "user", "userId": group.bob});
    publish(&bench, "E1", &said(own.clone(), "71")).await;
    bench.drain(bench.members()).await;
    bench.subscribe(&group.bob, &group.bob).await;
    publish(&bench, "E2", &said(own, "72")).await;
    assert_eq!(bench.messages(&chat).await.len(), 1);
    for (id, source) in [
        ("E3", json!({"type": "openchat", "openChatId": "O1", "userId": group.bob})),
        ("E4", json!({"type": "group", "userId": group.bob})),
    ] {
        publish(&bench, id, &said(source, "73")).await;
    }
    assert_eq!(bench.messages(&chat).await.len(), 1);
    assert_eq!(stored(&bench).await, (2, 3), "nothing is lost");
    bench.drain(bench.assistant()).await;
    assert_eq!(bench.calls("/reply"), 0);
}

#[tokio::test]
async fn an_unsend_erases_what_could_not_be_decoded() {
    let (_, group) = Bench::with_group().await;
    for nth in 0..odd_events(&group).len() {
        let (bench, group) = Bench::with_group().await;
        let (event, unsend) = odd_events(&group).swap_remove(nth);
        let other = json!({"type": "translated", "source": source(&group),
                           "translation": {"messageId": "78", "text": "stays"}});
        publish(&bench, "E1", &event).await;
        publish(&bench, "E2", &other).await;
        assert_eq!(stored(&bench).await.1, 1, "{event} is stored");
        publish(&bench, "E3", &unsend).await;
        assert_eq!(stored(&bench).await, (1, 0), "{event}");
        publish(&bench, "E3", &unsend).await;
        assert_eq!(stored(&bench).await, (1, 0), "{event}");
        assert!(bench.dead_letters().await.is_empty(), "{event}");
    }
}

#[tokio::test]
async fn of_a_channel_that_nobody_backs_up_nothing_is_kept() {
    let bench = Bench::new().await;
    let group = bench.group().await;
    let odd = |message: &str| {
        json!({"type": "translated", "source": source(&group),
               "translation": {"messageId": message, "text": SECRET}})
    };
    publish(&bench, "E1", &odd("77")).await;
    assert_eq!(stored(&bench).await, (0, 0), "nobody has subscribed");
    bench.subscribe(&group.id, &group.ann).await;
    publish(&bench, "E2", &odd("78")).await;
    assert_eq!(stored(&bench).await, (1, 1));
    bench.charge(&group.id, &group.ann, i64::MAX / 4).await;
    publish(&bench, "E3", &odd("79")).await;
    assert_eq!(stored(&bench).await, (1, 1), "the quota is used up");
}

#[tokio::test]
async fn what_was_unsent_before_it_came_is_not_stored() {
    let (_, group) = Bench::with_group().await;
    for nth in 0..odd_events(&group).len() {
        let (bench, group) = Bench::with_group().await;
        let (event, unsend) = odd_events(&group).swap_remove(nth);
        if event["source"]["groupId"].is_null() {
            // Nothing says where the message was.
            continue;
        }
        publish(&bench, "E3", &unsend).await;
        publish(&bench, "E1", &event).await;
        assert_eq!(stored(&bench).await, (0, 0), "{event}");
    }
}

#[tokio::test]
async fn another_bots_unsend_erases_nothing_of_a_chat_that_is_not_known() {
    let (bench, _) = Bench::with_group().await;
    let odd = json!({"type": "message", "source": {"stageId": "S1"},
                     "message": {"id": "77", "type": "text", "text": SECRET}});
    publish(&bench, "E1", &odd).await;
    let unsend = json!({"webhookEventId": "E2", "type": "unsend", "source": {"stageId": "S1"},
                        "unsend": {"messageId": "77"}});
    let body = json!({"destination": "U1", "events": [unsend]});
    bench.publish_raw("other", &body.to_string()).await;
    bench.drain(bench.backup()).await;
    assert_eq!(stored(&bench).await, (1, 1));
}
