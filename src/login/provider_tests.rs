//! Token responses of a provider, and what they mean for who signs in and for the operator.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use chatkeep_core::config::{Config, Sources};
use chatkeep_core::panics;
use chatkeep_core::time::SystemClock;
use serde_json::json;
use tokio::net::TcpListener;

use super::*;

/// Starts a provider that answers all token requests so.
async fn answering(status: u16, body: &'static str) -> Provider {
    let status = StatusCode::from_u16(status).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/jwks"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    });
    let json = [("content-type", "application/json")];
    let provider = Router::new()
        .route("/.well-known/openid-configuration", get((json, metadata.to_string())))
        .route("/jwks", get((json, r#"{"keys":[]}"#)))
        .route("/token", post((status, json, body)));
    panics::spawn("provider", async move { axum::serve(listener, provider).await });
    let settings = [("CHATKEEP_LOGIN_ISSUER", issuer.as_str()), ("CHATKEEP_LOGIN_CLIENT_ID", "me")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Config::load(Sources::new(None, settings.into(), Vec::new())).unwrap();
    let callback = "http://127.0.0.1/auth/callback";
    Provider::new(&config.login, None, callback, Arc::new(SystemClock)).unwrap().unwrap()
}

#[tokio::test]
async fn a_provider_that_fails_is_unavailable_and_one_that_refuses_is_not() {
    use LoginError::{Unavailable, Unconfirmed};
    let cases = [
        (400, r#"{"error":"invalid_grant"}"#, Unconfirmed, false),
        (401, r#"{"error":"invalid_client"}"#, Unavailable, false),
        (400, r#"{"error":"server_error"}"#, Unavailable, false),
        (500, r#"{"error":"server_error"}"#, Unavailable, true),
        (500, r#"{"error":"invalid_grant"}"#, Unavailable, true),
        (502, "<html>", Unavailable, true),
        (200, "<html>", Unavailable, false),
    ];
    for (status, body, expected, is_away) in cases {
        let provider = answering(status, body).await;
        let asked = ["code", "verifier", "nonce"].map(str::to_owned);
        let [code, verifier, nonce] = asked;
        let refused = provider.person(code, verifier, nonce).await.unwrap_err();
        assert_eq!(refused.to_string(), expected.to_string(), "{status} {body}");
        assert_eq!(provider.discovery.available.is_away(), is_away, "{status} {body}");
    }
}
