//! Dynamic client registration (RFC 7591), for clients without an address that describes them.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chatkeep_store::OAuthClient;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{MAX_ADDRESSES, name};
use super::error::{OAuthError, OAuthErrorCode};
use super::redirect::acceptable;
use super::{OAuth, secret};

/// Client metadata of a registration, its members of any type; further ones are ignored.
#[derive(Deserialize)]
struct Registration {
    #[serde(default)]
    redirect_uris: Value,
    #[serde(default)]
    client_name: Value,
}

impl Registration {
    /// Returns the redirect addresses.
    fn addresses(&self) -> Result<Vec<String>, OAuthError> {
        let addresses = Vec::<String>::deserialize(&self.redirect_uris).map_err(|_| {
            metadata("redirect_uris is required: a list of addresses, each of them a string")
        })?;
        if addresses.is_empty() || addresses.len() > MAX_ADDRESSES {
            return Err(redirect_uri("redirect_uris must have 1 to 20 addresses"));
        }
        if !addresses.iter().all(|one| acceptable(one)) {
            return Err(redirect_uri(
                "redirect_uris must be https, http on the own machine, or of an own scheme that is \
                 a reversed domain, such as com.example.app; each of at most 1000 characters of \
                 ASCII, without user, password and fragment",
            ));
        }
        Ok(addresses)
    }

    /// Returns the name of the client, if it has one.
    fn name(&self) -> Result<Option<String>, OAuthError> {
        Option::deserialize(&self.client_name).map_err(|_| metadata("client_name must be a string"))
    }
}

fn metadata(why: &'static str) -> OAuthError {
    OAuthError::new(OAuthErrorCode::InvalidClientMetadata, why)
}

fn redirect_uri(why: &'static str) -> OAuthError {
    OAuthError::new(OAuthErrorCode::InvalidRedirectUri, why)
}

pub(super) async fn register(
    State(OAuth(oauth)): State<OAuth>,
    body: Bytes,
) -> Result<Response, OAuthError> {
    let said: Registration = serde_json::from_slice(&body)
        .map_err(|_| metadata("The body must be a JSON object with redirect_uris"))?;
    let (redirect_uris, given) = (said.addresses()?, said.name()?);
    let id = secret("ckp_");
    let client = OAuthClient { name: name(given.as_deref(), &id), id, redirect_uris };
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
