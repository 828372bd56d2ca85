//! The forms of events and of messages in them, against the lists of fields that LINE documents.

use std::collections::BTreeSet;

use super::*;

/// Fields of every event.
const COMMON: [&str; 6] =
    ["type", "source", "timestamp", "mode", "webhookEventId", "deliveryContext"];

/// Fields of a type beside those that all have: those that it must have, and others that it may.
type Form = (&'static str, &'static [&'static str], &'static [&'static str]);

const EVENTS: [Form; 10] = [
    ("message", &["message"], &["replyToken"]),
    ("messageEdited", &["message"], &["replyToken"]),
    ("unsend", &["unsend"], &[]),
    ("follow", &["replyToken", "follow"], &[]),
    ("unfollow", &[], &[]),
    ("join", &["replyToken"], &[]),
    ("leave", &[], &[]),
    ("memberJoined", &["replyToken", "joined"], &[]),
    ("memberLeft", &["left"], &[]),
    ("postback", &["postback"], &["replyToken"]),
];

const MESSAGES: [Form; 7] = [
    ("text", &["text", "quoteToken"], &["emojis", "mention", "quotedMessageId"]),
    ("image", &["contentProvider", "quoteToken"], &["imageSet"]),
    ("video", &["contentProvider", "quoteToken"], &["duration"]),
    ("audio", &["contentProvider"], &["duration"]),
    ("file", &["fileName", "fileSize"], &[]),
    ("location", &["latitude", "longitude"], &["title", "address"]),
    (
        "sticker",
        &["packageId", "stickerId", "stickerResourceType", "quoteToken"],
        &["keywords", "text", "quotedMessageId"],
    ),
];

/// Checks that an object has the fields of its type and no others.
fn check(object: &Value, common: &[&str], forms: &[Form]) {
    let kind = object["type"].as_str().unwrap();
    let (_, needed, allowed) = forms.iter().find(|(name, ..)| *name == kind).unwrap();
    let fields: BTreeSet<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    let needed: BTreeSet<&str> = common.iter().chain(*needed).copied().collect();
    assert!(fields.is_superset(&needed), "{object} lacks one of {needed:?}");
    let known: BTreeSet<&str> = needed.iter().chain(*allowed).copied().collect();
    assert!(fields.is_subset(&known), "{object} has more than {known:?}");
}

/// Checks an event; the source is that of its chat.
fn check_event(event: &Event, bot: &str) {
    check(&event.json, &COMMON, &EVENTS);
    if let Some(message) = event.json.get("message") {
        check(message, &["type", "id"], &MESSAGES);
        assert_eq!(message["id"].as_str(), event.message_id.as_deref());
    }
    let source = &event.json["source"];
    let name = match source["type"].as_str().unwrap() {
        "group" => "groupId",
        "room" => "roomId",
        kind => {
            assert_eq!(kind, "user");
            "userId"
        }
    };
    assert_eq!(source[name], event.chat_id.as_str());
    let known = ["type", name, "userId"];
    assert!(source.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())));
    assert_eq!(event.json["webhookEventId"], event.id.as_str());
    assert_eq!(event.json.get("replyToken").and_then(Value::as_str), event.reply_token.as_deref());
    let mentioned = event.json["message"]["mention"]["mentionees"].as_array();
    for one in mentioned.into_iter().flatten() {
        // Who is meant is told of single people only.
        assert_eq!(one.get("userId").is_some(), one["type"] == "user", "{one}");
        assert_eq!(one["isSelf"] == true, one["userId"] == bot, "{one}");
    }
}

fn posts(bob: &str, quoted: &str) -> Vec<Post> {
    let media = || Media::new("x/y", "12345");
    let text = Text::from("@Bob @Chatkeep @All")
        .quoting(quoted)
        .mentioning("@Bob", MentionTarget::User(bob.to_owned()))
        .mentioning("@Chatkeep", MentionTarget::Bot)
        .mentioning("@All", MentionTarget::All);
    let sticker = Sticker {
        package_id: "446".into(),
        sticker_id: "1988".into(),
        resource_type: "ANIMATION".into(),
        keywords: vec!["hi".into(), "ハロー".into()],
        quoted: Some(quoted.to_owned()),
    };
    let title = Some("台北車站".to_owned());
    vec![
        Post::Text(text),
        Post::Image(media()),
        Post::Video(media(), 0),
        Post::Audio(media(), 1),
        Post::File(media(), "選單 🍜.pdf".into()),
        Post::Sticker(sticker),
        Post::Location(Location { title, address: None, latitude: -90.0, longitude: 180.0 }),
    ]
}

/// Plays all that people do in a chat, and returns the events.
fn play(stage: &Stage, chat: &str) -> Vec<Event> {
    let build = |action| stage.emulator.build(action).unwrap();
    let (ann, chat) = (stage.ann.clone(), chat.to_owned());
    let say = |post| Action::Send { chat: chat.clone(), user: ann.clone(), post };
    let first = build(say(Post::Text("first".into())));
    let id = first[0].message_id.clone().unwrap();
    let mut events = first;
    for post in posts(&stage.bob, &id) {
        events.extend(build(say(post)));
    }
    let images = vec![Media::new("image/png", "1"), Media::new("image/png", "2")];
    events.extend(build(Action::SendImages { chat: chat.clone(), user: ann.clone(), images }));
    if chat.starts_with('C') {
        events.extend(build(Action::Edit { message: id.clone(), text: "firstly".into() }));
    }
    events.extend(build(Action::Unsend { message: id }));
    let data = "a=1&b=空".to_owned();
    events.extend(build(Action::Postback { chat: chat.clone(), user: ann.clone(), data }));
    if !chat.starts_with('U') {
        let users = vec![stage.emulator.add_user("Cid", None).user_id];
        let left = Action::MembersLeave { chat: chat.clone(), users: users.clone() };
        events.extend(build(Action::MembersJoin { chat: chat.clone(), users }));
        events.extend(build(left));
    }
    events
}

#[tokio::test]
async fn events_have_the_fields_of_their_type_and_no_others() {
    let stage = Stage::new().await;
    let room = stage.emulator.add_room(&[&stage.ann, &stage.bob]).chat_id;
    let ann = stage.ann.clone();
    let build = |action| stage.emulator.build(action).unwrap();
    let mut events = build(Action::BotJoins { chat: room.clone() });
    events.extend(build(Action::Follow { user: ann.clone() }));
    for chat in [&stage.group, &room, &ann] {
        events.extend(play(&stage, chat));
    }
    events.extend(build(Action::BotLeaves { chat: room }));
    events.extend(build(Action::BotLeaves { chat: stage.group.clone() }));
    events.extend(build(Action::Unfollow { user: ann }));
    let bot = stage.emulator.bot().user_id;
    for event in &events {
        check_event(event, &bot);
    }
    let kinds: BTreeSet<&str> =
        events.iter().map(|event| event.json["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, EVENTS.iter().map(|(kind, ..)| *kind).collect(), "all of them were played");
    let ids: BTreeSet<&str> = events.iter().map(|event| event.id.as_str()).collect();
    assert_eq!(ids.len(), events.len(), "each has an id of its own");
    let tokens: Vec<_> = events.iter().filter_map(|event| event.reply_token.as_ref()).collect();
    let distinct: BTreeSet<_> = tokens.iter().collect();
    assert_eq!(distinct.len(), tokens.len(), "and a token of its own");
}

#[tokio::test]
async fn ids_have_the_form_that_line_documents() {
    let stage = Stage::new().await;
    let room = stage.emulator.add_room(&[&stage.ann]).chat_id;
    let bot = stage.emulator.bot().user_id;
    for (id, letter) in [(&stage.ann, 'U'), (&bot, 'U'), (&stage.group, 'C'), (&room, 'R')] {
        let digits = id.strip_prefix(letter).unwrap();
        let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        assert!(digits.len() == 32 && digits.chars().all(is_hex), "{id}");
    }
    let signed = stage.emulator.sign(vec![stage.said("hi")], false);
    let body: Value = serde_json::from_slice(&signed.body).unwrap();
    let keys: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((body["destination"].as_str(), keys.len()), (Some(bot.as_str()), 2));
}

#[tokio::test]
async fn where_a_literal_stands_is_counted_in_units_after_the_one_before() {
    let stage = Stage::new().await;
    let target = || MentionTarget::User(stage.bob.clone());
    for (text, literals, places) in [
        ("👨\u{200d}👩\u{200d}👧 @Bob", &["@Bob"][..], &[(9_u64, 4_u64)][..]),
        ("@Bob@Bob", &["@Bob", "@Bob"], &[(0, 4), (4, 4)]),
        ("𠮷@吉田𠮷 @B", &["@吉田𠮷", "@B"], &[(2, 5), (8, 2)]),
        ("e\u{301}\r\n@ก็", &["@ก็"], &[(4, 3)]),
    ] {
        let said = literals
            .iter()
            .fold(Text::from(text), |text, literal| text.mentioning(*literal, target()));
        let message = stage.said(said).json["message"].clone();
        let found: Vec<(u64, u64)> = message["mention"]["mentionees"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["index"].as_u64().unwrap(), one["length"].as_u64().unwrap()))
            .collect();
        assert_eq!(found, places, "{text}");
        let units: Vec<u16> = text.encode_utf16().collect();
        for ((index, length), literal) in found.into_iter().zip(literals) {
            let (from, length) = (usize::try_from(index), usize::try_from(length));
            let place = &units[from.unwrap()..][..length.unwrap()];
            assert_eq!(String::from_utf16(place).unwrap(), *literal);
        }
    }
    // In another order than that of the text, or more often than there.
    for literals in [&["@B", "@A"][..], &["@A", "@A"], &[""]] {
        let post = literals
            .iter()
            .fold(Text::from("@A @B"), |text, literal| text.mentioning(*literal, target()));
        let (chat, user) = (stage.group.clone(), stage.ann.clone());
        let action = Action::Send { chat, user, post: Post::Text(post) };
        let refused = stage.emulator.build(action).unwrap_err();
        assert_eq!(refused, ActError::NotInText((*literals.last().unwrap()).to_owned()));
    }
}
