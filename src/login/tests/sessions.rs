//! Sessions that a login begins.

use super::*;

const DAY: Duration = Duration::from_hours(24);
const MILLISECOND: Duration = Duration::from_millis(1);

#[tokio::test]
async fn a_session_ends_when_it_was_not_used_for_its_time() {
    let fixture = Fixture::new().await;
    for (unused, status) in
        [(DAY.saturating_sub(MILLISECOND), StatusCode::OK), (DAY, StatusCode::UNAUTHORIZED)]
    {
        let cookie = fixture.sign_in(&json!({})).await;
        fixture.clock.advance(unused);
        assert_eq!(fixture.session(&cookie).await.0, status, "{unused:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_session_moves_with_its_use() {
    let fixture = Fixture::new().await;
    let cookie = fixture.sign_in(&json!({})).await;
    // As if nothing was written of its use: the first one is the last that the database knows.
    for hours in [0, 5, 18] {
        fixture.clock.advance(Duration::from_hours(hours));
        let session = fixture.session(&cookie).await.1;
        let end = fixture.clock.now().plus(DAY).to_string();
        assert_eq!(session["expiresAt"], end, "{hours}");
    }
}

#[tokio::test]
async fn who_has_no_name_in_the_token_is_described_by_the_provider() {
    let fixture = Fixture::new().await;
    let described = |sub: &str| json!({"sub": sub, "name": "王安", "picture": "https://p/1"});
    let known = ("王安".into(), "https://p/1".into());
    let nameless = (Value::Null, Value::Null);
    // Of each case a person of its own: names are kept.
    for (sub, status, info, (name, picture)) in [
        ("U1", StatusCode::OK, described("U1"), known),
        ("U2", StatusCode::OK, described("U1"), nameless.clone()),
        ("U3", StatusCode::OK, json!({"sub": "U3"}), nameless.clone()),
        ("U4", StatusCode::OK, json!([]), nameless.clone()),
        ("U5", StatusCode::BAD_GATEWAY, described("U5"), nameless.clone()),
        ("U6", StatusCode::FORBIDDEN, json!({"error": "x"}), nameless),
    ] {
        fixture.provider.answers(|answers| answers.info = (status, info.to_string()));
        let cookie = fixture.sign_in(&json!({"sub": sub, "name": null})).await;
        let session = fixture.session(&cookie).await.1;
        assert_eq!(session["userId"], sub);
        assert_eq!((&session["displayName"], &session["pictureUrl"]), (&name, &picture), "{sub}");
        assert!(session.as_object().unwrap().contains_key("pictureUrl"), "null is not left out");
    }
    // A token with a name is enough.
    let other = (StatusCode::OK, described("U7").to_string());
    fixture.provider.answers(|answers| answers.info = other);
    let cookie = fixture.sign_in(&json!({"sub": "U7", "name": "安"})).await;
    assert_eq!(fixture.session(&cookie).await.1["displayName"], "安");
}

#[tokio::test]
async fn a_sign_in_ends_the_session_that_the_browser_had_and_no_other() {
    let fixture = Fixture::new().await;
    let (first, other) = (fixture.sign_in(&json!({})).await, fixture.sign_in(&json!({})).await);
    let login = fixture.start("/auth/login").await;
    // Somebody else at the same browser.
    fixture.confirm(&login, &json!({"sub": "Ubob"}));
    let response = fixture.call_back(&login, "code=c", &[("cookie", &first)]).await;
    let second = cookie(&response, "chatkeep_session").unwrap();
    assert_eq!(fixture.session(&first).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(fixture.session(&other).await.1["userId"], "Uann");
    assert_eq!(fixture.session(&second).await.1["userId"], "Ubob");
    // One that fails leaves who is signed in.
    let login = fixture.start("/auth/login").await;
    fixture.call_back(&login, "error=access_denied", &[("cookie", &second)]).await;
    assert_eq!(fixture.session(&second).await.0, StatusCode::OK);
}

#[tokio::test]
async fn every_response_is_for_one_browser_and_one_moment() {
    let fixture = Fixture::new().await;
    let session = fixture.sign_in(&json!({})).await;
    for (request, status) in [
        (("GET", "/auth/login"), StatusCode::SEE_OTHER),
        (("GET", "/auth/login?returnTo=x"), StatusCode::BAD_REQUEST),
        (("GET", "/auth/callback?state=a&code=b"), StatusCode::BAD_REQUEST),
        (("GET", "/auth/session"), StatusCode::OK),
        (("POST", "/auth/logout"), StatusCode::FORBIDDEN),
        (("PUT", "/auth/session"), StatusCode::METHOD_NOT_ALLOWED),
    ] {
        let response = fixture.send(request, &[("cookie", &session)]).await;
        assert_eq!(response.status(), status, "{request:?}");
        let of = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(of("cache-control"), "no-store", "{request:?}");
        assert_eq!(of("referrer-policy"), "no-referrer", "{request:?}");
    }
}
