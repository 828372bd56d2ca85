//! Calls of a browser, with the session of a person.

use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

use super::fixture::{ADDRESS, ApiFixture, OWNER, SESSION_IDLE};

const BODY: &str = r#"{"name":"n","query":"q"}"#;
const JSON: (&str, &str) = ("content-type", "application/json");
const SAVE: (&str, &str) = ("POST", "/api/saved-searches");
const ME: (&str, &str) = ("GET", "/api/me");

#[tokio::test]
async fn a_session_changes_things_with_its_token_or_from_our_own_pages() {
    let fixture = ApiFixture::new().await;
    let (cookie, other) = (fixture.sign_in(OWNER).await, fixture.sign_in(OWNER).await);
    let token = async |cookie: &str| {
        let headers = HeaderMap::from_iter([(COOKIE, cookie.parse().unwrap())]);
        fixture.sessions.of_request(&headers).await.unwrap().unwrap().csrf
    };
    let (own, theirs) = (token(cookie.as_str()).await, token(other.as_str()).await);
    let page = ("sec-fetch-site", "same-origin");
    for (given, status) in [
        (&[][..], 403),
        (&[("x-csrf-token", own.as_str())], 201),
        (&[("x-csrf-token", theirs.as_str())], 403),
        (&[page, ("origin", ADDRESS)], 201),
        (&[page, ("origin", "https://evil.example")], 403),
        (&[page, ("x-csrf-token", theirs.as_str())], 403),
        // A program is no browser: its key is no cookie, which a browser adds by itself.
        (&[("authorization", "Bearer ck_owner"), ("origin", "https://evil.example")], 201),
    ] {
        let headers = [given, &[JSON, ("cookie", cookie.as_str())]].concat();
        let answer = fixture.send(SAVE, &headers, BODY).await;
        assert_eq!(answer.status, status, "{given:?}: {:?}", answer.body);
        let expected = if status == 403 { "invalid_csrf_token" } else { "" };
        assert_eq!(answer.error().1, expected, "{given:?}");
    }
    assert_eq!(fixture.send(ME, &[("cookie", &cookie)], "").await.json()["userId"], OWNER);
}

#[tokio::test]
async fn a_key_that_is_given_decides_also_where_there_is_a_session() {
    let fixture = ApiFixture::new().await;
    let cookie = fixture.sign_in("U9").await;
    let me = async |key: &str| {
        let headers = [("cookie", cookie.as_str()), ("authorization", key)];
        let answer = fixture.send(ME, &headers, "").await;
        (answer.status, answer.json()["userId"].as_str().map(str::to_owned))
    };
    assert_eq!(me("Bearer ck_owner").await, (200, Some(OWNER.to_owned())));
    for invalid in ["Bearer ck_wrong", "Bearer", "", "Basic eDp5"] {
        assert_eq!(me(invalid).await, (401, None), "{invalid}");
    }
}

#[tokio::test]
async fn a_session_that_was_not_used_for_its_time_calls_nothing() {
    let fixture = ApiFixture::new().await;
    let last = SESSION_IDLE.saturating_sub(Duration::from_millis(1));
    for (unused, status) in [(last, 200), (SESSION_IDLE, 401)] {
        let cookie = fixture.sign_in(OWNER).await;
        fixture.clock.advance(unused);
        let answer = fixture.send(ME, &[("cookie", &cookie)], "").await;
        assert_eq!(answer.status, status, "{unused:?}");
    }
}
