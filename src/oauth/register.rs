//! Dynamic client registration (RFC 7591), for clients without an address that describes them.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_store::OAuthClient;
use serde::Deserialize;
use serde_json::json;

use super::client::{MAX_ADDRESSES, name};
use super::error::{OAuthError, OAuthErrorCode};
use super::redirect::acceptable;
use super::{OAuth, secret};

/// Client metadata of a registration; further members are ignored.
#[derive(Deserialize)]
struct Registration {
    redirect_uris: Vec<String>,
    client_name: Option<String>,
}

pub(super) async fn register(
    State(OAuth(oauth)): State<OAuth>,
    body: Bytes,
) -> Result<Response, OAuthError> {
    let said: Registration = serde_json::from_slice(&body).map_err(|_| {
        OAuthError::new(
            OAuthErrorCode::InvalidClientMetadata,
            "The body must be JSON with redirect_uris",
        )
    })?;
    let addresses = said.redirect_uris;
    if addresses.is_empty()
        || addresses.len() > MAX_ADDRESSES
        || !addresses.iter().all(|one| acceptable(one))
    {
        let why = "redirect_uris must be https, http on the own machine, or of an own scheme that \
                   is a reversed domain, such as com.example.app";
        return Err(OAuthError::new(OAuthErrorCode::InvalidRedirectUri, why));
    }
    let id = secret("ckp_");
    let client =
        OAuthClient { name: name(said.client_name.as_deref(), &id), id, redirect_uris: addresses };
    let now = oauth.services.grants.add_client(&client).await?;
    let answer = json!({
        "client_id": client.id,
        "client_id_issued_at": now.millis() / 1000,
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    });
    Ok((StatusCode::CREATED, Json(answer)).into_response())
}
