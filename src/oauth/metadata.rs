//! Authorization server metadata (RFC 8414).

use axum::Json;
use axum::extract::State;
use chatkeep_services::grants::GRANTABLE_SCOPES;
use serde_json::{Value, json};

use super::OAuth;

pub(super) const PATH: &str = "/.well-known/oauth-authorization-server";

pub(super) async fn describe(State(oauth): State<OAuth>) -> Json<Value> {
    let base = oauth.0.issuer();
    Json(json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/oauth/authorize"),
        "token_endpoint": format!("{base}/oauth/token"),
        "registration_endpoint": format!("{base}/oauth/register"),
        "revocation_endpoint": format!("{base}/oauth/revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "scopes_supported": GRANTABLE_SCOPES.map(chatkeep_core::role::Scope::name),
        "client_id_metadata_document_supported": true,
        "authorization_response_iss_parameter_supported": true,
    }))
}
