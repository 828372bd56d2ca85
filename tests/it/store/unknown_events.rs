//! Events of unknown types: an unsend, an erasure and a deletion erase them, in any order.

use chatkeep_core::event::{Envelope, Event, EventKind, PlatformKind};
use chatkeep_core::id::MessageId;
use chatkeep_store::{Erasure, UnknownEvent};
use serde_json::value::RawValue;

use super::{Fixture, at, delete_before, on_both, said, unsent};

on_both!(
    an_unsend_erases_the_events_about_its_message,
    an_unsend_without_a_chat_erases_those_of_its_bot,
    a_deletion_and_a_replay_erase_the_events_about_their_messages,
);

/// Returns an event about a message, in that group or in no known chat.
fn about(message: &str, event: &str, bot: &str, group: Option<&str>) -> Event {
    let source = group.map(|id| format!(r#""source":{{"groupId":"{id}","userId":"U1"}},"#));
    let source = source.unwrap_or_default();
    let raw = format!(
        r#"{{"type":"translated","timestamp":20,{source}"messageId":"{message}","text":"words"}}"#
    );
    let envelope = Envelope {
        v: Envelope::VERSION,
        id: event.into(),
        platform: PlatformKind::Line,
        bot: bot.to_owned(),
        channel: None,
        received_at: 20,
        raw: RawValue::from_string(raw).unwrap(),
    };
    chatkeep_platform::decode(envelope).unwrap()
}

async fn store(fixture: &Fixture, event: &Event) {
    let EventKind::Other { name, message } = &event.kind else { panic!("{event:?}") };
    let unknown = UnknownEvent { event, kind: name, message: message.as_ref() };
    fixture.store.messages().store_unknown(&[unknown]).await.unwrap();
}

/// Returns the ids of the stored events.
async fn stored(fixture: &Fixture) -> String {
    let list = if fixture.is_sqlite() { "GROUP_CONCAT(id, ' ')" } else { "STRING_AGG(id, ' ')" };
    let sql =
        format!("SELECT {list} FROM (SELECT event_id AS id FROM other_events ORDER BY event_id) e");
    fixture.value(&sql).await
}

async fn an_unsend_erases_the_events_about_its_message(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.group("C2", &["U1"]).await;
    fixture.subscribe("C1", "U1", 2).await;
    fixture.subscribe("C2", "U1", 2).await;
    for channel in ["C1", "C2"] {
        for (message, n) in [("m1", 1), ("m2", 2)] {
            store(&fixture, &about(message, &format!("{channel}-{n}"), "main", Some(channel)))
                .await;
        }
        fixture.keep(&[unsent(channel, "m1", 30)], 31).await;
        // It comes again, and for the first time, after the unsend.
        for n in [1, 3] {
            store(&fixture, &about("m1", &format!("{channel}-{n}"), "main", Some(channel))).await;
        }
    }
    assert_eq!(stored(&fixture).await, "line:main:C1-2 line:main:C2-2");
}

async fn an_unsend_without_a_chat_erases_those_of_its_bot(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 2).await;
    for (id, bot, group) in [("1", "main", None), ("2", "other", None), ("3", "main", Some("C1"))] {
        store(&fixture, &about("m1", id, bot, group)).await;
    }
    let unsend = about("m1", "4", "main", None);
    let message = MessageId::from("m1");
    fixture.store.messages().forget_unplaced(&[(&unsend, &message)]).await.unwrap();
    assert_eq!(stored(&fixture).await, "line:main:3 line:other:2");
}

async fn a_deletion_and_a_replay_erase_the_events_about_their_messages(fixture: Fixture) {
    fixture.group("C1", &["U1"]).await;
    fixture.subscribe("C1", "U1", 2).await;
    fixture.keep(&[said("C1", "m1", 5, "words"), said("C1", "m2", 6, "words")], 7).await;
    for (message, n) in [("m1", "1"), ("m2", "2"), ("m3", "3"), ("m4", "4")] {
        store(&fixture, &about(message, n, "main", Some("C1"))).await;
    }
    // The message is of before, and the event about it of later.
    delete_before(&fixture.store, &"C1".into(), at(6), at(30)).await;
    assert_eq!(stored(&fixture).await, "line:main:2 line:main:3 line:main:4");
    let (channel, message) = ("C1".to_owned(), "m3".to_owned());
    let unsent = Erasure::Unsent { channel: channel.clone(), message: "m2".to_owned(), at: 31 };
    let entries = [Erasure::Message { channel, message }, unsent];
    fixture.store.messages().replay(&entries, at(40)).await.unwrap();
    assert_eq!(stored(&fixture).await, "line:main:4");
}
