//! Trouble on demand, as the caller sees it.

use super::*;

#[tokio::test]
async fn the_next_calls_get_the_status_and_do_nothing() {
    let stage = Stage::new().await;
    let slow_down = Fault::Status { status: 429, retry_after: Some(7) };
    stage.emulator.fail_next(Target::Reply, 2, slow_down);
    let event = stage.said("hello");
    assert_eq!(stage.get("/v2/bot/info").await.status, 200, "only replies fail");
    for _ in 0..2 {
        let answer = stage.reply(&event, &["hi"]).await;
        assert_eq!((answer.status, answer.headers["retry-after"].to_str().unwrap()), (429, "7"));
    }
    assert_eq!(stage.reply(&event, &["hi"]).await.status, 200);
    assert_eq!(stage.broken(), []);
}

#[tokio::test]
async fn an_error_can_hide_a_success() {
    let stage = Stage::new().await;
    stage.emulator.fail_next(Target::Reply, 1, Fault::StatusAfter { status: 500 });
    let event = stage.said("hello");
    assert_eq!(stage.reply(&event, &["hi"]).await.status, 500);
    assert_eq!(stage.emulator.replies_to(&event.id).len(), 1);
    stage.reply(&event, &["hi"]).await;
    assert_eq!(stage.broken(), [Rule::ReplyTokenOnce]);
}

#[tokio::test]
async fn a_cut_connection_leaves_the_outcome_unknown() {
    let stage = Stage::new().await;
    for (fault, replies) in [(Fault::CutAfter, 1), (Fault::CutBefore, 0)] {
        stage.emulator.fail_next(Target::Reply, 1, fault.clone());
        let event = stage.said("hello");
        let body = reply_body(event.reply_token.as_deref().unwrap(), &["hi"]);
        let request = stage.request(Method::POST, "/v2/bot/message/reply").json(&body);
        let error = request.send().await.expect_err("no answer, not even a status");
        assert!(!error.is_connect() && !error.is_timeout(), "{fault:?}: {error:?}");
        assert_eq!(stage.emulator.replies_to(&event.id).len(), replies, "{fault:?}");
        assert_eq!(stage.emulator.calls().last().unwrap().status, None);
    }
    assert_eq!(stage.emulator.calls().len(), 2, "the client did not try again by itself");
    assert_eq!(stage.get("/v2/bot/info").await.status, 200);
}

#[tokio::test]
async fn a_delay_holds_the_answer_not_the_deed() {
    let stage = Stage::new().await;
    stage.emulator.fail_next(Target::Reply, 1, Fault::Delay(TIMEOUT * 100));
    let event = stage.said("hello");
    let token = event.reply_token.as_deref().unwrap();
    let body = reply_body(token, &["hi"]);
    let request = stage.request(Method::POST, "/v2/bot/message/reply").json(&body);
    let call = tokio::spawn(request.send());
    let replies = stage.emulator.wait_for_replies(&event.id, 1, TIMEOUT).await;
    assert_eq!(replies.len(), 1);
    assert!(!call.is_finished());
    stage.emulator.shutdown().await;
    assert_eq!(call.await.unwrap().unwrap().status(), 200, "ending lets the call go");
}

#[tokio::test]
async fn faults_can_be_cleared() {
    let stage = Stage::new().await;
    stage.emulator.fail_next(Target::Any, 9, Fault::Status { status: 500, retry_after: None });
    assert_eq!(stage.get("/v2/bot/info").await.status, 500);
    stage.emulator.clear_faults();
    assert_eq!(stage.get("/v2/bot/info").await.status, 200);
}
