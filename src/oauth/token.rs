//! Token endpoint: exchanges codes and refresh tokens for access tokens. Clients are public: their
//! proof is the code verifier, and refresh tokens are rotated, each valid once.
//!
//! The successors of a refresh token are derived from it and from a seed in the store, so that a
//! request that is repeated at once gets the same ones, although neither the store nor the holder
//! of the old token alone could derive them.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::random::{self, ACCESS_TOKEN};
use chatkeep_core::role::Scope;
use chatkeep_core::sha256;
use chatkeep_core::time::Timestamp;
use chatkeep_store::{Grant, Tokens};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::error::{OAuthError, OAuthErrorCode};
use super::resource::is_this_resource;
use super::{ACCESS_TIME, Inner, OAuth, REFRESH, REFRESH_TIME, given, secret};

/// Length of a seed in characters.
const SEED: usize = 40;

/// Token request; further parameters are ignored.
#[derive(Deserialize)]
pub(super) struct TokenRequest {
    #[serde(default, deserialize_with = "given")]
    grant_type: Option<String>,
    #[serde(default, deserialize_with = "given")]
    client_id: Option<String>,
    #[serde(default, deserialize_with = "given")]
    code: Option<String>,
    #[serde(default, deserialize_with = "given")]
    redirect_uri: Option<String>,
    #[serde(default, deserialize_with = "given")]
    code_verifier: Option<String>,
    #[serde(default, deserialize_with = "given")]
    refresh_token: Option<String>,
    #[serde(default, deserialize_with = "given")]
    resource: Option<String>,
}

/// Revocation request.
#[derive(Deserialize)]
pub(super) struct Revocation {
    #[serde(default, deserialize_with = "given")]
    token: Option<String>,
}

pub(super) async fn token(
    State(OAuth(oauth)): State<OAuth>,
    form: Bytes,
) -> Result<Response, OAuthError> {
    let asked: Result<TokenRequest, _> = serde_urlencoded::from_bytes(&form);
    let asked =
        asked.map_err(|_| OAuthError::request("The body must be a form, with each field once"))?;
    let (grant, tokens) = match asked.grant_type.as_deref() {
        Some("authorization_code") => oauth.by_code(&asked).await?,
        Some("refresh_token") => oauth.by_refresh(&asked).await?,
        Some(_) => {
            let why = "grant_type must be authorization_code or refresh_token";
            return Err(OAuthError::new(OAuthErrorCode::UnsupportedGrantType, why));
        }
        None => {
            let why = "grant_type is required: authorization_code or refresh_token";
            return Err(OAuthError::request(why));
        }
    };
    Ok(answer(&grant, &tokens, oauth.clock.now()))
}

/// Responds the same whether there was such a token or not (RFC 7009).
pub(super) async fn revoke(
    State(OAuth(oauth)): State<OAuth>,
    form: Bytes,
) -> Result<StatusCode, OAuthError> {
    let asked: Result<Revocation, _> = serde_urlencoded::from_bytes(&form);
    let token = asked.ok().and_then(|asked| asked.token);
    let token = token.ok_or(OAuthError::request("The body must be a form with token"))?;
    oauth.services.grants.end(&token).await?;
    Ok(StatusCode::OK)
}

impl TokenRequest {
    /// Checks that the consent is this client's, and for the requested resource.
    fn fits(&self, grant: &Grant) -> Result<(), OAuthError> {
        if self.client_id.as_ref() != Some(&grant.client_id) {
            return Err(OAuthError::grant());
        }
        let is_other = |asked: &str| !is_this_resource(&grant.resource, asked);
        if self.resource.as_deref().is_some_and(is_other) {
            return Err(OAuthError::new(
                OAuthErrorCode::InvalidTarget,
                "The grant is for another resource",
            ));
        }
        Ok(())
    }

    /// Checks the same, and that the verifier matches the challenge. OAuth 2.1 has no `redirect_uri`
    /// here, for the verifier proves more; clients of OAuth 2.0 send that of the authorization.
    fn proves(&self, grant: &Grant, verifier: &str) -> Result<(), OAuthError> {
        self.fits(grant)?;
        let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let proven = grant.challenge.as_deref() == Some(&proof);
        if proven && (self.redirect_uri.is_none() || self.redirect_uri == grant.redirect_uri) {
            Ok(())
        } else {
            Err(OAuthError::grant())
        }
    }
}

impl Inner {
    async fn by_code(&self, asked: &TokenRequest) -> Result<(Grant, Tokens), OAuthError> {
        let (Some(code), Some(verifier)) = (&asked.code, &asked.code_verifier) else {
            return Err(OAuthError::request("code and code_verifier are required"));
        };
        let tokens = timed(secret(ACCESS_TOKEN), secret(REFRESH), self.clock.now());
        let mut refusal = OAuthError::grant();
        let admit = |grant: &Grant| noted(&mut refusal, asked.proves(grant, verifier));
        let grant = self.services.grants.exchange_code(code, admit, &tokens).await?;
        grant.map(|grant| (grant, tokens)).ok_or(refusal)
    }

    async fn by_refresh(&self, asked: &TokenRequest) -> Result<(Grant, Tokens), OAuthError> {
        let Some(token) = &asked.refresh_token else {
            return Err(OAuthError::request("refresh_token is required"));
        };
        let mut refusal = OAuthError::grant();
        let admit = |grant: &Grant| noted(&mut refusal, asked.fits(grant));
        let seed = random::text(SEED);
        let make = |seed: &str, at| {
            timed(successor(ACCESS_TOKEN, seed, token), successor(REFRESH, seed, token), at)
        };
        let next = self.services.grants.refresh(token, admit, &seed, make).await?;
        next.ok_or(refusal)
    }
}

/// Returns true if it fits; else stores the reason.
fn noted(refusal: &mut OAuthError, fits: Result<(), OAuthError>) -> bool {
    match fits {
        Ok(()) => true,
        Err(why) => {
            *refusal = why;
            false
        }
    }
}

/// Derives the token of that kind that follows a refresh token under a seed.
fn successor(kind: &str, seed: &str, token: &str) -> String {
    let digest = sha256::of_parts(["chatkeep token", kind, seed, token]);
    format!("{kind}{}", URL_SAFE_NO_PAD.encode(digest))
}

/// Returns tokens issued at that time.
fn timed(access: String, refresh: String, at: Timestamp) -> Tokens {
    Tokens { access: (access, at.plus(ACCESS_TIME)), refresh: (refresh, at.plus(REFRESH_TIME)) }
}

fn answer(grant: &Grant, tokens: &Tokens, now: Timestamp) -> Response {
    let scopes: Vec<_> = grant.scopes.iter().copied().map(Scope::name).collect();
    // A repeated response has less of its lifetime left.
    let left = tokens.access.1.since(now).as_millis().div_ceil(1_000);
    let answer = json!({
        "access_token": tokens.access.0,
        "token_type": "Bearer",
        "expires_in": u64::try_from(left).unwrap_or(u64::MAX),
        "refresh_token": tokens.refresh.0,
        "scope": scopes.join(" "),
    });
    Json(answer).into_response()
}
