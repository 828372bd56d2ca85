//! What a client reads before it has a key: the protected resource's own description (RFC 9728).

#![expect(clippy::struct_field_names, reason = "they are the names of RFC 9728")]

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use chatkeep_core::role::Scope;
use serde::Serialize;

use super::PATH;
use crate::oauth::SCOPES;

/// Where the description is; the path of what it describes may stand behind.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The protected resource. Where there is no login it names no authorization server: then there are
/// API keys alone.
#[derive(Debug, Serialize)]
pub(super) struct Resource {
    resource: String,
    resource_name: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authorization_servers: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    scopes_supported: [&'static str; SCOPES.len()],
    #[serde(skip)]
    description: String,
}

impl Resource {
    pub(super) fn new(base_url: &str, issuer: Option<&str>) -> Self {
        Self {
            resource: format!("{base_url}{PATH}"),
            resource_name: "chatkeep",
            authorization_servers: issuer.map(str::to_owned).into_iter().collect(),
            bearer_methods_supported: ["header"],
            scopes_supported: SCOPES.map(Scope::name),
            description: format!("{base_url}{WELL_KNOWN}{PATH}"),
        }
    }

    /// Whether that is this resource's name.
    pub(super) fn is(&self, resource: &str) -> bool {
        self.resource == resource
    }

    /// What `WWW-Authenticate` says to a caller without a valid key.
    pub(super) fn challenge(&self, had_one: bool) -> String {
        let error = if had_one { "error=\"invalid_token\", " } else { "" };
        let scopes = self.scopes_supported.join(" ");
        format!("Bearer {error}resource_metadata=\"{}\", scope=\"{scopes}\"", self.description)
    }
}

/// The description, under both of its addresses.
pub(super) fn router(resource: Arc<Resource>) -> Router {
    let describe = get(async |State(resource): State<Arc<Resource>>| {
        Json(serde_json::to_value(&*resource).unwrap_or_default())
    });
    Router::new()
        .route(WELL_KNOWN, describe.clone())
        .route(&format!("{WELL_KNOWN}{PATH}"), describe)
        .with_state(resource)
}
