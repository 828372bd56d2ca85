//! The rate limit as its headers tell it, by a clock that is moved.

use std::time::Duration;

use chatkeep_core::config::RateLimitConfig;
use serde_json::{Value, json};

use super::fixture::{ApiFixture, MEMBER_KEY, OWNER_KEY, ReadAnswer};

/// The time at which the clock stands first, in seconds since 1970.
const START: i64 = 1_769_851_800;

/// Three requests at once, and one more each second.
const RATE: RateLimitConfig = RateLimitConfig { per_minute: 60, burst: 3 };

/// Returns the status with the requests that are left and the time at which all are back, in
/// seconds from the start.
fn figures(answer: &ReadAnswer) -> (u16, i64, i64) {
    let of = |name: &str| answer.header(name).parse::<i64>().unwrap();
    assert_eq!(of("x-ratelimit-limit"), 3);
    (answer.status, of("x-ratelimit-remaining"), of("x-ratelimit-reset") - START)
}

#[tokio::test]
async fn headers_tell_what_is_left_and_when_all_is_back() {
    let fixture = ApiFixture::limited(RATE).await;
    // Whatever is asked for: a resource, a mistake, nothing that there is.
    for (path, expected) in
        [("/api/me", (200, 2, 1)), ("/api/me?nope", (400, 1, 2)), ("/api/nope", (404, 0, 3))]
    {
        assert_eq!(figures(&fixture.read(path).await), expected, "{path}");
    }
    for (millis, expected, wait) in [
        (0, (429, 0, 3), "1"),
        (0, (429, 0, 3), "1"),
        (999, (429, 0, 3), "1"),
        (1, (200, 0, 4), ""),
        (2_500, (200, 1, 5), ""),
    ] {
        fixture.clock.advance(Duration::from_millis(millis));
        let answer = fixture.read("/api/me").await;
        assert_eq!(figures(&answer), expected, "after {millis} more");
        assert_eq!(answer.header("retry-after"), wait);
        assert_eq!(answer.json()["retryAfter"].as_i64(), wait.parse().ok());
    }
}

#[tokio::test]
async fn keys_and_those_without_one_have_limits_of_their_own() {
    let fixture = ApiFixture::limited(RATE).await;
    for left in [2, 1, 0] {
        let answer = fixture.send(("GET", "/api/me"), &[], "").await;
        assert_eq!((answer.status, figures(&answer).1), (401, left));
    }
    assert_eq!(fixture.send(("GET", "/api/me"), &[], "").await.status, 429);
    let wrong = [("authorization", "Bearer ck_wrong")];
    assert_eq!(fixture.send(("GET", "/api/me"), &wrong, "").await.status, 429, "as without any");
    // A key that nobody has used yet is looked up at the cost of the address.
    assert_eq!(fixture.read("/api/me").await.status, 429);
    fixture.clock.advance(Duration::from_secs(1));
    for left in [2, 1, 0] {
        assert_eq!(figures(&fixture.read("/api/me").await).1, left, "what was paid is given back");
    }
    let member = fixture.ask_as(MEMBER_KEY, ("GET", "/api/me"), &Value::Null).await;
    assert_eq!((member.status, figures(&member).1), (200, 2));
    // The documentation is for everybody, and counted nowhere.
    let document = fixture.send(("GET", "/openapi.json"), &[], "").await;
    assert_eq!((document.status, document.header("x-ratelimit-limit")), (200, ""));
}

#[tokio::test]
async fn what_is_refused_by_the_limit_has_not_happened() {
    let fixture = ApiFixture::limited(RATE).await;
    let authorization = format!("Bearer {OWNER_KEY}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("idempotency-key", "once"),
    ];
    for _ in 0..3 {
        fixture.read("/api/me").await;
    }
    let (request, body) = (("POST", "/api/saved-searches"), json!({"name": "n", "query": "q"}));
    let refused = fixture.send(request, &headers, body.to_string()).await;
    assert_eq!(refused.error(), (429, "rate_limited".to_owned(), String::new()));
    fixture.clock.advance(Duration::from_secs(2));
    let made = fixture.send(request, &headers, body.to_string()).await;
    assert_eq!((made.status, made.header("idempotent-replayed")), (201, ""), "it is the first");
    let list = fixture.read("/api/saved-searches").await.json();
    assert_eq!(list["savedSearches"].as_array().map(Vec::len), Some(1), "{list}");
}
