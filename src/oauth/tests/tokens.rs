//! Codes and tokens by the clock: how long each is good for, what a second use does, and what is
//! told of a request that is not valid.

use std::time::Duration;

use axum::http::{StatusCode, header};
use chatkeep_core::role::Scope;
use chatkeep_services::{Credential, ServiceError};
use serde_json::json;

use super::{ANN, BACK, CHANNELS, ConsentBench, RESOURCE, VERIFIER, asking, parameter};

const MOMENT: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_hours(1);
const MONTH: Duration = Duration::from_hours(24 * 30);

#[tokio::test]
async fn a_code_is_good_for_two_minutes() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let code = bench.allow(&asking(&client, &[])).await;
    bench.clock.advance(Duration::from_mins(2).saturating_sub(MOMENT));
    assert_eq!(bench.exchange(&client, &code).await.status, StatusCode::OK);
    let late = bench.allow(&asking(&client, &[])).await;
    bench.clock.advance(Duration::from_mins(2));
    let refused = bench.exchange(&client, &late).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_grant"))
    );
}

#[tokio::test]
async fn an_access_token_is_good_for_an_hour_and_a_refresh_token_for_a_month_after_its_last_use() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let mut tokens = bench.let_in(&client).await;
    assert_eq!(tokens["expires_in"], 3_600);
    bench.clock.advance(HOUR.saturating_sub(MOMENT));
    assert!(bench.caller(&tokens).await.is_ok());
    bench.clock.advance(MOMENT);
    assert_eq!(bench.caller(&tokens).await.unwrap_err(), ServiceError::InvalidKey);
    // Each month begins with the use of the token before.
    for _ in 0..3 {
        bench.clock.advance(MONTH.saturating_sub(HOUR + MOMENT));
        let next = bench.refresh(&client, tokens["refresh_token"].as_str().unwrap()).await;
        assert_eq!(next.status, StatusCode::OK, "{}", next.body);
        tokens = next.json();
        bench.clock.advance(HOUR);
    }
    bench.clock.advance(MONTH.saturating_sub(HOUR));
    let ended = bench.refresh(&client, tokens["refresh_token"].as_str().unwrap()).await;
    assert_eq!(ended.json()["error"], "invalid_grant");
}

#[tokio::test]
async fn a_refresh_token_that_is_used_again_at_once_gives_the_same_and_later_ends_it_all() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let first = bench.let_in(&client).await;
    let old = first["refresh_token"].as_str().unwrap();
    let next = bench.refresh(&client, old).await.json();
    bench.clock.advance(Duration::from_millis(9_500));
    let again = bench.refresh(&client, old).await.json();
    for token in ["access_token", "refresh_token", "scope"] {
        assert_eq!(again[token], next[token], "{token}");
    }
    // What is left of the hour, rounded up.
    assert_eq!((&next["expires_in"], &again["expires_in"]), (&json!(3_600), &json!(3_591)));
    bench.clock.advance(Duration::from_millis(20_500));
    let last = bench.refresh(&client, old).await.json();
    assert_eq!(last["access_token"], next["access_token"], "half a minute is within");
    assert!(bench.caller(&first).await.is_ok() && bench.caller(&next).await.is_ok());
    bench.clock.advance(MOMENT);
    assert_eq!(bench.refresh(&client, old).await.json()["error"], "invalid_grant");
    for tokens in [&first, &next] {
        assert_eq!(bench.caller(tokens).await.unwrap_err(), ServiceError::InvalidKey);
    }
    let new = next["refresh_token"].as_str().unwrap();
    assert_eq!(bench.refresh(&client, new).await.json()["error"], "invalid_grant");
    assert!(bench.services.grants.consents(&ANN.into()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_second_use_of_a_code_ends_what_the_first_gave() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let code = bench.allow(&asking(&client, &[])).await;
    let tokens = bench.exchange(&client, &code).await.json();
    let other = bench.let_in(&client).await;
    assert!(bench.caller(&tokens).await.is_ok());
    assert_eq!(bench.exchange(&client, &code).await.json()["error"], "invalid_grant");
    assert_eq!(bench.caller(&tokens).await.unwrap_err(), ServiceError::InvalidKey);
    assert!(bench.caller(&other).await.is_ok(), "another consent stays");
}

/// Whoever has a code or token that is not theirs must not be able to use it up.
#[tokio::test]
async fn a_request_that_is_refused_uses_nothing_up() {
    let bench = ConsentBench::new().await;
    let (client, other) = (bench.register(BACK).await, bench.register(BACK).await);
    let code = bench.allow(&asking(&client, &[])).await;
    let by_code = [
        ("grant_type", "authorization_code"),
        ("client_id", client.as_str()),
        ("code", code.as_str()),
        ("redirect_uri", BACK),
        ("code_verifier", VERIFIER),
        ("resource", RESOURCE),
    ];
    let changed = |base: &[(&'static str, &str)], name: &str, value: &str| {
        let kept = base.iter().filter(|(known, _)| *known != name);
        let mut fields: Vec<_> =
            kept.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        fields.push((name.to_owned(), value.to_owned()));
        fields
    };
    let post = async |fields: Vec<(String, String)>| {
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        bench.post("/oauth/token", &fields).await
    };
    for (name, value, error) in [
        ("client_id", other.as_str(), "invalid_grant"),
        ("code_verifier", "another-verifier-of-forty-three-characters-xy", "invalid_grant"),
        ("code_verifier", "", "invalid_request"),
        ("redirect_uri", "http://127.0.0.1:33419/callback", "invalid_grant"),
        ("resource", "https://chat.example.org/api", "invalid_target"),
        ("code", "ckc_unknown", "invalid_grant"),
    ] {
        let refused = post(changed(&by_code, name, value)).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{name}: {}", refused.body);
        assert_eq!(refused.json()["error"], error, "{name}={value}");
    }
    // The resource in another spelling is the same.
    let by_code = changed(&by_code, "resource", "HTTPS://Chat.Example.ORG:443/mcp/");
    let tokens = post(by_code).await.json();
    let token = tokens["refresh_token"].as_str().unwrap();
    let by_token =
        [("grant_type", "refresh_token"), ("client_id", client.as_str()), ("refresh_token", token)];
    let access = tokens["access_token"].as_str().unwrap();
    for (name, value, error) in [
        ("client_id", other.as_str(), "invalid_grant"),
        ("resource", "https://chat.example.org", "invalid_target"),
        ("refresh_token", access, "invalid_grant"),
        ("refresh_token", code.as_str(), "invalid_grant"),
    ] {
        let refused = post(changed(&by_token, name, value)).await;
        assert_eq!(refused.json()["error"], error, "{name}: {}", refused.body);
    }
    assert_eq!(bench.post("/oauth/token", &by_token).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_token_stands_for_what_was_granted_and_no_more() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let scope = ("scope", Some("read:media write:backup read:messages read:media manage:keys"));
    let chosen = [
        ("decision", "allow"),
        ("reach", "chosen"),
        ("channel", CHANNELS[1]),
        ("channel", "Cof somebody else"),
    ];
    let back = bench.decide(&asking(&client, &[scope]), &chosen).await;
    let tokens = bench.exchange(&client, &parameter(&back, "code")).await.json();
    assert_eq!(
        (&tokens["scope"], &tokens["token_type"]),
        (&json!("read:messages read:media"), &json!("Bearer"))
    );
    let caller = bench.caller(&tokens).await.unwrap();
    assert_eq!(caller.user.as_str(), ANN);
    assert_eq!(caller.bounds.scopes, [Scope::ReadMessages, Scope::ReadMedia]);
    assert_eq!(caller.bounds.channels, Some(vec![CHANNELS[1].into()]));
    let Credential::Token { resource, .. } = caller.credential else { panic!("no token") };
    assert_eq!(resource, RESOURCE);
    // A refreshed one is of the same.
    let next = bench.refresh(&client, tokens["refresh_token"].as_str().unwrap()).await.json();
    assert_eq!(next["scope"], tokens["scope"]);
    assert_eq!(bench.caller(&next).await.unwrap().bounds.channels, caller.bounds.channels);
    // The secrets of each kind are told apart, and none serves for another.
    let refresh = json!({"access_token": next["refresh_token"]});
    assert_eq!(bench.caller(&refresh).await.unwrap_err(), ServiceError::InvalidKey);
}

#[tokio::test]
async fn a_token_that_is_revoked_ends_its_consent_alone() {
    let bench = ConsentBench::new().await;
    let client = bench.register(BACK).await;
    let (one, other) = (bench.let_in(&client).await, bench.let_in(&client).await);
    // The same is answered of what never was one.
    let unknown = bench.post("/oauth/revoke", &[("token", "ckr_unknown")]).await;
    let access = one["access_token"].as_str().unwrap();
    let fields = [("token", access), ("token_type_hint", "access_token")];
    let revoked = bench.post("/oauth/revoke", &fields).await;
    assert_eq!((revoked.status, &revoked.body), (unknown.status, &unknown.body));
    assert_eq!(revoked.status, StatusCode::OK);
    assert!(bench.caller(&one).await.is_err() && bench.caller(&other).await.is_ok());
    let refresh = one["refresh_token"].as_str().unwrap();
    assert_eq!(bench.refresh(&client, refresh).await.json()["error"], "invalid_grant");
    let none = bench.post("/oauth/revoke", &[]).await;
    assert_eq!(
        (none.status, &none.json()["error"]),
        (StatusCode::BAD_REQUEST, &json!("invalid_request"))
    );
}

#[tokio::test]
async fn what_is_no_token_request_is_told_with_the_code_of_the_protocol() {
    let bench = ConsentBench::new().await;
    let code = [("grant_type", "authorization_code"), ("client_id", "x")];
    let refresh = [("grant_type", "refresh_token"), ("client_id", "x")];
    let unsupported = "unsupported_grant_type";
    for (fields, error) in [
        (vec![("grant_type", "password")], unsupported),
        (vec![("grant_type", "client_credentials")], unsupported),
        (Vec::new(), "invalid_request"),
        (vec![("grant_type", ""), ("client_id", "x")], "invalid_request"),
        ([&code[..], &[("code", ""), ("code_verifier", "x")]].concat(), "invalid_request"),
        (code.to_vec(), "invalid_request"),
        ([&code[..], &[("code", "ckc_x")]].concat(), "invalid_request"),
        ([&code[..], &[("code_verifier", "x")]].concat(), "invalid_request"),
        ([&code[..], &code[..]].concat(), "invalid_request"),
        (refresh.to_vec(), "invalid_request"),
        (
            [&refresh[..], &[("refresh_token", "a"), ("refresh_token", "b")]].concat(),
            "invalid_request",
        ),
        (
            [&refresh[..], &[("refresh_token", "ckr_x"), ("more", "is ignored")]].concat(),
            "invalid_grant",
        ),
    ] {
        let refused = bench.post("/oauth/token", &fields).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{fields:?}");
        let told = refused.json();
        assert_eq!(told["error"], error, "{fields:?}: {told}");
        assert!(told["error_description"].as_str().is_some_and(|why| !why.is_empty()), "{told}");
        assert_eq!(refused.headers[header::CACHE_CONTROL], "no-store");
        assert_eq!(refused.headers[header::CONTENT_TYPE], "application/json");
    }
}
