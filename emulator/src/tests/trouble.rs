//! Faults that stand for what happens between LINE and its caller, and how they take turns.

use super::*;

const PUSH: &str = "/v2/bot/message/push";

fn news(stage: &Stage) -> Value {
    json!({ "to": stage.group, "messages": texts(&["news"]) })
}

fn bot_lines(stage: &Stage) -> usize {
    stage.emulator.transcript(&stage.group).iter().filter(|line| line.is_bot()).count()
}

#[tokio::test]
async fn a_used_up_month_can_be_had_without_using_it_up() {
    let stage = Stage::new().await;
    stage.emulator.fail_next(Target::Push, 1, Fault::MonthlyLimit);
    let refused = stage.post(PUSH, &news(&stage)).await;
    assert_eq!((refused.status, refused.message()), (429, "You have reached your monthly limit."));
    assert!(!refused.headers.contains_key("retry-after"), "later is no better");
    assert_eq!((bot_lines(&stage), stage.emulator.account().pushed), (0, 0));
    assert_eq!(stage.post(PUSH, &news(&stage)).await.status, 200);
    assert_eq!((bot_lines(&stage), stage.broken()), (1, vec![]));
}

#[tokio::test]
async fn what_something_in_between_answers_did_not_happen() {
    let stage = Stage::new().await;
    stage.emulator.fail_next(Target::Any, 1, Fault::Intercepted("<html>Sign in</html>"));
    let event = stage.said("hello");
    let token = event.reply_token.as_deref().unwrap();
    let request = stage.request(Method::POST, "/v2/bot/message/reply");
    let answer = request.json(&reply_body(token, &["hi"])).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.text().await.unwrap(), "<html>Sign in</html>");
    assert_eq!(bot_lines(&stage), 0);
    assert_eq!(stage.reply(&event, &["hi"]).await.status, 200, "the token was not used");
}

#[tokio::test]
async fn faults_of_a_target_are_for_its_calls_alone() {
    let stage = Stage::new().await;
    stage.emulator.follow(&stage.ann).await.unwrap();
    let media = stage.sent(Post::Video(Media::new("video/mp4", "film"), 1));
    let content = format!("/v2/bot/message/{}/content", media.message_id.unwrap());
    let group = format!("/v2/bot/group/{}", stage.group);
    let paths = [
        (Target::Profile, format!("/v2/bot/profile/{}", stage.ann)),
        (Target::Profile, format!("{group}/member/{}", stage.ann)),
        (Target::Info, format!("{group}/summary")),
        (Target::Info, format!("{group}/members/count")),
        (Target::Info, "/v2/bot/info".to_owned()),
        (Target::Info, "/v2/bot/message/quota".to_owned()),
        (Target::Content, content.clone()),
        (Target::Content, format!("{content}/transcoding")),
        (Target::Preview, format!("{content}/preview")),
    ];
    for target in [Target::Profile, Target::Info, Target::Content, Target::Preview] {
        stage.emulator.fail_next(target, 99, Fault::Status { status: 503, retry_after: None });
        for (of, path) in &paths {
            let expected = if *of == target { 503 } else { 200 };
            assert_eq!(stage.get(path).await.status, expected, "{target:?}: {path}");
        }
        assert_eq!(stage.post(PUSH, &news(&stage)).await.status, 200, "{target:?}");
        stage.emulator.clear_faults();
    }
    assert_eq!(stage.broken(), []);
}

#[tokio::test]
async fn faults_come_in_the_order_in_which_they_were_set() {
    let stage = Stage::new().await;
    let status = |status| Fault::Status { status, retry_after: Some(3) };
    stage.emulator.fail_next(Target::Push, 0, status(500));
    stage.emulator.fail_next(Target::Push, 2, status(502));
    stage.emulator.fail_next(Target::Any, 1, status(503));
    stage.emulator.fail_next(Target::Push, 1, Fault::StatusAfter { status: 504 });
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(stage.post(PUSH, &news(&stage)).await.status);
    }
    assert_eq!((&statuses[..], bot_lines(&stage)), (&[502, 502, 503][..], 0));
    assert_eq!(stage.get("/v2/bot/info").await.status, 200, "none is left for it");
    assert_eq!((stage.post(PUSH, &news(&stage)).await.status, bot_lines(&stage)), (504, 1));
    assert_eq!((stage.post(PUSH, &news(&stage)).await.status, bot_lines(&stage)), (200, 2));
    let told: Vec<_> = stage.emulator.calls().iter().map(|call| call.status).collect();
    assert_eq!(told, [502, 502, 503, 200, 504, 200].map(Some), "as the caller saw them");
}

#[tokio::test]
async fn a_status_after_hides_a_refusal_and_still_notes_it() {
    let stage = Stage::new().await;
    stage.emulator.fail_next(Target::Push, 1, Fault::StatusAfter { status: 500 });
    let wrong = json!({ "to": stage.group, "messages": [] });
    assert_eq!(stage.post(PUSH, &wrong).await.status, 500);
    assert_eq!((stage.broken(), bot_lines(&stage)), (vec![Rule::MessageCount], 0));
}

#[tokio::test]
async fn a_webhook_that_is_refused_goes_to_where_the_address_leads_by_then() {
    let (refusing, old) = Sink::open(&[503; 5_000]).await;
    let (taking, new) = Sink::open(&[]).await;
    let stage = Stage::with(|options| {
        options.webhook_url = Some(old);
        options.redelivery.attempts = u32::MAX;
    })
    .await;
    let mut changes = stage.emulator.subscribe();
    let emulator = stage.emulator.clone();
    let (group, ann) = (stage.group.clone(), stage.ann.clone());
    let telling = tokio::spawn(async move { emulator.say(&group, &ann, "hello").await });
    loop {
        let change = tokio::time::timeout(TIMEOUT, changes.recv()).await.unwrap().unwrap();
        if matches!(change, Change::Attempt(attempt) if attempt.status == Some(503)) {
            break;
        }
    }
    stage.emulator.set_webhook_url(Some(new));
    let told = telling.await.unwrap().unwrap();
    assert!(told.is_accepted());
    assert_eq!(taking.bodies().len(), 1);
    let ids = |bodies: Vec<Value>| -> Vec<Value> {
        bodies.iter().map(|body| body["events"][0]["webhookEventId"].clone()).collect()
    };
    let id = Value::from(told.event_id().unwrap());
    assert!(ids(refusing.bodies()).iter().chain(&ids(taking.bodies())).all(|of| *of == id));
    let attempts = stage.emulator.deliveries();
    assert!(attempts.iter().zip(1..).all(|(attempt, number)| attempt.attempt == number));
    assert_eq!(attempts.iter().filter(|attempt| !attempt.is_redelivery).count(), 1);
}
