//! Codes and refresh tokens for access tokens. Programs are public: what proves them is the code
//! verifier, and that each refresh token serves once.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chatkeep_core::role::Scope;
use chatkeep_core::store::{Grant, NewTokens, Once};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::error::OAuthError;
use super::{ACCESS, ACCESS_TIME, Inner, OAuth, REFRESH_TIME, secret};

/// What a program sends; it may send more.
#[derive(Deserialize)]
pub(super) struct Request {
    grant_type: Option<String>,
    client_id: Option<String>,
    code: Option<String>,
    redirect_uri: Option<String>,
    code_verifier: Option<String>,
    refresh_token: Option<String>,
    resource: Option<String>,
}

/// What a program wants ended.
#[derive(Deserialize)]
pub(super) struct Revocation {
    token: String,
}

pub(super) async fn token(
    State(OAuth(oauth)): State<OAuth>,
    form: Bytes,
) -> Result<Response, OAuthError> {
    let asked: Result<Request, _> = serde_urlencoded::from_bytes(&form);
    let asked = asked.map_err(|_| OAuthError::request("It must be a form, each field once"))?;
    let grant = match asked.grant_type.as_deref() {
        Some("authorization_code") => oauth.by_code(&asked).await?,
        Some("refresh_token") => oauth.by_refresh(&asked).await?,
        _ => {
            let why = "grant_type must be authorization_code or refresh_token";
            return Err(OAuthError::new("unsupported_grant_type", why));
        }
    };
    if asked.resource.is_some_and(|resource| resource != grant.resource) {
        return Err(OAuthError::new("invalid_target", "The consent is for another resource"));
    }
    oauth.issue(&grant).await
}

/// Says the same whether there was such a token or not (RFC 7009).
pub(super) async fn revoke(
    State(OAuth(oauth)): State<OAuth>,
    form: Bytes,
) -> Result<StatusCode, OAuthError> {
    let asked: Result<Revocation, _> = serde_urlencoded::from_bytes(&form);
    let asked = asked.map_err(|_| OAuthError::request("It must be a form with token"))?;
    oauth.store.end_grant(&asked.token).await?;
    Ok(StatusCode::OK)
}

impl Inner {
    async fn by_code(&self, asked: &Request) -> Result<Grant, OAuthError> {
        let (Some(code), Some(verifier)) = (&asked.code, &asked.code_verifier) else {
            return Err(OAuthError::request("code and code_verifier are needed"));
        };
        let grant = self.take(Once::Code, code, asked).await?;
        let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let proven = grant.challenge.as_deref() == Some(&proof);
        if !proven || asked.redirect_uri != grant.redirect_uri {
            return Err(OAuthError::grant());
        }
        Ok(grant)
    }

    async fn by_refresh(&self, asked: &Request) -> Result<Grant, OAuthError> {
        let Some(token) = &asked.refresh_token else {
            return Err(OAuthError::request("refresh_token is needed"));
        };
        self.take(Once::Refresh, token, asked).await
    }

    /// The consent, if it is this program's.
    async fn take(&self, kind: Once, secret: &str, asked: &Request) -> Result<Grant, OAuthError> {
        let grant = self.store.take_grant(kind, secret, self.clock.now()).await?;
        let own = grant.filter(|grant| asked.client_id.as_ref() == Some(&grant.client_id));
        own.ok_or(OAuthError::grant())
    }

    async fn issue(&self, grant: &Grant) -> Result<Response, OAuthError> {
        let (now, access, refresh) = (self.clock.now(), secret(ACCESS), secret("ckr_"));
        let tokens = NewTokens {
            access: (&access, now.plus(ACCESS_TIME)),
            refresh: (&refresh, now.plus(REFRESH_TIME)),
        };
        self.store.add_tokens(&grant.id, &tokens).await?;
        let scopes: Vec<_> = grant.scopes.iter().copied().map(Scope::name).collect();
        let answer = json!({
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": ACCESS_TIME.as_secs(),
            "refresh_token": refresh,
            "scope": scopes.join(" "),
        });
        Ok(Json(answer).into_response())
    }
}
