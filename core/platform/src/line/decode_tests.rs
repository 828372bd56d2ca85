//! Tests of decoding every event and message type of LINE.

use chatkeep_core::event::{ChannelKind, IncomingMessage, PlatformKind};
use chatkeep_core::id::ChannelId;
use chatkeep_core::message::{Content, MessageType};

use super::*;

fn event(json: &str) -> Event {
    decode(envelope(json)).unwrap()
}

pub(super) fn envelope(json: &str) -> Envelope {
    Envelope {
        v: 1,
        id: "E1".into(),
        platform: PlatformKind::Line,
        bot: "main".into(),
        channel: None,
        received_at: 99,
        raw: RawValue::from_string(json.to_owned()).unwrap(),
    }
}

fn message(json: &str) -> IncomingMessage {
    let body = format!(
        r#"{{"type":"message","timestamp":5,"mode":"active","replyToken":"r","source":{{"type":"group","groupId":"C1","userId":"U1"}},"message":{json}}}"#
    );
    match event(&body).kind {
        EventKind::Message(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_person_is_a_chat_only_where_the_source_is_their_own() {
    for (source, expected) in [
        (r#"{"type":"user","userId":"U1"}"#, Some((ChannelKind::User, "U1"))),
        (r#"{"userId":"U1"}"#, Some((ChannelKind::User, "U1"))),
        (r#"{"type":null,"userId":"U1"}"#, Some((ChannelKind::User, "U1"))),
        (r#"{"type":"group","groupId":"C1","userId":"U1"}"#, Some((ChannelKind::Group, "C1"))),
        (r#"{"type":"room","roomId":"R1","userId":"U1"}"#, Some((ChannelKind::Room, "R1"))),
        (r#"{"type":3,"groupId":"C1","userId":"U1"}"#, Some((ChannelKind::Group, "C1"))),
        (r#"{"type":"openchat","openChatId":"O1","userId":"U1"}"#, None),
        (r#"{"type":"group","userId":"U1"}"#, None),
        (r#"{"type":3,"userId":"U1"}"#, None),
    ] {
        for odd in ["", r#","mode":{}"#] {
            let json = format!(r#"{{"type":"join","source":{source}{odd}}}"#);
            let event = event(&json);
            let channel = event.channel.as_ref().map(|channel| (channel.kind, channel.id.as_str()));
            assert_eq!(channel, expected, "{json}");
            assert_eq!(event.sender.is_some(), source.contains("userId"), "{json}");
            let body = format!(r#"{{"events":[{json}]}}"#);
            let body = super::super::WebhookBody::parse(body.as_bytes()).unwrap();
            let routed = &body.envelopes("main", event.at)[0].channel;
            assert_eq!(routed.as_ref().map(ChannelId::as_str), expected.map(|(_, id)| id));
        }
    }
}

#[test]
fn a_redelivery_is_told_by_its_context_alone() {
    for (context, redelivered) in [
        (r#"{"isRedelivery":true}"#, true),
        (r#"{"isRedelivery":false}"#, false),
        (r#"{"isRedelivery":"yes"}"#, false),
        ("{}", false),
        ("[true]", false),
        ("null", false),
    ] {
        let event = event(&format!(
            r#"{{"type":"message","mode":"active","replyToken":"r","deliveryContext":{context},
                "source":{{"type":"group","groupId":"C1"}},"message":{{"id":"1","type":"text"}}}}"#
        ));
        assert_eq!(event.redelivered, redelivered, "{context}");
        assert!(event.active && event.reply_token.is_some(), "{context}");
    }
}

#[test]
fn texts_keep_emoji_mentions_and_quotes() {
    let message = message(
        r#"{"id":"1","type":"text","text":"@Bot hi","quoteToken":"q","quotedMessageId":"0",
            "emojis":[{"index":5,"length":2,"productId":"p","emojiId":"e"}],
            "mention":{"mentionees":[{"index":0,"length":4,"type":"user","userId":"UB","isSelf":true},
                                     {"index":0,"length":4,"type":"all"},
                                     {"index":5,"length":2,"type":"user"}]}}"#,
    );
    assert_eq!(message.quoted, Some("0".into()));
    let json = serde_json::to_string(&message.content).unwrap();
    assert_eq!(
        json,
        r#"{"type":"text","text":"@Bot hi","emojis":[{"index":5,"length":2,"productId":"p","emojiId":"e"}],"mentions":[{"userId":"UB","start":0,"length":4,"isSelf":true},{"userId":null,"start":0,"length":4,"isSelf":false,"isAll":true},{"userId":null,"start":5,"length":2,"isSelf":false,"isAll":false}]}"#
    );
}

#[test]
fn every_media_type_keeps_its_fields() {
    let cases = [
        (
            r#"{"id":"1","type":"image","contentProvider":{"type":"line"},"imageSet":{"id":"S","index":1,"total":2}}"#,
            r#"{"type":"image","imageSet":{"id":"S","index":1,"total":2}}"#,
        ),
        (
            r#"{"id":"1","type":"video","duration":60000,"contentProvider":{"type":"external","originalContentUrl":"https://a/v","previewImageUrl":"https://a/p"}}"#,
            r#"{"type":"video","originalUrl":"https://a/v","previewUrl":"https://a/p","duration":60000}"#,
        ),
        (r#"{"id":"1","type":"audio","duration":3}"#, r#"{"type":"audio","duration":3}"#),
        (
            r#"{"id":"1","type":"file","fileName":"規約.pdf","fileSize":2138}"#,
            r#"{"type":"file","fileName":"規約.pdf","fileSize":2138}"#,
        ),
    ];
    for (json, kept) in cases {
        assert_eq!(serde_json::to_string(&message(json).content).unwrap(), kept);
    }
}

#[test]
fn places_and_stickers_keep_their_fields() {
    let place = message(
        r#"{"id":"1","type":"location","title":"台北101","address":"信義區","latitude":25.03,"longitude":121.56}"#,
    );
    assert_eq!(place.content.searchable().as_deref(), Some("台北101\n信義區"));
    let sticker = message(
        r#"{"id":"1","type":"sticker","packageId":"446","stickerId":"1988","stickerResourceType":"MESSAGE","keywords":["hi"],"text":"Let's hang out"}"#,
    );
    assert_eq!(
        serde_json::to_string(&sticker.content).unwrap(),
        r#"{"type":"sticker","packageId":"446","stickerId":"1988","resourceType":"MESSAGE","keywords":["hi"],"text":"Let's hang out"}"#
    );
}

#[test]
fn unknown_and_broken_messages_are_kept_as_they_came() {
    for json in [
        r#"{"id":"1","type":"hologram","depth":3}"#,
        r#"{"id":"1","type":"text","text":{"rich":true}}"#,
        r#"{"id":"1","type":"location","title":"nowhere"}"#,
        r#"{"id":"1"}"#,
    ] {
        let message = message(json);
        assert_eq!(message.content.kind(), MessageType::Other);
        match message.content {
            Content::Other { raw } => assert_eq!(raw, json),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn comings_and_goings() {
    let joined = event(
        r#"{"type":"memberJoined","timestamp":5,"source":{"type":"group","groupId":"C1"},"joined":{"members":[{"type":"user","userId":"U1"},{"type":"user"},{"type":"user","userId":"U2"}]}}"#,
    );
    assert!(matches!(joined.kind, EventKind::MembersJoined(users) if users.len() == 2));
    let follow = event(r#"{"type":"follow","source":{"type":"user","userId":"U1"}}"#);
    assert!(matches!(follow.kind, EventKind::BotJoined));
    let channel = follow.channel.unwrap();
    assert_eq!((channel.id.as_str(), channel.kind), ("U1", ChannelKind::User));
    assert_eq!(follow.at.millis(), 99, "no time of its own: when it was received");
}

#[test]
fn standby_and_unknown_events() {
    let standby = event(
        r#"{"type":"message","mode":"standby","message":{"id":"1","type":"text","text":"x"}}"#,
    );
    assert!(!standby.active);
    let unknown = event(r#"{"type":"hoge","foo":{"bar":"baz"}}"#);
    assert!(matches!(unknown.kind, EventKind::Other { name, .. } if name == "hoge"));
    let strange = event(r#"{"type":"message","source":[1],"timestamp":8}"#);
    assert!(matches!(strange.kind, EventKind::Other { .. }) && strange.at.millis() == 8);
    let stranger = event(r#"{"type":7,"timestamp":"soon"}"#);
    assert!(matches!(stranger.kind, EventKind::Other { .. }) && stranger.at.millis() == 99);
    assert!(decode(envelope("[1,2]")).is_err());
    assert!(decode(envelope("7")).is_err());
}

#[test]
fn an_odd_field_costs_itself_alone() {
    let source = r#""source":{"type":"group","groupId":"C1","userId":"U1"}"#;
    let odd = event(&format!(
        r#"{{"type":"message","timestamp":"soon","replyToken":"r",{source},
            "message":{{"id":"1","type":"text","text":"x"}}}}"#
    ));
    assert!(matches!(&odd.kind, EventKind::Message(message) if message.id.as_str() == "1"));
    let channel = odd.channel.unwrap();
    assert_eq!((channel.id.as_str(), odd.sender), ("C1", Some("U1".into())));
    assert!(!odd.active && odd.reply_token.is_none(), "nobody answers what is read so");
    assert_eq!(odd.at.millis(), 99);
    let unsend = event(&format!(r#"{{"type":"unsend",{source},"unsend":{{"messageId":12}}}}"#));
    assert!(matches!(unsend.kind, EventKind::Unsent(id) if id.as_str() == "12"));
    let source = r#""source":{"groupId":"C1","userId":[]}"#;
    let half = event(&format!(r#"{{"type":"message",{source},"message":{{"id":12,"text":"x"}}}}"#));
    assert!(matches!(&half.kind, EventKind::Message(message) if message.id.as_str() == "12"));
    assert_eq!((half.channel.unwrap().id.as_str(), half.sender), ("C1", None));
    let about = |kind: &EventKind| match kind {
        EventKind::Other { message, .. } => message.clone(),
        other => panic!("{other:?}"),
    };
    let reaction = event(r#"{"type":"reaction","reaction":{"messageId":"7"}}"#);
    assert_eq!(about(&reaction.kind), Some("7".into()));
    assert_eq!(about(&event(r#"{"type":"hoge","message":{"id":"a\nb"}}"#).kind), None);
}

#[test]
fn a_message_with_an_odd_field_is_answered_like_any() {
    let odd = event(
        r#"{"type":"message","mode":"active","replyToken":"r","source":{"groupId":"C1"},
            "message":{"id":7,"type":"text","text":"x","emojis":null,"quotedMessageId":8}}"#,
    );
    assert!(odd.active && odd.reply_token.is_some());
    let EventKind::Message(message) = odd.kind else { panic!("{odd:?}") };
    assert_eq!((message.id.as_str(), message.quoted), ("7", Some("8".into())));
    assert!(matches!(message.content, Content::Text { text, .. } if text == "x"));
    let edited = event(
        r#"{"type":"messageEdited","source":{"groupId":"C1"},
            "message":{"id":"7","type":"text","text":"y","mention":{"mentionees":[{}]}}}"#,
    );
    assert!(matches!(edited.kind, EventKind::Edited(edited)
        if matches!(&edited.content, Content::Text { text, .. } if text == "y")));
}

#[test]
fn an_odd_person_costs_none_of_the_others() {
    for odd in [r#"{"userId":""}"#, r#"{"userId":"\u0001"}"#, r#"{"userId":7}"#, "7", "null"] {
        let list = format!(r#"{{"members":[{{"userId":"U1"}},{odd},{{"userId":"U2"}}]}}"#);
        let joined = event(&format!(r#"{{"type":"memberJoined","joined":{list}}}"#));
        let left = event(&format!(r#"{{"type":"memberLeft","left":{list}}}"#));
        let expected = ["U1".into(), "U2".into()];
        assert!(matches!(joined.kind, EventKind::MembersJoined(users) if users == expected));
        assert!(matches!(left.kind, EventKind::MembersLeft(users) if users == expected));
    }
    let none = event(r#"{"type":"memberJoined","joined":{"members":"U1"}}"#);
    assert!(matches!(none.kind, EventKind::Other { .. }), "it is stored as it came");
}

#[test]
fn a_time_without_a_date_is_that_of_receiving() {
    for (time, at) in [("0", 0), ("-1", 99), ("253402300800000", 99), ("9223372036854775807", 99)] {
        let event = event(&format!(r#"{{"type":"join","timestamp":{time}}}"#));
        assert_eq!(event.at.millis(), at, "{time}");
        assert!(event.active, "{time}");
    }
}

#[test]
fn what_no_text_can_hold_never_reaches_the_store_and_costs_nothing_else() {
    let text = |json: &str| match message(json).content {
        Content::Text { text, .. } => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text(r#"{"id":"1","type":"text","text":"a\u0000b"}"#), "a\u{fffd}b");
    assert_eq!(text(r#"{"id":"1","type":"text","text":"a\ud83d b"}"#), "a\u{fffd} b");
    assert_eq!(text(r#"{"id":"1","type":"text","text":"a","odd\uDE00":"\ud83d"}"#), "a");
    assert_eq!(text(r#"{"id":"1","type":"text","text":"\ud83d\ude00"}"#), "\u{1f600}");
    let typed = text(r#"{"id":"1","type":"text","text":"a\\u0000b \\ud83d"}"#);
    assert_eq!(typed, r"a\u0000b \ud83d", "what somebody typed stays");
    let unknown = event(r#"{"type":"hoge","message":{"\ud83d":1,"id":"7"}}"#);
    assert!(
        matches!(unknown.kind, EventKind::Other { message: Some(id), .. } if id.as_str() == "7")
    );
    assert!(!unknown.raw.get().contains("ud83d"));
}

#[test]
fn an_event_with_what_cannot_be_an_identifier_is_refused_by_name() {
    let long = "9".repeat(9_000);
    let message = |fields: &str| {
        format!(
            r#"{{"type":"message","source":{{"groupId":"C1","userId":"U1"}},"message":{fields}}}"#
        )
    };
    let cases = [
        (message(&format!(r#"{{"id":"{long}","type":"text","text":"x"}}"#)), "message.id"),
        (message(&format!(r#"{{"id":"{long}","type":"text","text":7}}"#)), "message.id"),
        (message(r#"{"id":"a\u0000b","type":"text","text":"x"}"#), "message.id"),
        (message(r#"{"id":"a\nb","type":"text","text":"x"}"#), "message.id"),
        (message(r#"{"id":"","type":"text","text":"x"}"#), "message.id"),
        (message(r#"{"id":"\ud83d","type":"text","text":"x"}"#), "message.id"),
        (format!(r#"{{"type":"join","source":{{"groupId":"{long}"}}}}"#), "source.groupId"),
        (r#"{"type":"join","source":{"roomId":"\t"}}"#.to_owned(), "source.roomId"),
        (format!(r#"{{"type":"follow","source":{{"userId":"{long}"}}}}"#), "source.userId"),
        (
            format!(
                r#"{{"type":"unsend","source":{{"groupId":"C1"}},"unsend":{{"messageId":"{long}"}}}}"#
            ),
            "unsend.messageId",
        ),
    ];
    for (json, named) in cases {
        match decode(envelope(&json)) {
            Err(DecodeError::Id { field, .. }) => assert_eq!(field, named),
            other => panic!("{named}: {other:?}"),
        }
    }
    let odd = Envelope { id: "a\nb".into(), ..envelope(r#"{"type":"join"}"#) };
    assert!(matches!(decode(odd), Err(DecodeError::Id { field: "webhookEventId", .. })));
}

#[test]
fn a_reply_token_that_can_be_none_costs_the_reply_alone() {
    let event = event(r#"{"type":"join","replyToken":"a\nb","source":{"groupId":"C1"}}"#);
    assert!(event.reply_token.is_none() && matches!(event.kind, EventKind::BotJoined));
}
