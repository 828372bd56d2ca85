//! Actions of people, allowed and not: a refused one changes nothing and tells nobody.

use super::*;

fn refused(stage: &Stage, action: Action) -> ActError {
    stage.emulator.build(action).expect_err("it should not be possible")
}

fn edit(message: &str) -> Action {
    Action::Edit { message: message.to_owned(), text: "another".into() }
}

fn unsend(message: &str) -> Action {
    Action::Unsend { message: message.to_owned() }
}

/// Ann says something in a chat, and the id of her message is returned.
fn say(stage: &Stage, chat: &str, post: Post) -> String {
    let action = Action::Send { chat: chat.to_owned(), user: stage.ann.clone(), post };
    stage.emulator.build(action).unwrap().remove(0).message_id.unwrap()
}

#[tokio::test]
async fn texts_are_edited_in_groups_alone_and_not_once_they_are_gone() {
    let stage = Stage::new().await;
    let room = stage.emulator.add_room(&[&stage.ann, &stage.bob]).chat_id;
    stage.emulator.build(Action::BotJoins { chat: room.clone() }).unwrap();
    stage.emulator.build(Action::Follow { user: stage.ann.clone() }).unwrap();
    for chat in [&room, &stage.ann] {
        let message = say(&stage, chat, Post::Text("helo".into()));
        assert_eq!(refused(&stage, edit(&message)), ActError::WrongKind(chat.clone()));
        assert!(stage.emulator.build(unsend(&message)).is_ok(), "taken back everywhere");
    }
    let message = say(&stage, &stage.group, Post::Text("helo".into()));
    assert_eq!(stage.emulator.build(edit(&message)).unwrap().len(), 1);
    stage.emulator.build(unsend(&message)).unwrap();
    for action in [edit(&message), unsend(&message)] {
        assert_eq!(refused(&stage, action), ActError::NoMessage(message.clone()));
    }
    let event = stage.said("ask");
    stage.reply(&event, &["answer"]).await;
    let of_bot = stage.emulator.replies_to(&event.id)[0].message_id.clone().unwrap();
    assert_eq!(refused(&stage, edit(&of_bot)), ActError::NoMessage(of_bot));
    assert_eq!(refused(&stage, edit("1")), ActError::NoMessage("1".to_owned()));
}

#[tokio::test]
async fn only_texts_can_be_edited() {
    let stage = Stage::new().await;
    let media = || Media::new("image/png", "1");
    let place = Location { title: None, address: None, latitude: 1.0, longitude: 2.0 };
    for post in [
        Post::Image(media()),
        Post::Video(media(), 1),
        Post::Audio(media(), 1),
        Post::File(media(), "a.txt".into()),
        Post::Location(place),
        Post::Unknown("hologram".into(), webhook::fields(json!({}))),
    ] {
        let message = say(&stage, &stage.group, post);
        assert_eq!(refused(&stage, edit(&message)), ActError::NotAText(message));
        let line = stage.emulator.transcript(&stage.group).pop().unwrap();
        assert_eq!((line.text, line.edited_at), (None, None), "{}", line.kind);
    }
}

#[tokio::test]
async fn an_edit_has_the_mentions_and_emojis_of_its_own_text() {
    let stage = Stage::new().await;
    let bob = || MentionTarget::User(stage.bob.clone());
    let said = stage.said(Text::from("hi @Bob").mentioning("@Bob", bob()));
    let message = said.message_id.clone().unwrap();
    let text = Text::from("😀 hello @Bob").mentioning("@Bob", bob());
    let edited = Action::Edit { message: message.clone(), text };
    let edited = stage.emulator.build(edited).unwrap().remove(0);
    let first = &edited.json["message"]["mention"]["mentionees"][0];
    assert_eq!((&first["index"], &first["length"]), (&json!(9), &json!(4)));
    let wrong = Text::from("nobody").mentioning("@Bob", bob());
    let wrong = Action::Edit { message: message.clone(), text: wrong };
    assert_eq!(refused(&stage, wrong), ActError::NotInText("@Bob".to_owned()));
    let line = stage.emulator.transcript(&stage.group).pop().unwrap();
    assert_eq!(line.text.as_deref(), Some("😀 hello @Bob"), "the refused one changed nothing");
    assert_eq!(line.message_id, Some(message));
    let plain = Action::Edit { message: line.message_id.unwrap(), text: "bye".into() };
    let plain = stage.emulator.build(plain).unwrap().remove(0);
    assert!(plain.json["message"].get("mention").is_none(), "{}", plain.json);
}

#[tokio::test]
async fn a_refused_action_changes_nothing_and_tells_nobody() {
    let stage = Stage::new().await;
    let (ann, bob, group) = (stage.ann.clone(), stage.bob.clone(), stage.group.clone());
    let cid = stage.emulator.add_user("Cid", None).user_id;
    let said = say(&stage, &group, Post::Text("hello".into()));
    let elsewhere = stage.emulator.add_room(&[&ann]).chat_id;
    let quoted = say_unheard(&stage, &elsewhere);
    let everything = || {
        let lines = [&group, &elsewhere, &ann, &bob].map(|chat| stage.emulator.transcript(chat));
        (lines, stage.emulator.chats(), stage.emulator.users())
    };
    let before = everything();
    let mut changes = stage.emulator.subscribe();
    let unknown = "U0".to_owned();
    let send = |post| Action::Send { chat: group.clone(), user: ann.clone(), post };
    let image = || Media::new("image/png", "1");
    for action in [
        Action::BotJoins { chat: group.clone() },
        Action::BotJoins { chat: bob.clone() },
        Action::BotLeaves { chat: elsewhere.clone() },
        Action::BotLeaves { chat: ann.clone() },
        Action::Follow { user: unknown.clone() },
        Action::Follow { user: group.clone() },
        Action::Unfollow { user: bob.clone() },
        Action::MembersJoin { chat: group.clone(), users: vec![cid.clone(), ann.clone()] },
        Action::MembersJoin { chat: group.clone(), users: vec![cid.clone(), unknown.clone()] },
        Action::MembersJoin { chat: ann.clone(), users: vec![cid.clone()] },
        Action::MembersLeave { chat: group.clone(), users: vec![bob.clone(), cid.clone()] },
        Action::MembersLeave { chat: bob.clone(), users: vec![bob.clone()] },
        Action::SendImages { chat: group.clone(), user: cid.clone(), images: vec![image()] },
        send(Post::Text(Text::from("hi").quoting(&quoted))),
        send(Post::Text(Text::from("hi").mentioning("@Bob", MentionTarget::All))),
        Action::Postback { chat: group.clone(), user: cid.clone(), data: "x".to_owned() },
        Action::Postback { chat: ann.clone(), user: bob.clone(), data: "x".to_owned() },
        Action::Unsend { message: "1".to_owned() },
        Action::Unknown {
            chat: "C1".to_owned(),
            user: None,
            kind: "poked".to_owned(),
            fields: webhook::fields(json!({})),
        },
    ] {
        let result = stage.emulator.build(action.clone());
        assert!(result.is_err(), "{action:?}");
        assert!(everything() == before, "{action:?}");
    }
    assert!(changes.try_recv().is_err(), "nobody was told of any");
    assert!(stage.emulator.build(unsend(&said)).is_ok());
    assert!(changes.try_recv().is_ok());
}

/// Ann says something where the bot is not, and the id of her message is returned.
fn say_unheard(stage: &Stage, chat: &str) -> String {
    let post = Post::Text("unheard".into());
    let action = Action::Send { chat: chat.to_owned(), user: stage.ann.clone(), post };
    assert_eq!(stage.emulator.build(action).unwrap(), []);
    stage.emulator.transcript(chat).pop().unwrap().message_id.unwrap()
}

#[tokio::test]
async fn what_was_said_without_the_bot_can_be_quoted_and_taken_back_once_it_is_there() {
    let stage = Stage::new().await;
    let room = stage.emulator.add_room(&[&stage.ann]).chat_id;
    let message = say_unheard(&stage, &room);
    stage.emulator.build(Action::BotJoins { chat: room.clone() }).unwrap();
    let post = Post::Text(Text::from("indeed").quoting(&message));
    let action = Action::Send { chat: room, user: stage.ann.clone(), post };
    let event = stage.emulator.build(action).unwrap().remove(0);
    assert_eq!(event.json["message"]["quotedMessageId"], message.as_str());
    let unsent = stage.emulator.build(unsend(&message)).unwrap().remove(0);
    assert_eq!(unsent.json["unsend"]["messageId"], message.as_str());
}

#[tokio::test]
async fn the_language_of_a_person_is_told_of_friends_alone() {
    let stage = Stage::new().await;
    stage.emulator.set_language(&stage.ann, "zh-TW");
    stage.emulator.set_language("U0", "en");
    stage.emulator.follow(&stage.ann).await.unwrap();
    let profile = stage.get(&format!("/v2/bot/profile/{}", stage.ann)).await.body;
    assert_eq!(profile["language"], "zh-TW");
    let member = format!("/v2/bot/group/{}/member/{}", stage.group, stage.ann);
    let mut expected = profile.clone();
    expected.as_object_mut().unwrap().remove("language");
    assert_eq!(stage.get(&member).await.body, expected, "a member's profile has none");
}

#[tokio::test]
async fn a_group_has_the_name_that_it_was_given_last_and_its_picture() {
    let stage = Stage::new().await;
    let url = stage.emulator.add_picture(Media::new("image/jpeg", "face"));
    let group = stage.emulator.add_group("Runners", Some(&url), &[&stage.ann, "U0"]).chat_id;
    stage.emulator.build(Action::BotJoins { chat: group.clone() }).unwrap();
    stage.emulator.rename_group(&group, "跑步 🏃");
    stage.emulator.rename_group("C0", "nobody's");
    let summary = stage.get(&format!("/v2/bot/group/{group}/summary")).await.body;
    let expected = json!({ "groupId": group, "groupName": "跑步 🏃", "pictureUrl": url });
    assert_eq!(summary, expected);
    let count = stage.get(&format!("/v2/bot/group/{group}/members/count")).await.body;
    assert_eq!(count, json!({ "count": 1 }), "whom nobody knows is no member");
    let calls = stage.emulator.calls().len();
    let picture = stage.http.get(&url).send().await.unwrap();
    assert_eq!(picture.headers()["content-type"], "image/jpeg");
    assert_eq!(picture.bytes().await.unwrap(), "face");
    let with_token = stage.http.get(&url).bearer_auth("emulator-access-token");
    assert_eq!(Answer::of(with_token).await.status, 400, "a token does not belong there");
    let other = stage.http.get(url.replace("/0", "/1"));
    assert_eq!(Answer::of(other).await.status, 404);
    assert_eq!(stage.emulator.calls().len(), calls, "no calls of the API");
}
