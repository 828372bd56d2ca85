//! Laws of decoding for events with fields of any types: nothing panics, and the origin, which is
//! read apart from it, names the same message, chat and person.

use chatkeep_core::message::Content;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::origin::origin;
use super::tests::envelope;
use super::*;

/// Values that a field does not expect, or only by chance.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[A-Z0-9早👍\n\u{0}]{0,4}".prop_map(Value::from),
        prop::sample::select(vec![json!([]), json!([1]), json!({}), json!({ "a": 1 })]),
    ]
}

/// Objects with some of these fields, each as expected, mostly.
fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let field = |(name, value): (&'static str, BoxedStrategy<Value>)| {
        let value = prop_oneof![5 => value, 1 => odd()];
        let value = prop::option::weighted(0.8, value);
        value.prop_map(move |value| value.map(|value| (name.to_owned(), value)))
    };
    let fields: Vec<_> = fields.into_iter().map(field).collect();
    fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>()))
}

fn one_of(values: &[&'static str]) -> BoxedStrategy<Value> {
    prop::sample::select(values.to_vec()).prop_map(Value::from).boxed()
}

fn events() -> impl Strategy<Value = Value> {
    let source = object(vec![
        ("type", one_of(&["group", "room", "user", "openchat"])),
        ("groupId", one_of(&["C1"])),
        ("roomId", one_of(&["R1"])),
        ("userId", one_of(&["U1"])),
    ]);
    let message = object(vec![
        ("id", one_of(&["1", "2"])),
        ("type", one_of(&["text", "image", "poll"])),
        ("text", one_of(&["早安", ""])),
        ("quotedMessageId", one_of(&["3"])),
    ]);
    let types = ["message", "messageEdited", "unsend", "join", "leave", "memberJoined", "postback"];
    object(vec![
        ("type", one_of(&types)),
        ("timestamp", any::<i64>().prop_map(Value::from).boxed()),
        ("mode", one_of(&["active", "standby"])),
        ("replyToken", one_of(&["t"])),
        ("source", source.boxed()),
        ("message", message.boxed()),
        ("unsend", object(vec![("messageId", one_of(&["1"]))]).boxed()),
        ("joined", Just(json!({ "members": [{ "userId": "U2" }] })).boxed()),
    ])
}

/// Returns what was read, as far as it does not depend on the event's bytes; or why it was refused.
fn read(event: &Value) -> Result<String, String> {
    let event = decode(envelope(&event.to_string())).map_err(|error| error.to_string())?;
    let Event { at, channel, sender, reply_token, redelivered, active, kind, .. } = event;
    Ok(format!("{at} {channel:?} {sender:?} {reply_token:?} {redelivered} {active} {kind:?}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn an_event_is_refused_for_an_identifier_alone(event in events()) {
        if let Err(error) = decode(envelope(&event.to_string())) {
            let is_identifier = matches!(error, DecodeError::Id { .. });
            prop_assert!(is_identifier, "{error} for {event}");
        }
    }

    #[test]
    fn a_field_that_nobody_knows_costs_nothing(event in events(), more in odd()) {
        let mut longer = event.clone();
        longer["addedLater"] = more;
        prop_assert_eq!(read(&longer), read(&event));
    }

    #[test]
    fn the_origin_of_an_event_is_the_one_that_is_decoded(event in events()) {
        let envelope = || envelope(&event.to_string());
        let (Ok(decoded), origin) = (decode(envelope()), origin(&envelope())) else {
            return Ok(());
        };
        let Some(origin) = origin else {
            let has_content = matches!(decoded.kind, EventKind::Message(_) | EventKind::Edited(_));
            prop_assert!(!has_content || decoded.channel.is_none(), "{event}");
            return Ok(());
        };
        let chat = decoded.channel.as_ref().map(|channel| &channel.id);
        prop_assert_eq!(chat, Some(&origin.channel));
        prop_assert_eq!((decoded.sender, decoded.at), (origin.author, origin.at));
        if let EventKind::Message(message) | EventKind::Edited(message) = decoded.kind {
            prop_assert_eq!(Some(message.id), origin.message);
        }
    }

    #[test]
    fn a_text_arrives_letter_for_letter(letters in prop::collection::vec(any::<char>(), 0..20)) {
        let text: String = letters.iter().collect();
        let message = json!({ "id": "1", "type": "text", "text": text });
        let event = json!({ "type": "message", "source": { "groupId": "C1" }, "message": message });
        let event = decode(envelope(&event.to_string())).unwrap();
        let EventKind::Message(message) = event.kind else { panic!("no message") };
        let Content::Text { text: read, .. } = message.content else { panic!("no text") };
        // The one letter that no database can hold.
        prop_assert_eq!(read, text.replace('\0', "\u{fffd}"));
    }
}
