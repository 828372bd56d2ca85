//! Reply tokens: which events have one, how long it serves, and what does not use it up.

use super::*;

const REPLY: &str = "/v2/bot/message/reply";

#[tokio::test]
async fn a_token_serves_for_a_minute_after_its_event_or_redelivery_and_twenty_in_all() {
    const MINUTE: i64 = 60_000;
    let stage = Stage::new().await;
    for (redelivered, replied, is_fresh) in [
        (None, 0, true),
        (None, MINUTE, true),
        (None, MINUTE + 1, false),
        (Some(0), MINUTE, true),
        (Some(0), MINUTE + 1, false),
        (Some(MINUTE / 2), MINUTE + MINUTE / 2, true),
        (Some(MINUTE / 2), MINUTE + MINUTE / 2 + 1, false),
        (Some(5 * MINUTE), 5 * MINUTE, true),
        (Some(19 * MINUTE), 20 * MINUTE, true),
        (Some(20 * MINUTE), 20 * MINUTE, true),
        (Some(20 * MINUTE - 1), 20 * MINUTE + 1, false),
        (Some(20 * MINUTE + 1), 20 * MINUTE + 1, false),
    ] {
        let event = stage.said("hello");
        let broken = stage.broken().len();
        let waits = redelivered.unwrap_or(0);
        stage.pass(waits);
        if redelivered.is_some() {
            stage.emulator.sign(vec![event.clone()], true);
        }
        stage.pass(replied - waits);
        let status = stage.reply(&event, &["hi"]).await.status;
        let case = format!("{redelivered:?} {replied}");
        assert_eq!(status, if is_fresh { 200 } else { 400 }, "{case}");
        let expected = if is_fresh { &[][..] } else { &[Rule::ReplyTokenFresh] };
        assert_eq!(stage.broken()[broken..], *expected, "{case}");
    }
}

#[tokio::test]
async fn a_redelivery_renews_the_tokens_of_its_own_events_alone() {
    let stage = Stage::new().await;
    let [one, two] = ["one", "two"].map(|text| stage.said(text));
    stage.pass(600_000);
    stage.emulator.sign(vec![one.clone()], true);
    assert_eq!(stage.reply(&two, &["hi"]).await.status, 400);
    assert_eq!(stage.reply(&one, &["hi"]).await.status, 200);
    assert_eq!(stage.broken(), [Rule::ReplyTokenFresh]);
}

#[tokio::test]
async fn every_event_with_a_token_can_be_answered_and_its_answer_is_its_own() {
    let stage = Stage::new().await;
    let (ann, group) = (stage.ann.clone(), stage.group.clone());
    let said = stage.said("helo");
    let message = said.message_id.clone().unwrap();
    let cid = stage.emulator.add_user("Cid", None).user_id;
    let mut events = vec![said];
    for action in [
        Action::Edit { message, text: "hello".into() },
        Action::Follow { user: ann.clone() },
        Action::MembersJoin { chat: group.clone(), users: vec![cid] },
        Action::Postback { chat: group.clone(), user: ann, data: "x".to_owned() },
        Action::BotLeaves { chat: group.clone() },
        Action::BotJoins { chat: group },
    ] {
        events.extend(stage.emulator.build(action).unwrap());
    }
    let mut answered = 0;
    for event in events.iter().filter(|event| event.reply_token.is_some()) {
        assert_eq!(stage.reply(event, &["a", "b"]).await.status, 200, "{}", event.json);
        let replies = stage.emulator.replies_to(&event.id);
        let texts: Vec<_> = replies.iter().filter_map(|line| line.text.as_deref()).collect();
        assert_eq!(texts, ["a", "b"], "{}", event.json);
        assert!(replies.iter().all(|line| line.chat_id == event.chat_id && line.is_bot()));
        answered += 1;
    }
    assert_eq!((answered, events.len()), (6, 7), "all but that it was removed");
    assert_eq!(stage.broken(), []);
}

#[tokio::test]
async fn what_is_refused_uses_no_token_up_and_says_nothing() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    let token = event.reply_token.as_deref().unwrap();
    let lines = stage.emulator.transcript(&stage.group);
    let quote = json!([{ "type": "text", "text": "hi", "quoteToken": "made-up" }]);
    let half = json!([{ "type": "text", "text": "hi" }, { "type": "text", "text": "" }]);
    for messages in [quote, half, json!([]), json!("hi")] {
        let body = json!({ "replyToken": token, "messages": messages });
        assert_eq!(stage.post(REPLY, &body).await.status, 400, "{body}");
    }
    let unauthorised = stage.http.post(format!("{}{REPLY}", stage.emulator.api_base()));
    let unauthorised = unauthorised.json(&reply_body(token, &["hi"]));
    assert_eq!(Answer::of(unauthorised).await.status, 401);
    assert_eq!(stage.emulator.transcript(&stage.group), lines);
    assert_eq!(stage.reply(&event, &["hi"]).await.status, 200);
}

#[tokio::test]
async fn quote_tokens_live_as_long_as_their_messages() {
    let stage = Stage::new().await;
    let quoting = async |token: &Value| {
        let event = stage.said("ask");
        let message = json!({ "type": "text", "text": "hi", "quoteToken": token });
        let body = json!({ "replyToken": event.reply_token, "messages": [message] });
        stage.post(REPLY, &body).await
    };
    let said = stage.said("first");
    let token = &said.json["message"]["quoteToken"];
    let message = said.message_id.clone().unwrap();
    let edit = Action::Edit { message: message.clone(), text: "edited".into() };
    let edited = stage.emulator.build(edit).unwrap().remove(0);
    assert_eq!(quoting(token).await.status, 200, "that of before the edit");
    let own = quoting(&edited.json["message"]["quoteToken"]).await;
    assert_eq!(own.status, 200);
    let sent = &own.body["sentMessages"][0]["quoteToken"];
    assert_eq!(quoting(sent).await.status, 200, "a message of the bot's own");
    stage.emulator.build(Action::Unsend { message }).unwrap();
    let gone = quoting(token).await;
    assert_eq!((gone.status, gone.message()), (400, "Invalid quote token"));
    assert_eq!(stage.broken(), [Rule::QuoteToken]);
}
