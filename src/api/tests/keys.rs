//! API keys by the clock: their end, and the time that an old one has after a rotation.

use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{ApiFixture, OWNER_KEY, text};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Returns true if a key is good now.
async fn is_good(fixture: &ApiFixture, key: &str) -> bool {
    let answer = fixture.ask_as(key, ("GET", "/api/me"), &Value::Null).await;
    assert!([200, 401].contains(&answer.status), "{:?}", answer.body);
    answer.status == 200
}

/// Makes a key with an end; returns its secret and its id.
async fn made(fixture: &ApiFixture, end: Option<&str>) -> (String, String) {
    let body = json!({"name": "program", "scopes": ["read:messages"], "expiresAt": end});
    let made = fixture.done("POST", "/api/keys", &body).await;
    assert_eq!(made["expiresAt"].as_str(), end);
    (text(&made["key"]), text(&made["keyId"]))
}

/// Rotates a key; returns the new secret, its id, and the time until which the old one is good.
async fn rotated(fixture: &ApiFixture, id: &str, body: &Value) -> (String, String, String) {
    let made = fixture.done("POST", &format!("/api/keys/{id}/rotate"), body).await;
    (text(&made["key"]), text(&made["keyId"]), text(&made["previousUntil"]))
}

#[tokio::test]
async fn a_key_is_good_until_its_end_and_refused_from_then_on() {
    let fixture = ApiFixture::new().await;
    let (key, id) = made(&fixture, Some(&fixture.later(HOUR))).await;
    assert!(is_good(&fixture, &key).await);
    fixture.clock.advance(HOUR.saturating_sub(MILLISECOND));
    assert!(is_good(&fixture, &key).await);
    fixture.clock.advance(MILLISECOND);
    assert!(!is_good(&fixture, &key).await);
    // It cannot be given a new life.
    let rotate = format!("/api/keys/{id}/rotate");
    let refused = fixture.ask("POST", &rotate, &json!({})).await;
    assert_eq!(refused.error(), (404, "not_found".to_owned(), String::new()));
    fixture.clock.advance(DAY);
    assert!(!is_good(&fixture, &key).await);
}

#[tokio::test]
async fn the_end_of_a_new_key_is_in_the_future() {
    let fixture = ApiFixture::new().await;
    for (end, status) in [
        (fixture.later(Duration::ZERO), 400),
        ("2026-01-31T17:30:00+08:00".to_owned(), 400),
        ("2026-01-31T17:30:00.001+08:00".to_owned(), 201),
        (fixture.later(MILLISECOND), 201),
    ] {
        let body = json!({"name": "n", "scopes": ["read:messages"], "expiresAt": end});
        let answer = fixture.ask("POST", "/api/keys", &body).await;
        let field = if status == 400 { "/expiresAt" } else { "" };
        assert_eq!((answer.status, &*answer.error().2), (status, field), "{end}");
    }
}

#[tokio::test]
async fn after_a_rotation_both_keys_are_good_for_a_while() {
    let fixture = ApiFixture::new().await;
    for (body, overlap) in [
        (json!({}), DAY),
        (json!({"overlapSeconds": 60}), Duration::from_mins(1)),
        (json!({"overlapSeconds": 2_592_000}), 30 * DAY),
    ] {
        let (old, id) = made(&fixture, None).await;
        let (new, _, until) = rotated(&fixture, &id, &body).await;
        assert_eq!(until, fixture.later(overlap));
        fixture.clock.advance(overlap.saturating_sub(MILLISECOND));
        assert!(is_good(&fixture, &old).await && is_good(&fixture, &new).await, "{body}");
        fixture.clock.advance(MILLISECOND);
        assert!(!is_good(&fixture, &old).await && is_good(&fixture, &new).await, "{body}");
    }
    let (old, id) = made(&fixture, None).await;
    let (new, ..) = rotated(&fixture, &id, &json!({"overlapSeconds": 0})).await;
    assert!(!is_good(&fixture, &old).await && is_good(&fixture, &new).await, "at once");
}

#[tokio::test]
async fn a_rotation_lengthens_no_life() {
    let fixture = ApiFixture::new().await;
    let end = fixture.later(HOUR);
    let (old, id) = made(&fixture, Some(&end)).await;
    let (new, _, until) = rotated(&fixture, &id, &json!({})).await;
    assert_eq!(until, end, "not for the day that others have");
    fixture.clock.advance(HOUR.saturating_sub(MILLISECOND));
    assert!(is_good(&fixture, &old).await && is_good(&fixture, &new).await);
    fixture.clock.advance(MILLISECOND);
    assert!(!is_good(&fixture, &old).await && !is_good(&fixture, &new).await);
}

#[tokio::test]
async fn of_keys_that_follow_each_other_the_last_two_are_good() {
    let fixture = ApiFixture::new().await;
    let (first, id) = made(&fixture, None).await;
    let (second, id, _) = rotated(&fixture, &id, &json!({})).await;
    assert!(is_good(&fixture, &first).await && is_good(&fixture, &second).await);
    let (third, ..) = rotated(&fixture, &id, &json!({})).await;
    let good = [
        is_good(&fixture, &first).await,
        is_good(&fixture, &second).await,
        is_good(&fixture, &third).await,
    ];
    assert_eq!(good, [false, true, true]);
    assert!(is_good(&fixture, OWNER_KEY).await, "others are untouched");
}

#[tokio::test]
async fn the_secret_of_a_webhook_is_replaced_when_the_one_before_is_over() {
    let fixture = ApiFixture::new().await;
    let body = json!({"url": "https://hooks.example.com/x", "events": ["message.received"]});
    let webhook = fixture.done("POST", "/api/webhooks", &body).await;
    let path = format!("/api/webhooks/{}", text(&webhook["webhookId"]));
    let rotate = format!("{path}/rotate-secret");
    let hour = json!({"overlapSeconds": 3_600});
    let until = fixture.later(HOUR);
    assert_eq!(fixture.done("POST", &rotate, &hour).await["previousUntil"], until.as_str());
    fixture.clock.advance(HOUR.saturating_sub(MILLISECOND));
    assert_eq!(fixture.read(&path).await.json()["previousUntil"], until.as_str());
    assert_eq!(fixture.ask("POST", &rotate, &hour).await.status, 409, "three would sign");
    fixture.clock.advance(MILLISECOND);
    let kept = fixture.ask("POST", &rotate, &json!({"keepPrevious": true})).await;
    assert_eq!(kept.status, 409, "there is none any more");
    let next = fixture.done("POST", &rotate, &hour).await;
    assert_eq!(next["previousUntil"], fixture.later(HOUR).as_str());
}
