//! Protected resource metadata (RFC 9728), for clients without a key.

#![expect(clippy::struct_field_names, reason = "they are the names of RFC 9728")]

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use chatkeep_core::role::Scope;
use chatkeep_http::PublicUrl;
use chatkeep_services::grants::GRANTABLE_SCOPES;
use serde::Serialize;

use super::{PATH, SLASHED};

/// Path of the metadata; the path of the resource may follow.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Protected resource. Without login it names no authorization server: then there are API keys
/// alone.
#[derive(Debug, Serialize)]
pub(super) struct Resource {
    resource: String,
    resource_name: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_servers: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    scopes_supported: [&'static str; GRANTABLE_SCOPES.len()],
    #[serde(skip)]
    description: String,
}

impl Resource {
    pub(super) fn new(url: &PublicUrl, issuer: Option<&str>) -> Self {
        Self {
            resource: super::resource(url),
            resource_name: "chatkeep",
            authorization_servers: issuer.map(str::to_owned).into_iter().collect(),
            bearer_methods_supported: ["header"],
            scopes_supported: GRANTABLE_SCOPES.map(Scope::name),
            description: format!("{url}{WELL_KNOWN}{PATH}"),
        }
    }

    /// Returns true if that is this resource's identifier.
    pub(super) fn is(&self, resource: &str) -> bool {
        self.resource == resource
    }

    /// Returns the `WWW-Authenticate` challenge for a caller without a valid key.
    pub(super) fn challenge(&self, had_one: bool) -> String {
        let error = if had_one { "error=\"invalid_token\", " } else { "" };
        let scopes = self.scopes_supported.join(" ");
        format!("Bearer {error}resource_metadata=\"{}\", scope=\"{scopes}\"", self.description)
    }
}

/// Returns the routes of the metadata: alone, and for each path of the resource.
pub(super) fn router(resource: Arc<Resource>) -> Router {
    let describe = get(async |State(resource): State<Arc<Resource>>| {
        Json(serde_json::to_value(&*resource).unwrap_or_default())
    });
    Router::new()
        .route(WELL_KNOWN, describe.clone())
        .route(&format!("{WELL_KNOWN}{PATH}"), describe.clone())
        .route(&format!("{WELL_KNOWN}{SLASHED}"), describe)
        .with_state(resource)
}
