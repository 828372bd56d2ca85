//! The channel: its webhook address, its quota, its access tokens, the clock.

use super::*;
use crate::{ChatMode, TokenKind};

const ENDPOINT: &str = "/v2/bot/channel/webhook/endpoint";
const TEST: &str = "/v2/bot/channel/webhook/test";

#[tokio::test]
async fn the_webhook_address_is_set_and_read() {
    let stage = Stage::new().await;
    assert_eq!(stage.get(ENDPOINT).await.status, 404, "none is set");
    let put = async |address: &str| {
        let body = json!({ "endpoint": address });
        Answer::of(stage.request(Method::PUT, ENDPOINT).json(&body)).await.status
    };
    for wrong in ["", "http://example.org/x", "https://", &format!("https://h/{}", "x".repeat(500))]
    {
        assert_eq!(put(wrong).await, 400, "{wrong}");
    }
    assert_eq!(stage.broken(), [Rule::WebhookAddress; 4]);
    assert_eq!(put("https://example.org/line").await, 200);
    let expected = json!({ "endpoint": "https://example.org/line", "active": true });
    assert_eq!(stage.get(ENDPOINT).await.body, expected);
    stage.emulator.set_up(|account| account.use_webhook = false);
    assert_eq!(stage.get(ENDPOINT).await.body["active"], false);
}

#[tokio::test]
async fn nothing_is_sent_while_the_account_uses_no_webhook() {
    let stage = Stage::new().await;
    let (sink, url) = Sink::open(&[]).await;
    stage.emulator.set_webhook_url(Some(url));
    stage.emulator.set_up(|account| account.use_webhook = false);
    let sent = stage.emulator.say(&stage.group, &stage.ann, "hello").await.unwrap();
    assert!(!sent.is_accepted() && sink.bodies().is_empty());
    stage.emulator.set_up(|account| account.use_webhook = true);
    assert!(stage.emulator.say(&stage.group, &stage.ann, "hello").await.unwrap().is_accepted());
}

#[tokio::test]
async fn a_test_webhook_is_signed_and_has_no_events() {
    let stage = Stage::new().await;
    let (sink, url) = Sink::open(&[200, 401]).await;
    assert_eq!(stage.post(TEST, &json!({})).await.status, 404, "no address");
    stage.emulator.set_webhook_url(Some(url.clone()));
    let told = stage.post(TEST, &json!({})).await.body;
    assert_eq!(
        (&told["success"], &told["statusCode"], &told["reason"]),
        (&json!(true), &json!(200), &json!("OK"),)
    );
    assert_eq!(told["timestamp"], "2026-01-02T03:04:05.678Z");
    let (headers, body) = sink.raw().remove(0);
    assert_eq!(headers["x-line-signature"], signature("emulator-channel-secret", &body));
    assert_eq!(sink.bodies()[0]["events"], json!([]));
    let refused = stage.post(TEST, &json!({ "endpoint": url })).await.body;
    assert_eq!((&refused["success"], &refused["detail"]), (&json!(false), &json!("401")));
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}/x", closed.local_addr().unwrap());
    drop(closed);
    let failed = stage.post(TEST, &json!({ "endpoint": nobody })).await.body;
    assert_eq!(failed["reason"], "COULD_NOT_CONNECT");
    assert_eq!(failed["statusCode"], 0);
}

#[tokio::test]
async fn pushes_are_counted_and_end_with_the_quota() {
    let stage = Stage::new().await;
    assert_eq!(stage.get("/v2/bot/message/quota").await.body, json!({ "type": "none" }));
    stage.emulator.set_up(|account| account.quota = Some(2));
    let quota = stage.get("/v2/bot/message/quota").await.body;
    assert_eq!(quota, json!({ "type": "limited", "value": 2 }));
    let push = json!({ "to": stage.group, "messages": texts(&["hello"]) });
    assert_eq!(stage.post("/v2/bot/message/push", &push).await.status, 200);
    let used = stage.get("/v2/bot/message/quota/consumption").await.body;
    assert_eq!(used, json!({ "totalUsage": 2 }), "one for each member");
    let refused = stage.post("/v2/bot/message/push", &push).await;
    assert_eq!((refused.status, refused.message()), (429, "You have reached your monthly limit."));
}

#[tokio::test]
async fn tokens_are_verified_where_their_kind_is_and_the_secret_issues_one() {
    let stage = Stage::new().await;
    let base = stage.emulator.api_base();
    let long_lived = async |token: &str| {
        let url = format!("{base}/v2/oauth/verify");
        let form = format!("access_token={token}");
        let kind = "application/x-www-form-urlencoded";
        Answer::of(stage.http.post(url).header("content-type", kind).body(form)).await
    };
    let expiring = async |token: &str| {
        let url = format!("{base}/oauth2/v2.1/verify?access_token={token}");
        Answer::of(stage.http.get(url)).await
    };
    let channel = stage.emulator.account().channel_id;
    assert_eq!(long_lived("emulator-access-token").await.body["client_id"], channel);
    assert_eq!(expiring("emulator-access-token").await.status, 400);
    assert_eq!(long_lived("wrong").await.body["error"], "invalid_request");
    stage.emulator.set_up(|account| account.token = TokenKind::Expiring(60));
    assert_eq!(long_lived("emulator-access-token").await.status, 400);
    assert_eq!(expiring("emulator-access-token").await.body["expires_in"], 60);
    stage.emulator.set_up(|account| account.token = TokenKind::Stateless);
    assert_eq!(long_lived("emulator-access-token").await.status, 400);
    assert_eq!(expiring("emulator-access-token").await.status, 400);
    let issued = async |channel: &str, secret: &str| {
        let form =
            format!("grant_type=client_credentials&client_id={channel}&client_secret={secret}");
        let request = stage.http.post(format!("{base}/oauth2/v3/token")).body(form);
        let kind = "application/x-www-form-urlencoded";
        Answer::of(request.header("content-type", kind)).await
    };
    assert_eq!(issued(&channel, "emulator-channel-secret").await.status, 200);
    assert_eq!(issued(&channel, "other").await.body["error"], "invalid_client");
    assert_eq!(issued("1", "emulator-channel-secret").await.body["error"], "invalid_client");
    assert_eq!(stage.broken(), [], "nobody needs a token for these");
}

#[tokio::test]
async fn the_account_tells_its_mode_and_its_time() {
    let stage = Stage::new().await;
    stage.emulator.set_up(|account| {
        account.chat_mode = ChatMode::Chat;
        account.clock_ahead = 60;
    });
    let info = stage.get("/v2/bot/info").await;
    assert_eq!(
        (&info.body["chatMode"], &info.body["markAsReadMode"]),
        (&json!("chat"), &json!("manual"),)
    );
    assert_eq!(info.headers["date"], "Fri, 02 Jan 2026 03:05:05 GMT");
}
