//! Requests to the provider, and how often they are made.

use super::*;

/// Starts a login; returns the status.
async fn started(fixture: &Fixture) -> StatusCode {
    fixture.send(("GET", "/auth/login"), &[]).await.status()
}

#[tokio::test]
async fn the_provider_is_asked_for_its_metadata_once_an_hour() {
    let fixture = Fixture::new().await;
    let discoveries = || fixture.provider.answers(|answers| answers.discoveries);
    assert_eq!(discoveries(), 0, "nobody signs in");
    for (millis, expected) in [(0, 1), (0, 1), (3_599_999, 1), (1, 2), (3_599_999, 2)] {
        fixture.clock.advance(Duration::from_millis(millis));
        assert_eq!(started(&fixture).await, StatusCode::SEE_OTHER);
        assert_eq!(discoveries(), expected, "after {millis} more");
    }
}

#[tokio::test]
async fn a_provider_that_is_away_is_asked_again_after_a_pause() {
    let fixture = Fixture::new().await;
    let answers = |status: StatusCode| {
        fixture.provider.answers(|answers| {
            answers.metadata = status;
            answers.discoveries
        })
    };
    let away = StatusCode::SERVICE_UNAVAILABLE;
    answers(away);
    for (millis, asked) in [(0, 1), (1_999, 1), (1, 2), (1_999, 2)] {
        fixture.clock.advance(Duration::from_millis(millis));
        assert_eq!(started(&fixture).await, away);
        assert_eq!(answers(away), asked, "after {millis} more");
    }
    answers(StatusCode::OK);
    assert_eq!(started(&fixture).await, away, "it is still left alone");
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(started(&fixture).await, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_wrong_signature_may_come_of_new_keys_which_are_asked_for_once() {
    let fixture = Fixture::new().await;
    let discoveries = || fixture.provider.answers(|answers| answers.discoveries);
    let login = fixture.start("/auth/login").await;
    let nonce = &login.parameters["nonce"];
    fixture.provider.confirm("another secret", fixture.seconds(), nonce, &json!({}));
    let response = fixture.call_back(&login, "code=c", &[]).await;
    assert_eq!(json_of(&response)["code"], "login_unconfirmed");
    assert_eq!(discoveries(), 2);
    fixture.sign_in(&json!({})).await;
    assert_eq!(discoveries(), 2, "a right one asks for none");
    // Other faults are not of the keys.
    let login = fixture.start("/auth/login").await;
    fixture.confirm(&login, &json!({"nonce": "another"}));
    let response = fixture.call_back(&login, "code=c", &[]).await;
    assert_eq!(json_of(&response)["code"], "login_unconfirmed");
    assert_eq!(discoveries(), 2);
}

#[tokio::test]
async fn a_client_secret_that_is_replaced_counts_at_once() {
    let fixture = Fixture::new().await;
    fixture.sign_in(&json!({})).await;
    assert!(fixture.secret.replace(&"a new secret".into()));
    for (secret, status) in
        [(CLIENT_SECRET, StatusCode::UNAUTHORIZED), ("a new secret", StatusCode::SEE_OTHER)]
    {
        let login = fixture.start("/auth/login").await;
        let nonce = &login.parameters["nonce"];
        fixture.provider.confirm(secret, fixture.seconds(), nonce, &json!({}));
        let response = fixture.call_back(&login, "code=c", &[]).await;
        assert_eq!(response.status(), status, "{secret}");
    }
}

#[tokio::test]
async fn each_scope_is_asked_for_once() {
    let scopes = [("CHATKEEP_LOGIN_SCOPES", " openid  profile email ")];
    let fixture = Fixture::with(&scopes).await;
    let login = fixture.start("/auth/login").await;
    let mut asked: Vec<_> = login.parameters["scope"].split(' ').collect();
    asked.sort_unstable();
    assert_eq!(asked, ["email", "openid", "profile"]);
}

#[tokio::test]
async fn the_providers_pages_have_the_language_of_the_person() {
    let fixture = Fixture::new().await;
    for (path, accepted, expected) in [
        ("/auth/login", "ja;q=0.5, th", "th"),
        ("/auth/login", "fr, ja;q=0.1", "ja"),
        ("/auth/login", "fr", "en"),
        ("/auth/login", "th;q=0, ja;q=0.1", "ja"),
        ("/auth/login?lang=ja", "th", "ja"),
        ("/auth/login?lang=xx", "th", "th"),
        ("/auth/login", "zh-TW", "zh-TW zh-Hant"),
    ] {
        let response = fixture.send(("GET", path), &[("accept-language", accepted)]).await;
        assert!(response.status().is_redirection(), "{path}: {response:?}");
        let url = Url::parse(&location(&response)).unwrap();
        let pairs: BTreeMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(pairs["ui_locales"], expected, "{path} {accepted}");
    }
}
