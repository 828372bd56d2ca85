//! Contents and delivery of events.

use super::*;

impl Stage {
    fn one(&self, action: Action) -> Event {
        let mut events = self.emulator.build(action).unwrap();
        assert_eq!(events.len(), 1);
        events.remove(0)
    }

    fn refused(&self, action: Action) -> ActError {
        self.emulator.build(action).expect_err("it should not be possible")
    }
}

#[tokio::test]
async fn every_event_has_the_common_fields() {
    let stage = Stage::new().await;
    stage.pass(11);
    let event = stage.said("hello").json;
    assert_eq!(event["type"], "message");
    assert_eq!(event["mode"], "active");
    assert_eq!(event["timestamp"], START + 11);
    assert_eq!(event["deliveryContext"], json!({ "isRedelivery": false }));
    assert_eq!(
        event["source"],
        json!({ "type": "group", "groupId": stage.group, "userId": stage.ann })
    );
    assert_eq!(event["webhookEventId"].as_str().unwrap().len(), 26);
    let message = &event["message"];
    assert_eq!((&message["type"], &message["text"]), (&json!("text"), &json!("hello")));
    assert!(message["id"].is_string() && message["quoteToken"].is_string());
}

#[tokio::test]
async fn the_same_play_gives_the_same_events() {
    let play = async || {
        let stage = Stage::new().await;
        let (one, two) = (stage.said("one"), stage.said("two"));
        let unsent = stage.one(Action::Unsend { message: one.message_id.clone().unwrap() });
        [one, two, unsent].map(|event| event.json)
    };
    assert_eq!(play().await, play().await);
}

#[tokio::test]
async fn mentions_and_emojis_are_counted_in_utf16() {
    let stage = Stage::new().await;
    let mut text = Text::from("😀 @Bob @Bob @bot (hello) @All")
        .mentioning("@Bob", MentionTarget::User(stage.bob.clone()))
        .mentioning("@Bob", MentionTarget::User(stage.bob.clone()))
        .mentioning("@bot", MentionTarget::Bot)
        .mentioning("@All", MentionTarget::All);
    text.emojis.push(Emoji {
        literal: "(hello)".into(),
        product_id: "5ac1".into(),
        emoji_id: "001".into(),
    });
    let message = stage.said(text).json["message"].clone();
    let bot = stage.emulator.bot().user_id;
    assert_eq!(
        message["mention"]["mentionees"],
        json!([
            { "type": "user", "index": 3, "length": 4, "userId": stage.bob, "isSelf": false },
            { "type": "user", "index": 8, "length": 4, "userId": stage.bob, "isSelf": false },
            { "type": "user", "index": 13, "length": 4, "userId": bot, "isSelf": true },
            { "type": "all", "index": 26, "length": 4 },
        ])
    );
    let emoji = json!([{ "index": 18, "length": 7, "productId": "5ac1", "emojiId": "001" }]);
    assert_eq!(message["emojis"], emoji);
    let post = Post::Text(Text::from("hi").mentioning("@Bob", MentionTarget::All));
    let (chat, user) = (stage.group.clone(), stage.ann.clone());
    let error = stage.refused(Action::Send { chat, user, post });
    assert_eq!(error, ActError::NotInText("@Bob".into()));
}

#[tokio::test]
async fn a_quote_names_its_message() {
    let stage = Stage::new().await;
    let first = stage.said("first").message_id.unwrap();
    let quote = stage.said(Text::from("second").quoting(&first));
    assert_eq!(quote.json["message"]["quotedMessageId"], first);
    let (chat, user) = (stage.group.clone(), stage.ann.clone());
    let post = Post::Text(Text::from("third").quoting("1"));
    assert_eq!(stage.refused(Action::Send { chat, user, post }), ActError::NoMessage("1".into()));
}

#[tokio::test]
async fn messages_of_every_type_have_their_fields() {
    let stage = Stage::new().await;
    let media = || Media::new("x/y", "12345");
    let sticker = Sticker {
        package_id: "446".into(),
        sticker_id: "1988".into(),
        resource_type: "STATIC".into(),
        keywords: vec!["hi".into()],
        quoted: None,
    };
    let place =
        Location { title: None, address: Some("Here 1".into()), latitude: 1.5, longitude: -2.0 };
    let provider = json!({ "type": "line" });
    let cases = [
        (Post::Image(media()), json!({ "type": "image", "contentProvider": provider })),
        (
            Post::Video(media(), 9),
            json!({ "type": "video", "duration": 9, "contentProvider": provider }),
        ),
        (
            Post::Audio(media(), 9),
            json!({ "type": "audio", "duration": 9, "contentProvider": provider }),
        ),
        (
            Post::File(media(), "a.txt".into()),
            json!({ "type": "file", "fileName": "a.txt", "fileSize": 5 }),
        ),
        (
            Post::Sticker(sticker),
            json!({
                "type": "sticker", "packageId": "446", "stickerId": "1988",
                "stickerResourceType": "STATIC", "keywords": ["hi"]
            }),
        ),
        (
            Post::Location(place),
            json!({ "type": "location", "address": "Here 1", "latitude": 1.5, "longitude": -2.0 }),
        ),
        (
            Post::Unknown("hologram".into(), webhook::fields(json!({ "depth": 3 }))),
            json!({ "type": "hologram", "depth": 3 }),
        ),
    ];
    for (post, expected) in cases {
        let mut message = webhook::fields(stage.sent(post).json["message"].clone());
        assert!(message.remove("id").is_some_and(|id| id.is_string()));
        let quotable = matches!(expected["type"].as_str(), Some("image" | "video" | "sticker"));
        assert_eq!(message.remove("quoteToken").is_some(), quotable, "{expected}");
        assert_eq!(Value::Object(message), expected);
    }
}

#[tokio::test]
async fn images_sent_together_travel_together() {
    let (sink, url) = Sink::open(&[]).await;
    let stage = Stage::with(|options| options.webhook_url = Some(url)).await;
    let images = vec![Media::new("image/png", "1"), Media::new("image/png", "2")];
    let told = stage.emulator.send_images(&stage.group, &stage.ann, images).await.unwrap();
    assert!(told.is_accepted());
    let bodies = sink.bodies();
    let sets: Vec<_> =
        bodies[0]["events"].as_array().unwrap().iter().map(|e| &e["message"]["imageSet"]).collect();
    assert_eq!((bodies.len(), sets.len()), (1, 2));
    assert_eq!(sets[0]["id"], sets[1]["id"]);
    assert_eq!([&sets[0]["index"], &sets[1]["index"], &sets[1]["total"]], [1, 2, 2]);
}

#[tokio::test]
async fn coming_and_going_is_told_without_a_person_in_the_source() {
    let stage = Stage::new().await;
    let (cid, dan) = (stage.emulator.add_user("Cid", None), stage.emulator.add_user("Dan", None));
    let users = vec![cid.user_id, dan.user_id];
    let chat = stage.group.clone();
    let source = json!({ "type": "group", "groupId": chat });
    let members: Vec<_> = users.iter().map(|id| json!({ "type": "user", "userId": id })).collect();
    let joined = stage.one(Action::MembersJoin { chat: chat.clone(), users: users.clone() });
    assert_eq!(joined.json["joined"], json!({ "members": members }));
    assert!(joined.json["replyToken"].is_string() && joined.json["source"] == source);
    let again = Action::MembersJoin { chat: chat.clone(), users: users.clone() };
    assert_eq!(stage.refused(again), ActError::AlreadyAMember(users[0].clone()));
    let left = stage.one(Action::MembersLeave { chat: chat.clone(), users });
    assert_eq!(left.json["left"], json!({ "members": members }));
    assert!(left.json.get("replyToken").is_none() && left.json["source"] == source);
    let gone = stage.one(Action::BotLeaves { chat: chat.clone() });
    assert_eq!((&gone.json["type"], &gone.json["source"]), (&json!("leave"), &source));
    assert!(gone.reply_token.is_none());
    let back = stage.one(Action::BotJoins { chat });
    assert!(back.json["type"] == "join" && back.reply_token.is_some());
    let names = stage.emulator.transcript(&stage.group)[1].text.clone();
    assert_eq!(names.as_deref(), Some("Cid, Dan"));
}

#[tokio::test]
async fn a_friend_follows_blocks_and_comes_back() {
    let stage = Stage::new().await;
    let user = stage.bob.clone();
    let first = stage.one(Action::Follow { user: user.clone() });
    assert_eq!(first.json["follow"], json!({ "isUnblocked": false }));
    assert_eq!(first.json["source"], json!({ "type": "user", "userId": user }));
    assert_eq!(
        stage.refused(Action::Follow { user: user.clone() }),
        ActError::NoChange(user.clone())
    );
    let blocked = stage.one(Action::Unfollow { user: user.clone() });
    assert!(blocked.json["type"] == "unfollow" && blocked.reply_token.is_none());
    let back = stage.one(Action::Follow { user });
    assert_eq!(back.json["follow"], json!({ "isUnblocked": true }));
}

#[tokio::test]
async fn an_edit_is_later_than_what_it_edits() {
    let stage = Stage::new().await;
    let message = stage.said("helo").message_id.unwrap();
    let edit = |text: &str| {
        let (message, text) = (message.clone(), text.into());
        stage.one(Action::Edit { message, text })
    };
    let (one, two) = (edit("hello"), edit("hello!"));
    assert_eq!(one.json["type"], "messageEdited");
    assert_eq!(
        (&one.json["message"]["id"], &one.json["message"]["text"]),
        (&json!(message), &json!("hello"))
    );
    let times = [&one, &two].map(|event| event.json["timestamp"].as_i64().unwrap() - START);
    assert_eq!(times, [1, 2], "also while the clock stands still");
    let line = stage.emulator.transcript(&stage.group).pop().unwrap();
    assert_eq!((line.text.as_deref(), line.edited_at), (Some("hello!"), Some(START + 2)));
}

#[tokio::test]
async fn what_was_unsent_is_gone() {
    let stage = Stage::new().await;
    let event = stage.sent(Post::Image(Media::new("image/png", "1")));
    let message = event.message_id.unwrap();
    let take_back = || Action::Unsend { message: message.clone() };
    let unsent = stage.one(take_back());
    assert_eq!(unsent.json["unsend"], json!({ "messageId": message }));
    assert_eq!(unsent.json["source"]["userId"], stage.ann);
    assert!(unsent.reply_token.is_none());
    let line = stage.emulator.transcript(&stage.group).pop().unwrap();
    assert_eq!((line.unsent_at, line.message), (Some(START), Value::Null));
    assert!(stage.emulator.content(&message).is_none());
    assert_eq!(stage.refused(take_back()), ActError::NoMessage(message.clone()));
}

#[tokio::test]
async fn people_cannot_unsend_what_the_bot_said() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    stage.reply(&event, &["hi"]).await;
    let message = stage.emulator.replies_to(&event.id)[0].message_id.clone().unwrap();
    let error = stage.refused(Action::Unsend { message: message.clone() });
    assert_eq!(error, ActError::NoMessage(message));
}

#[tokio::test]
async fn where_the_bot_is_not_nothing_is_told() {
    let (sink, url) = Sink::open(&[]).await;
    let stage = Stage::with(|options| options.webhook_url = Some(url)).await;
    stage.emulator.bot_leaves(&stage.group).await.unwrap();
    let told = stage.emulator.say(&stage.group, &stage.ann, "secret").await.unwrap();
    assert!(told.events.is_empty() && told.delivery.is_none());
    assert_eq!(
        stage.emulator.transcript(&stage.group).last().unwrap().text.as_deref(),
        Some("secret")
    );
    assert_eq!(sink.raw().len(), 1, "only that it was removed");
}

#[tokio::test]
async fn strangers_do_not_talk_in_the_group() {
    let stage = Stage::new().await;
    let cid = stage.emulator.add_user("Cid", None).user_id;
    let say = |chat: &str, user: &str| Action::Send {
        chat: chat.to_owned(),
        user: user.to_owned(),
        post: Post::Text("hi".into()),
    };
    assert_eq!(stage.refused(say(&stage.group, &cid)), ActError::NotAMember(cid));
    assert_eq!(stage.refused(say("C1", &stage.ann)), ActError::NoChat("C1".into()));
    assert_eq!(stage.refused(say(&stage.group, "U1")), ActError::NoUser("U1".into()));
    let chat = stage.ann.clone();
    assert_eq!(stage.refused(Action::BotJoins { chat: chat.clone() }), ActError::WrongKind(chat));
}

#[tokio::test]
async fn in_standby_there_is_nothing_to_reply_with() {
    let stage = Stage::new().await;
    stage.emulator.set_standby(true);
    let event = stage.said("hello");
    assert_eq!(event.json["mode"], "standby");
    assert!(event.reply_token.is_none() && event.json.get("replyToken").is_none());
}

#[tokio::test]
async fn postbacks_and_events_of_the_future_are_sent_too() {
    let stage = Stage::new().await;
    let (chat, user) = (stage.group.clone(), stage.ann.clone());
    let data = "menu=1".to_owned();
    let press = stage.one(Action::Postback { chat: chat.clone(), user, data });
    assert_eq!(press.json["postback"], json!({ "data": "menu=1" }));
    assert!(press.reply_token.is_some());
    let fields = webhook::fields(json!({ "poke": { "times": 3 } }));
    let kind = "poked".to_owned();
    let poke = stage.one(Action::Unknown { chat, user: None, kind, fields });
    assert_eq!((&poke.json["type"], &poke.json["poke"]["times"]), (&json!("poked"), &json!(3)));
}

#[tokio::test]
async fn several_events_fit_in_one_body() {
    let stage = Stage::new().await;
    let signed = stage.emulator.sign(vec![stage.said("one"), stage.said("two")], true);
    assert_eq!(signed.signature, signature("emulator-channel-secret", &signed.body));
    let body: Value = serde_json::from_slice(&signed.body).unwrap();
    let marks: Vec<_> = body["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| &e["deliveryContext"]["isRedelivery"])
        .collect();
    assert_eq!(marks, [true, true]);
}

#[tokio::test]
async fn changes_are_told_as_they_happen() {
    let stage = Stage::new().await;
    let mut changes = stage.emulator.subscribe();
    let event = stage.said("hello");
    stage.reply(&event, &["hi"]).await;
    let mut seen = Vec::new();
    while let Ok(change) = changes.try_recv() {
        seen.push(serde_json::to_value(change).unwrap());
    }
    let names: Vec<_> = seen.iter().map(|change| change["change"].as_str().unwrap()).collect();
    assert_eq!(names, ["posted", "posted", "call"]);
    assert_eq!(seen[0]["author"]["displayName"], "Ann");
    assert_eq!(seen[1]["author"], json!({ "type": "bot" }));
    assert_eq!(seen[1]["answers"], event.id);
}

#[tokio::test]
async fn what_was_said_in_an_earlier_run_can_be_quoted_and_unsent() {
    let stage = Stage::new().await;
    let of = |user: Option<&str>, id: &str| RestoredMessage {
        chat_id: stage.group.clone(),
        user_id: user.map(str::to_owned),
        at: START - 1,
        message_id: id.to_owned(),
        kind: "text".to_owned(),
        text: Some("of old".to_owned()),
    };
    let messages = [of(Some(&stage.ann), "1"), of(None, "2"), of(Some("U0"), "3")];
    stage.emulator.restore(messages);
    assert_eq!(stage.emulator.deliveries(), [], "nobody is told");
    let quote = stage.said(Text::from("indeed").quoting("2"));
    assert_eq!(quote.json["message"]["quotedMessageId"], "2");
    let unsend = stage.one(Action::Unsend { message: "1".to_owned() });
    assert_eq!(unsend.json["source"]["userId"], stage.ann.as_str());
    let of_bot = Action::Unsend { message: "2".to_owned() };
    assert_eq!(stage.refused(of_bot), ActError::NoMessage("2".to_owned()));
    let of_nobody = Action::Unsend { message: "3".to_owned() };
    assert_eq!(stage.refused(of_nobody), ActError::NoMessage("3".to_owned()));
}
