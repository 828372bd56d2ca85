//! Tests of lists in the place of objects: a list is no event, whatever its elements are.

use chatkeep_core::id::ChannelId;

use super::super::WebhookBody;
use super::super::origin::origin;
use super::tests::envelope;
use super::*;

#[test]
fn a_list_is_no_event() {
    let message = r#"{"id":"1","type":"text","text":"x"}"#;
    let group = r#"{"type":"group","groupId":"C1","userId":"U1"}"#;
    let list = format!(r#"["message",5,"active","t",null,{group},{message},null,null,null]"#);
    for odd in [list.as_str(), "[]", "7", "\"message\"", "null"] {
        assert!(matches!(decode(envelope(odd)), Err(DecodeError::Json(_))), "{odd}");
    }
}

/// Returns the chat to which the ingress routes an event.
fn routed(raw: &str) -> Option<ChannelId> {
    let body = format!(r#"{{"events":[{raw}]}}"#);
    let body = WebhookBody::parse(body.as_bytes()).unwrap();
    body.envelopes("main", Timestamp::from_millis(99)).remove(0).channel
}

#[test]
fn a_list_in_place_of_the_source_costs_the_source_alone() {
    let source = r#"{"type":"message","source":["C1","R1","U1","group"],"message":{"id":"1"}}"#;
    let event = decode(envelope(source)).unwrap();
    assert_eq!((event.channel, event.sender), (None, None));
    assert!(matches!(event.kind, EventKind::Message(_)));
    assert_eq!(origin(&envelope(source)), None);
    assert_eq!(routed(source), None);
}

#[test]
fn a_list_in_place_of_the_event_is_routed_nowhere() {
    assert_eq!(routed(r#"["E1",{"type":"group","groupId":"C1"}]"#), None);
}

#[test]
fn a_list_in_place_of_any_other_object_costs_that_alone() {
    let kind = |fields: &str| {
        let raw = format!(r#"{{"source":{{"groupId":"C1"}},{fields}}}"#);
        decode(envelope(&raw)).unwrap().kind
    };
    let message =
        r#"["1","text","x",[],null,null,null,0,null,null,null,null,null,0,0,null,null,null,[]]"#;
    let list = kind(&format!(r#""type":"message","message":{message}"#));
    assert!(matches!(list, EventKind::Other { message: None, .. }), "{list:?}");
    let unsent = kind(r#""type":"unsend","unsend":["1"]"#);
    assert!(matches!(unsent, EventKind::Other { message: None, .. }), "{unsent:?}");
    let joined = kind(r#""type":"memberJoined","joined":[[{"userId":"U1"}]]"#);
    assert!(matches!(joined, EventKind::Other { .. }), "{joined:?}");
    let people = r#"[[null,null,"U1",null],{"userId":"U2"}]"#;
    let joined = kind(&format!(r#""type":"memberJoined","joined":{{"members":{people}}}"#));
    let EventKind::MembersJoined(people) = joined else { panic!("{joined:?}") };
    assert_eq!(people, [UserId::from("U2")]);
}

#[test]
fn a_list_within_a_message_is_no_part_of_it() {
    let message = |fields: &str| {
        let raw = format!(
            r#"{{"type":"message","message":{{"id":"1","type":"text","text":"x",{fields}}}}}"#
        );
        match decode(envelope(&raw)).unwrap().kind {
            EventKind::Message(message) => serde_json::to_string(&message.content).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    let plain = message(r#""quotedMessageId":null"#);
    for fields in [
        r#""emojis":[[0,1,"p","e"]]"#,
        r#""mention":[[{"index":0,"length":1}]]"#,
        r#""mention":{"mentionees":[[0,1,"U1","user",false]]}"#,
    ] {
        assert_eq!(message(fields), plain, "{fields}");
    }
}
