//! An identity provider whose responses a test chooses.

use std::future::ready;
use std::sync::Mutex;

use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::panics;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::net::TcpListener;

use super::*;

/// Id of this service at the provider.
pub(super) const CLIENT: &str = "client";

/// Header of JSON.
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// The provider.
pub(super) struct StubProvider {
    pub(super) issuer: String,
    answers: Arc<Mutex<StubAnswers>>,
}

/// Requests so far, and the responses: each a status and a body.
#[derive(Default)]
pub(super) struct StubAnswers {
    /// Number of times that its metadata were asked for.
    pub(super) discoveries: usize,
    /// Status of its metadata.
    pub(super) metadata: StatusCode,
    pub(super) token: (StatusCode, String),
    pub(super) info: (StatusCode, String),
    /// Body of the last request for a token.
    pub(super) redeemed: String,
}

impl StubProvider {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let answers = Arc::default();
        let router = routes(&issuer, &answers);
        panics::spawn("provider", async move { axum::serve(listener, router).await });
        Self { issuer, answers }
    }

    /// Reads or changes what it was asked and answers.
    pub(super) fn answers<T>(&self, with: impl FnOnce(&mut StubAnswers) -> T) -> T {
        with(&mut self.answers.lock().unwrap())
    }

    /// Has it answer with a token of `Uann`, issued `now` in seconds for ten minutes and signed
    /// with that secret; `claims` are added, or removed where they are null.
    pub(super) fn confirm(&self, secret: &str, now: i64, nonce: &str, claims: &Value) {
        let mut all = json!({
            "iss": self.issuer, "aud": CLIENT, "sub": "Uann", "name": "王安", "nonce": nonce,
            "iat": now, "exp": now + 600,
        });
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        all.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let token = json!({
            "access_token": "a", "token_type": "Bearer", "id_token": signed(&all, secret),
        });
        self.answers(|answers| answers.token = (StatusCode::OK, token.to_string()));
    }
}

fn routes(issuer: &str, answers: &Arc<Mutex<StubAnswers>>) -> Router {
    let metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "userinfo_endpoint": format!("{issuer}/info"),
        "jwks_uri": format!("{issuer}/jwks"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    });
    let metadata = metadata.to_string();
    let [discovered, redeemed, described] = [(); 3].map(|()| Arc::clone(answers));
    let discover = move || {
        let mut answers = discovered.lock().unwrap();
        answers.discoveries += 1;
        ready((answers.metadata, JSON, metadata.clone()))
    };
    let redeem = move |form: String| {
        let mut answers = redeemed.lock().unwrap();
        answers.redeemed = form;
        let (status, body) = answers.token.clone();
        ready((status, JSON, body))
    };
    let describe = move || {
        let (status, body) = described.lock().unwrap().info.clone();
        ready((status, JSON, body))
    };
    Router::new()
        .route("/.well-known/openid-configuration", get(discover))
        .route("/jwks", get((JSON, r#"{"keys":[]}"#)))
        .route("/token", post(redeem))
        .route("/info", get(describe))
}

/// Returns a token with these claims, signed with a secret (HS256).
fn signed(claims: &Value, secret: &str) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&json!({"alg": "HS256"})), part(claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}
