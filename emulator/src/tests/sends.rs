//! Replies and pushes, allowed and not.

use super::*;

const REPLY: &str = "/v2/bot/message/reply";
const PUSH: &str = "/v2/bot/message/push";
const KEY: &str = "123e4567-e89b-12d3-a456-426614174000";

impl Stage {
    async fn push(&self, to: &str, messages: &[&str], key: Option<&str>) -> Answer {
        let body = json!({ "to": to, "messages": texts(messages) });
        let mut request = self.request(Method::POST, PUSH).json(&body);
        if let Some(key) = key {
            request = request.header("X-Line-Retry-Key", key);
        }
        Answer::of(request).await
    }
}

#[tokio::test]
async fn a_reply_stands_in_the_chat() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    stage.pass(60_000);
    let answer = stage.reply(&event, &["hi", "there"]).await;
    assert_eq!(answer.status, 200);
    let lines = stage.emulator.transcript(&stage.group);
    let texts: Vec<_> = lines.iter().map(|line| line.text.as_deref().unwrap()).collect();
    assert_eq!(texts, ["Chatkeep", "hello", "hi", "there"], "the first one says who joined");
    let sent = answer.body["sentMessages"].as_array().unwrap();
    let ids: Vec<_> = sent.iter().map(|message| message["id"].as_str()).collect();
    assert_eq!(ids, [lines[2].message_id.as_deref(), lines[3].message_id.as_deref()]);
    assert!(sent.iter().all(|message| message["quoteToken"].is_string()));
    assert!(lines[2].is_bot() && lines[2].answers.as_ref() == Some(&event.id));
    assert_eq!(stage.emulator.replies_to(&event.id), lines[2..]);
    assert_eq!(stage.broken(), []);
}

#[tokio::test]
async fn a_reply_token_serves_once() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    assert_eq!(stage.reply(&event, &["one"]).await.status, 200);
    let again = stage.reply(&event, &["two"]).await;
    assert_eq!((again.status, again.message()), (400, "Invalid reply token"));
    assert_eq!(stage.emulator.replies_to(&event.id).len(), 1);
    assert_eq!(stage.broken(), [Rule::ReplyTokenOnce]);
}

#[tokio::test]
async fn of_many_replies_at_once_one_gets_through() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    let replies = (0..20).map(|_| stage.reply(&event, &["hi"]));
    let answers = futures_util::future::join_all(replies).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
    assert_eq!(stage.emulator.replies_to(&event.id).len(), 1);
}

#[tokio::test]
async fn a_reply_token_lives_a_minute() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    stage.pass(60_001);
    let answer = stage.reply(&event, &["late"]).await;
    assert_eq!((answer.status, answer.message()), (400, "Invalid reply token"));
    assert_eq!(stage.broken(), [Rule::ReplyTokenFresh]);
}

#[tokio::test]
async fn a_redelivery_renews_a_reply_token_for_a_while() {
    let stage = Stage::new().await;
    let [soon, late, once] = ["soon", "late", "once"].map(|text| stage.said(text));
    stage.pass(600_000);
    stage.emulator.sign(vec![soon.clone()], true);
    assert_eq!(stage.reply(&soon, &["hi"]).await.status, 200);
    stage.emulator.sign(vec![soon.clone()], true);
    assert_eq!(stage.reply(&soon, &["again"]).await.status, 400);
    stage.emulator.sign(vec![once.clone()], false);
    assert_eq!(stage.reply(&once, &["hi"]).await.status, 400);
    stage.pass(600_001);
    stage.emulator.sign(vec![late.clone()], true);
    assert_eq!(stage.reply(&late, &["hi"]).await.status, 400);
    let fresh = Rule::ReplyTokenFresh;
    assert_eq!(stage.broken(), [Rule::ReplyTokenOnce, fresh, fresh]);
}

#[tokio::test]
async fn a_reply_token_is_not_made_up() {
    let stage = Stage::new().await;
    let answer = stage.post(REPLY, &reply_body("made-up", &["hi"])).await;
    assert_eq!((answer.status, answer.message()), (400, "Invalid reply token"));
    let none = stage.post(REPLY, &json!({ "messages": texts(&["hi"]) })).await;
    assert_eq!(none.body["details"][0]["property"], "replyToken");
    assert_eq!(stage.broken(), [Rule::ReplyTokenKnown, Rule::ReplyTokenKnown]);
}

#[tokio::test]
async fn a_reply_takes_no_retry_key() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    let body = reply_body(event.reply_token.as_deref().unwrap(), &["hi"]);
    let request = stage.request(Method::POST, REPLY).json(&body).header("X-Line-Retry-Key", KEY);
    assert_eq!(Answer::of(request).await.status, 400);
    assert_eq!(stage.broken(), [Rule::RetryKeyOnReply]);
    assert_eq!(stage.reply(&event, &["hi"]).await.status, 200, "the token was not used up");
}

#[tokio::test]
async fn a_bot_that_was_removed_cannot_reply() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    stage.emulator.bot_leaves(&stage.group).await.unwrap();
    assert_eq!(stage.reply(&event, &["hi"]).await.status, 400);
    assert_eq!(stage.broken(), [Rule::BotInChat]);
}

#[tokio::test]
async fn messages_that_line_would_refuse_are_refused() {
    let stage = Stage::new().await;
    // Each face is two UTF-16 units.
    let (longest, too_long) = ("😀".repeat(2_500), "😀".repeat(2_500) + "!");
    let six = texts(&["1", "2", "3", "4", "5", "6"]);
    let cases = [
        (json!([]), Rule::MessageCount, "messages"),
        (json!(null), Rule::MessageCount, "messages"),
        (json!(six), Rule::MessageCount, "messages"),
        (json!(texts(&[""])), Rule::TextLength, "messages[0].text"),
        (json!(texts(&["ok", &too_long])), Rule::TextLength, "messages[1].text"),
        (json!([{ "type": "text", "text": 7 }]), Rule::MessageFields, "messages[0].text"),
        (json!([{ "type": "poem", "text": "x" }]), Rule::MessageType, "messages[0].type"),
        (json!(["hello"]), Rule::MessageType, "messages[0].type"),
        (
            json!([{ "type": "sticker", "packageId": "1" }]),
            Rule::MessageFields,
            "messages[0].stickerId",
        ),
        (
            json!([{
                "type": "image",
                "originalContentUrl": "http://a.test/",
                "previewImageUrl": "https://a.test/"
            }]),
            Rule::MessageFields,
            "messages[0].originalContentUrl",
        ),
    ];
    let event = stage.said("hello");
    let token = event.reply_token.as_deref().unwrap();
    for (messages, rule, property) in cases {
        let answer = stage.post(REPLY, &json!({ "replyToken": token, "messages": messages })).await;
        assert_eq!((answer.status, answer.message()), (400, "The request body has 1 error(s)"));
        assert_eq!(answer.body["details"][0]["property"], property);
        assert_eq!(stage.broken().last(), Some(&rule), "{property}");
    }
    assert_eq!(stage.broken().len(), 10);
    assert_eq!(stage.reply(&event, &[&longest, "2", "3", "4", "5"]).await.status, 200);
}

#[tokio::test]
async fn a_body_must_be_json_and_not_too_large() {
    let stage = Stage::new().await;
    let broken = stage.request(Method::POST, REPLY).header("Content-Type", "application/json");
    let answer = Answer::of(broken.body("{")).await;
    assert_eq!(answer.status, 400);
    assert!(answer.message().starts_with("The request body could not be parsed as JSON"));
    let text = stage.request(Method::POST, REPLY).header("Content-Type", "text/plain");
    assert_eq!(Answer::of(text.body("{}")).await.status, 415);
    let large = stage.request(Method::POST, REPLY).header("Content-Type", "application/json");
    assert_eq!(Answer::of(large.body(" ".repeat(2 * 1024 * 1024 + 1))).await.status, 413);
    assert_eq!(stage.broken(), [Rule::Body; 3]);
}

#[tokio::test]
async fn a_quote_token_is_that_of_a_message_in_the_chat() {
    let stage = Stage::new().await;
    let event = stage.said("hello");
    let with = |quote: &Value| {
        let message = json!({ "type": "text", "text": "hi", "quoteToken": quote });
        json!({ "replyToken": event.reply_token, "messages": [message] })
    };
    let wrong = stage.post(REPLY, &with(&json!("made-up"))).await;
    assert_eq!((wrong.status, wrong.message()), (400, "Invalid quote token"));
    stage.emulator.follow(&stage.bob).await.unwrap();
    let elsewhere = stage.push(&stage.bob, &["news"], None).await.body;
    let wrong = stage.post(REPLY, &with(&elsewhere["sentMessages"][0]["quoteToken"])).await;
    assert_eq!((wrong.status, wrong.message()), (400, "Invalid quote token"));
    assert_eq!(stage.broken(), [Rule::QuoteToken; 2]);
    let right = stage.post(REPLY, &with(&event.json["message"]["quoteToken"])).await;
    assert_eq!(right.status, 200);
}

#[tokio::test]
async fn a_push_reaches_where_the_bot_is() {
    let stage = Stage::new().await;
    assert_eq!(stage.push(&stage.group, &["news"], None).await.status, 200);
    assert_eq!(
        stage.emulator.transcript(&stage.group).last().unwrap().text.as_deref(),
        Some("news")
    );
    let stranger = stage.push(&stage.bob, &["news"], None).await;
    assert_eq!((stranger.status, stranger.message()), (400, "Failed to send messages"));
    assert_eq!(stage.broken(), [Rule::BotInChat]);
    stage.emulator.follow(&stage.bob).await.unwrap();
    assert_eq!(stage.push(&stage.bob, &["news"], None).await.status, 200);
}

#[tokio::test]
async fn a_retry_key_is_accepted_once() {
    let stage = Stage::new().await;
    let first = stage.push(&stage.group, &["news"], Some(KEY)).await;
    stage.pass(24 * 60 * 60 * 1000);
    let again = stage.push(&stage.group, &["news"], Some(KEY)).await;
    assert_eq!((first.status, again.status), (200, 409));
    assert_eq!(again.headers["x-line-accepted-request-id"], first.headers["x-line-request-id"]);
    assert_eq!(again.body["sentMessages"], first.body["sentMessages"]);
    assert_eq!(stage.emulator.transcript(&stage.group).len(), 2, "who joined, and one push");
    assert_eq!(stage.broken(), [], "that is what the key is for");
    stage.pass(1);
    assert_eq!(stage.push(&stage.group, &["news"], Some(KEY)).await.status, 200);
}

#[tokio::test]
async fn a_retry_key_is_a_uuid_and_repeats_one_request() {
    let stage = Stage::new().await;
    for key in ["again", "123e4567ae89b-12d3-a456-426614174000"] {
        assert_eq!(stage.push(&stage.group, &["news"], Some(key)).await.status, 400);
    }
    stage.push(&stage.group, &["news"], Some(KEY)).await;
    assert_eq!(stage.push(&stage.group, &["more news"], Some(KEY)).await.status, 409);
    assert_eq!(stage.broken(), [Rule::RetryKeyForm, Rule::RetryKeyForm, Rule::RetryKeySameRequest]);
}

#[tokio::test]
async fn a_key_of_a_refused_push_can_be_used_again() {
    let stage = Stage::new().await;
    assert_eq!(stage.push(&stage.group, &[""], Some(KEY)).await.status, 400);
    assert_eq!(stage.push(&stage.group, &["news"], Some(KEY)).await.status, 200);
}
