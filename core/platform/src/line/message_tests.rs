//! Tests of reading messages with odd fields.

use chatkeep_core::id::MessageId;
use serde_json::{Value, json};

use super::*;

/// Field of a message, and those of the content that are made of it.
type Field = (&'static str, &'static [&'static str]);

/// Values that are right for few fields, or for none.
fn odd_values() -> Vec<Value> {
    let values = json!([
        null, true, -1, 0, 7.5, 4_294_967_296_u64, u64::MAX, 1e300, "", "7", "a\nb", [], [null],
        [7, "x", {}, []], {}, {"index": 1}, {"id": []}, {"mentionees": null}, {"mentionees": [7]},
        {"originalContentUrl": 5}
    ]);
    values.as_array().unwrap().clone()
}

/// Whole messages of every known type, each with its optional fields.
fn whole_messages() -> Vec<(Value, Vec<Field>)> {
    let provider = json!({"originalContentUrl": "https://a/v", "previewImageUrl": "https://a/p"});
    let set = json!({"id": "S", "index": 1, "total": 2});
    let media = |kind: &str| {
        json!({"id": "1", "type": kind, "contentProvider": provider, "duration": 60_000,
               "fileName": "a.pdf", "fileSize": 10, "imageSet": set, "quotedMessageId": "8"})
    };
    let media_fields: Vec<Field> = vec![
        ("contentProvider", &["originalUrl", "previewUrl"]),
        ("duration", &["duration"]),
        ("fileName", &["fileName"]),
        ("fileSize", &["fileSize"]),
        ("imageSet", &["imageSet"]),
        ("quotedMessageId", &[]),
        ("title", &[]),
    ];
    let mention = json!({"mentionees": [{"index": 0, "length": 1, "userId": "U1"}]});
    let emoji = json!({"index": 1, "length": 2, "productId": "p", "emojiId": "e"});
    let mut all: Vec<_> =
        ["image", "video", "audio", "file"].map(|kind| (media(kind), media_fields.clone())).into();
    all.push((
        json!({"id": "1", "type": "text", "text": "x", "mention": mention, "emojis": [emoji]}),
        vec![("mention", &["mentions"]), ("emojis", &["emojis"]), ("quotedMessageId", &[])],
    ));
    all.push((
        json!({"id": "1", "type": "location", "title": "t", "address": "a",
               "latitude": 25.03, "longitude": 121.56}),
        vec![("title", &["title"]), ("address", &["address"]), ("fileSize", &[])],
    ));
    all.push((
        json!({"id": "1", "type": "sticker", "packageId": "446", "stickerId": "1988",
               "stickerResourceType": "MESSAGE", "keywords": ["hi"], "text": "x"}),
        vec![
            ("stickerResourceType", &["resourceType"]),
            ("keywords", &["keywords"]),
            ("text", &["text"]),
        ],
    ));
    all
}

fn read(json: &str) -> IncomingMessage {
    message_of(json).unwrap().unwrap()
}

/// Returns the content of a message, as it is stored.
fn content(json: &str) -> Value {
    serde_json::to_value(read(json).content).unwrap()
}

#[test]
fn whatever_an_optional_field_holds_costs_that_field_alone() {
    for (message, optional) in whole_messages() {
        let whole = content(&message.to_string());
        assert_eq!(whole["type"], message["type"]);
        for (field, made) in optional {
            for value in odd_values() {
                let mut odd = message.clone();
                odd[field] = value;
                let (mut kept, mut expected) = (content(&odd.to_string()), whole.clone());
                for name in made {
                    kept.as_object_mut().unwrap().remove(*name);
                    expected.as_object_mut().unwrap().remove(*name);
                }
                assert_eq!(kept, expected, "{odd}");
            }
        }
    }
}

#[test]
fn odd_parts_of_a_text_cost_themselves_alone() {
    let cases = [
        (json!({"emojis": null}), json!({})),
        (
            json!({"emojis": [
                {"index": 0, "length": 2, "emojiId": "e"},
                {"index": "0", "length": 2, "productId": "p", "emojiId": "e"},
                {"index": 4, "length": 2, "productId": "p", "emojiId": "e"},
                {"index": 6, "length": 2.5, "productId": "p", "emojiId": "e"},
                null
            ]}),
            json!({"emojis": [{"index": 4, "length": 2, "productId": "p", "emojiId": "e"}]}),
        ),
        (json!({"mention": {"mentionees": [{"type": "user", "userId": "U1"}]}}), json!({})),
        (json!({"mention": {"mentionees": null}}), json!({})),
        (
            json!({"mention": {"mentionees": [
                {"index": 0, "length": 1, "userId": "U1", "isSelf": null},
                {"index": "1", "length": 1, "userId": "U2"},
                {"index": -1, "length": 1, "userId": "U3"},
                {"index": 1.5, "length": 1, "userId": "U4"},
                {"index": 4_294_967_296_u64, "length": 1, "userId": "U5"},
                {"index": 2, "length": 1, "userId": "", "isSelf": true},
                {"index": 3, "length": 1, "userId": 7, "isSelf": "yes"}
            ]}}),
            json!({"mentions": [
                {"userId": "U1", "start": 0, "length": 1, "isSelf": false},
                {"userId": null, "start": 2, "length": 1, "isSelf": true},
                {"userId": null, "start": 3, "length": 1, "isSelf": false}
            ]}),
        ),
        (
            json!({"mention": {"mentionees": [{"index": 2, "length": 1, "userId": "a\u{0}"}]}}),
            json!({"mentions": [{"userId": null, "start": 2, "length": 1, "isSelf": false}]}),
        ),
    ];
    for (mut message, mut expected) in cases {
        for (field, value) in [("id", "1"), ("type", "text"), ("text", "x")] {
            message[field] = value.into();
        }
        (expected["type"], expected["text"]) = ("text".into(), "x".into());
        assert_eq!(content(&message.to_string()), expected, "{message}");
    }
}

#[test]
fn odd_parts_of_other_messages_cost_themselves_alone() {
    let cases = [
        (
            r#"{"id":"1","type":"file","fileName":"a.pdf","fileSize":"10"}"#,
            json!({"type": "file", "fileName": "a.pdf"}),
        ),
        (r#"{"id":"1","type":"video","duration":60000.5}"#, json!({"type": "video"})),
        (r#"{"id":"1","type":"image","imageSet":{"index":1}}"#, json!({"type": "image"})),
        (
            r#"{"id":"1","type":"image","imageSet":{"id":"S","index":"1","total":2}}"#,
            json!({"type": "image", "imageSet": {"id": "S", "total": 2}}),
        ),
        (r#"{"id":"1","type":"audio","contentProvider":"line"}"#, json!({"type": "audio"})),
        (
            r#"{"id":"1","type":"video",
                "contentProvider":{"originalContentUrl":5,"previewImageUrl":"https://a/p"}}"#,
            json!({"type": "video", "previewUrl": "https://a/p"}),
        ),
        (
            r#"{"id":"1","type":"sticker","packageId":446,"stickerId":1988,"keywords":["a",7]}"#,
            json!({"type": "sticker", "packageId": "446", "stickerId": "1988", "keywords": ["a"]}),
        ),
        (
            r#"{"id":"1","type":"location","title":{},"latitude":25.5,"longitude":121}"#,
            json!({"type": "location", "latitude": 25.5, "longitude": 121.0}),
        ),
        (
            r#"{"id":"1","type":"text","text":"first","text":"last"}"#,
            json!({"type": "text", "text": "last"}),
        ),
    ];
    for (message, expected) in cases {
        assert_eq!(content(message), expected, "{message}");
    }
}

#[test]
fn a_quoted_message_is_read_where_it_can_be_one() {
    let long = format!("\"{}\"", "9".repeat(9_000));
    let cases = [
        ("\"8\"", Some("8")),
        ("81000010", Some("81000010")),
        ("\"\"", None),
        ("\"\\u0007\"", None),
        ("8.5", None),
        ("null", None),
        ("{}", None),
        (&*long, None),
    ];
    for (quoted, expected) in cases {
        let json = format!(r#"{{"id":"1","type":"text","text":"x","quotedMessageId":{quoted}}}"#);
        let message = read(&json);
        assert_eq!(message.quoted.as_ref().map(MessageId::as_str), expected, "{json}");
        assert_eq!(message.content.searchable().as_deref(), Some("x"));
    }
}

#[test]
fn without_what_its_type_needs_a_message_is_kept_as_it_came() {
    for json in [
        r#"{"id":"1","type":"hologram","emojis":null}"#,
        r#"{"id":"1","type":["text"],"text":"x"}"#,
        r#"{"id":"1","type":"text","text":null,"emojis":null}"#,
        r#"{"id":"1","type":"text","text":["x"]}"#,
        r#"{"id":"1","type":"location","latitude":"25.03","longitude":121.56}"#,
        r#"{"id":"1","type":"location","latitude":25.03,"title":7}"#,
        r#"{"id":"1","type":"sticker","packageId":"446","keywords":null}"#,
        r#"{"id":"1","type":"sticker","packageId":{},"stickerId":"1988"}"#,
    ] {
        assert!(matches!(read(json).content, Content::Other { raw } if raw == json), "{json}");
    }
}

#[test]
fn its_own_id_is_what_a_message_cannot_do_without() {
    let whole = r#"{"id":7,"type":"text","text":"x"}"#;
    assert_eq!((read(whole).id.as_str(), &content(whole)["text"]), ("7", &"x".into()));
    for none in [r#"{"type":"text","text":"x"}"#, r#"{"id":[],"type":"image"}"#, "7", "null"] {
        assert!(message_of(none).unwrap().is_none(), "{none}");
    }
    for invalid in [r#"{"id":"","type":"image"}"#, r#"{"id":"a\nb","type":"text","text":7}"#] {
        let refused = message_of(invalid);
        assert!(matches!(refused, Err(DecodeError::Id { field: "message.id", .. })), "{invalid}");
    }
}
