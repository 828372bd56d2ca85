//! Tests of events on the bus: the platform's JSON stays as it was, and no two events share a key.

use proptest::prelude::*;

use super::*;

fn envelope(raw: &str) -> Envelope {
    Envelope {
        v: Envelope::VERSION,
        id: EventId::from("01H"),
        platform: PlatformKind::Line,
        bot: "main".to_owned(),
        channel: Some(ChannelId::from("C1")),
        received_at: 1_767_323_045_678,
        raw: RawValue::from_string(raw.to_owned()).unwrap(),
    }
}

/// Writes the envelope and reads it again.
fn again(envelope: &Envelope) -> Envelope {
    serde_json::from_slice(&serde_json::to_vec(envelope).unwrap()).unwrap()
}

#[test]
fn the_platforms_json_travels_byte_for_byte() {
    for raw in [
        "{}",
        r#"{ "b" : 1 ,"a":	2}"#,
        r#"{"a":1,"a":2}"#,
        r#"{"text":"\ud83d","more":"\u0000\/"}"#,
        r#"{"n":123456789012345678901234567890.10e+5,"z":-0.0}"#,
        r#"{"text":"早安 👍 \u65e9"}"#,
        "null",
    ] {
        assert_eq!(again(&envelope(raw)).raw.get(), raw);
    }
}

#[test]
fn an_envelope_of_a_later_minor_version_is_read() {
    let mut json = serde_json::to_value(envelope("{}")).unwrap();
    json["added_later"] = serde_json::json!({ "x": [1] });
    json["channel"] = serde_json::Value::Null;
    let read: Envelope = serde_json::from_str(&json.to_string()).unwrap();
    assert_eq!((read.v, read.channel, read.received_at), (1, None, 1_767_323_045_678));
    // A platform that this version does not know is none that it may guess.
    json["platform"] = "telegram".into();
    assert!(serde_json::from_str::<Envelope>(&json.to_string()).is_err());
}

#[test]
fn a_reply_token_is_never_shown() {
    let token = ReplyToken::new("nHuyWiB7yP5Z");
    assert_eq!(format!("{token:?}"), "ReplyToken(…)");
    assert_eq!(token.expose(), "nHuyWiB7yP5Z");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_two_events_share_a_key(
        one in ("[ab-]{1,2}", "[ab:]{1,3}"),
        other in ("[ab-]{1,2}", "[ab:]{1,3}"),
    ) {
        let key = |(bot, id): &(String, String)| {
            let id = EventId::from(id.as_str());
            Envelope { bot: bot.clone(), id, ..envelope("{}") }.bus_id()
        };
        prop_assert_eq!(key(&one) == key(&other), one == other);
    }

    #[test]
    fn what_routes_an_event_survives_the_bus(id in ".{1,40}", bot in "[a-z0-9-]{1,32}") {
        let sent = Envelope { id: EventId::new(id), bot, ..envelope("[]") };
        let read = again(&sent);
        prop_assert_eq!(read.bus_id(), sent.bus_id());
        prop_assert_eq!((read.channel, read.received_at), (sent.channel, sent.received_at));
    }
}
