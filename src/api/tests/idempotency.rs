//! Repeated requests, over time and between callers.

use std::time::Duration;

use serde_json::json;

use super::fixture::{ApiFixture, MEMBER_KEY, OWNER_KEY, ReadAnswer};

const DAY: Duration = Duration::from_hours(24);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Sends a request with a key and an idempotency key.
async fn repeated(
    fixture: &ApiFixture,
    key: &str,
    request: (&str, &str),
    body: &str,
) -> ReadAnswer {
    let authorization = format!("Bearer {key}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", "k"),
    ];
    fixture.send(request, &headers, body.to_owned()).await
}

#[tokio::test]
async fn a_request_is_remembered_for_a_day() {
    let fixture = ApiFixture::new().await;
    let body = json!({"name": "program", "scopes": ["read:messages"]}).to_string();
    let make = async || repeated(&fixture, OWNER_KEY, ("POST", "/api/keys"), &body).await;
    let first = make().await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (201, ""));
    // A repetition does not begin the day anew.
    for later in [Duration::ZERO, DAY.saturating_sub(MILLISECOND)] {
        fixture.clock.advance(later);
        let again = make().await;
        assert_eq!((again.status, again.header("idempotent-replayed")), (201, "true"));
        assert_eq!(again.body, first.body, "the secret as well");
    }
    fixture.clock.advance(2 * MILLISECOND);
    let new = make().await;
    assert_eq!((new.status, new.header("idempotent-replayed")), (201, ""));
    assert_ne!(new.json()["keyId"], first.json()["keyId"]);
}

#[tokio::test]
async fn what_goes_on_in_the_background_is_begun_once() {
    let fixture = ApiFixture::new().await;
    let exports = "/api/channels/C1/backup/exports";
    let begin = async || {
        repeated(&fixture, OWNER_KEY, ("POST", exports), &json!({"format": "csv"}).to_string())
            .await
    };
    let (first, again) = (begin().await, begin().await);
    assert_eq!((first.status, again.status), (202, 202));
    assert_eq!(first.header("location"), first.json()["url"].as_str().unwrap());
    for name in ["location", "content-type", "etag"] {
        assert_eq!(again.header(name), first.header(name), "{name}");
    }
    assert_eq!(
        (again.body, again.headers.get("idempotent-replayed").is_some()),
        (first.body, true)
    );
    let list = fixture.read(exports).await.json();
    assert_eq!(list["exports"].as_array().map(Vec::len), Some(1), "{list}");
}

#[tokio::test]
async fn callers_do_not_see_each_others_requests() {
    let fixture = ApiFixture::new().await;
    let (request, body) = (("POST", "/api/saved-searches"), r#"{"name":"n","query":"q"}"#);
    let owners = repeated(&fixture, OWNER_KEY, request, body).await;
    let members = repeated(&fixture, MEMBER_KEY, request, body).await;
    assert_eq!((owners.status, members.status), (201, 201));
    assert_eq!(members.header("idempotent-replayed"), "");
    assert_ne!(owners.json()["savedSearchId"], members.json()["savedSearchId"]);
    // Neither do other routes: there the key is new.
    let elsewhere = ("POST", "/api/channels/C1/assistant/try");
    let tried = repeated(&fixture, OWNER_KEY, elsewhere, r#"{"text":"hello"}"#).await;
    assert_eq!((tried.status, tried.header("idempotent-replayed")), (200, ""));
}

#[tokio::test]
async fn only_posts_are_remembered() {
    let fixture = ApiFixture::new().await;
    let rules = "/api/channels/C1/assistant/rules";
    for content in ["one", "two"] {
        let body = json!({"content": content}).to_string();
        let set = repeated(&fixture, OWNER_KEY, ("PUT", rules), &body).await;
        assert_eq!((set.status, set.header("idempotent-replayed")), (200, ""));
        let read = repeated(&fixture, OWNER_KEY, ("GET", rules), "").await;
        assert_eq!(read.json()["content"], content);
    }
}

#[tokio::test]
async fn a_request_that_was_refused_may_be_mended() {
    let fixture = ApiFixture::new().await;
    let request = ("POST", "/api/saved-searches");
    for (body, status) in [
        (r#"{"name":"","query":"q"}"#, 400),
        (r#"{"name":"n","query":"q","nope":1}"#, 400),
        (r#"{"name":"n","query":"q"}"#, 201),
        // Done now: another request with this key is a mistake.
        (r#"{"name":"other","query":"q"}"#, 422),
        (r#"{"name":"","query":"q"}"#, 422),
    ] {
        let answer = repeated(&fixture, OWNER_KEY, request, body).await;
        assert_eq!(answer.status, status, "{body}: {:?}", answer.body);
    }
}
