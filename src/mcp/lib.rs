//! The surface for models: the Model Context Protocol at `/mcp`.
//!
//! One endpoint serves three revisions of the protocol and keeps no state between requests, so any
//! process behind a load balancer can respond to any of them. It exposes nothing that REST does
//! not: callers, scopes, channels and pages come from the same [`chatkeep_services`], and the same
//! rate limit counts the requests. The form differs: short, cut to a model's context, and marked as
//! texts of people.

#![warn(clippy::print_stdout, clippy::print_stderr)]

mod answer_forms;
mod argument;
mod budget;
mod channel;
mod channel_table;
mod document;
mod earlier_text;
mod error;
mod gap;
mod hints;
mod interpreted;
mod media;
mod message_row;
mod metadata;
mod names;
mod origin_guard;
mod over_limit;
mod person;
mod prompts;
mod reference;
mod resources;
mod result_builder;
mod schema;
mod selection;
mod server;
mod shown_id;
#[cfg(test)]
mod tests;
mod time;
mod tool;
mod tools;
mod wire;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use chatkeep_http::{HttpError, MAX_BODY, PublicUrl, caller};
use chatkeep_services::{Caller, Credential, Services};
use metadata::Resource;
use origin_guard::OriginGuard;
pub use over_limit::over_limit;
use serde_json::Value;
use server::McpServer;

/// Path of the endpoint.
pub const PATH: &str = "/mcp";
/// The same with a slash at its end, as some clients write it.
const SLASHED: &str = "/mcp/";

/// Caller with a key, admitted by [`admit`]. Tools take their caller from nowhere else.
#[derive(Clone, Debug)]
struct Admitted(Caller);

/// Returns the identifier of the resource: its address.
pub fn resource(url: &PublicUrl) -> String {
    format!("{url}{PATH}")
}

/// Returns the output schema of a tool, against which every structured result of it is valid.
pub fn output_schema(tool: &str) -> Option<Value> {
    let tool = tools::DESCRIPTIONS.iter().find(|one| one.name == tool)?;
    tool.output_schema.as_deref().cloned().map(Value::Object)
}

/// Returns `/mcp` and its resource metadata. Pages of `origins` may call it from a browser.
pub fn router(
    services: Services,
    url: &PublicUrl,
    has_authorization_server: bool,
    origins: &[String],
) -> Router {
    let issuer = has_authorization_server.then_some(url.as_str());
    let resource = Arc::new(Resource::new(url, issuer));
    let origin_guard = Arc::new(OriginGuard::new(url.as_str(), origins));
    Router::new()
        .route_service(PATH, service(services.clone()))
        .route_service(SLASHED, service(services))
        .layer(from_fn(wire::layer))
        .layer(from_fn_with_state(Arc::clone(&resource), admit))
        .merge(metadata::router(resource))
        .layer(from_fn_with_state(origin_guard, origin_guard::layer))
}

/// Creates the service. Hosts and origins are checked by [`origin_guard`], before authentication.
fn service(services: Services) -> StreamableHttpService<McpServer, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let server = move || Ok(McpServer::new(services.clone()));
    StreamableHttpService::new(server, Arc::default(), config)
}

/// Returns true if the caller has a key, or an access token for this resource and no other.
fn is_let_in(resource: &Resource, caller: &Caller) -> bool {
    match &caller.credential {
        Credential::Key(_) => true,
        Credential::Token { resource: of, .. } => resource.is(of),
        Credential::Session(_) => false,
    }
}

/// Admits callers with a key or an access token. A session is not enough: a browser sends it by
/// itself, and a model's client has none.
async fn admit(State(resource): State<Arc<Resource>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match caller(&parts) {
        Ok(caller) if is_let_in(&resource, &caller) => {
            parts.extensions.insert(Admitted(caller));
            next.run(Request::from_parts(parts, body)).await
        }
        Ok(_) | Err(HttpError::InvalidKey) => refuse(&resource, &parts.headers),
        Err(error) => error.into_response(),
    }
}

/// Returns 401 with the address of the resource metadata (RFC 9728).
fn refuse(resource: &Resource, headers: &HeaderMap) -> Response {
    let mut response = HttpError::InvalidKey.into_response();
    let challenge = resource.challenge(headers.contains_key(header::AUTHORIZATION));
    if let Ok(challenge) = HeaderValue::from_str(&challenge) {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
