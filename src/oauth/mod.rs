//! Authorization server for clients that know nothing but an address: a person signs in with a
//! browser, sees the client and its request, and consents (OAuth 2.1 with public clients).
//!
//! A client identifies itself by an address that describes it, or registers itself. Its access
//! token is valid at `/mcp` alone, for reading alone, for an hour; it comes with a refresh token.
//! The routes exist when login is configured: without it there is nobody to ask.

mod authorize;
mod client;
mod consent;
mod error;
mod metadata;
mod reach;
mod redirect;
mod register;
mod resource;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{get, post};
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::random;
use chatkeep_core::time::SharedClock;
use chatkeep_http::BrowserSessions;
use chatkeep_services::Services;
use serde::{Deserialize as _, Deserializer};

use self::client::DescribedClients;

/// Prefix of a refresh token.
const REFRESH: &str = "ckr_";

/// Lifetime of an access token.
const ACCESS_TIME: Duration = Duration::from_hours(1);
/// Idle lifetime of a refresh token; after it, a client asks the person again.
const REFRESH_TIME: Duration = Duration::from_hours(24 * 30);

/// State of the routes. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OAuth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sessions: BrowserSessions,
    services: Services,
    clock: SharedClock,
    /// Resource that tokens are valid for.
    resource: String,
    /// HTTP client for fetching the documents of clients.
    http: GuardedClient,
    described: DescribedClients,
}

impl OAuth {
    /// Creates a server whose tokens are valid for `resource` alone.
    pub(crate) fn new(
        sessions: BrowserSessions,
        services: Services,
        clock: SharedClock,
        resource: String,
        http: GuardedClient,
    ) -> Self {
        let described = client::described_clients();
        Self(Arc::new(Inner { sessions, services, clock, resource, http, described }))
    }
}

impl Inner {
    /// Returns the issuer identifier of the service.
    fn issuer(&self) -> &str {
        self.sessions.url().as_str()
    }
}

/// Deserialises a parameter; one without a value counts as absent (RFC 6749, sections 3.1 and 3.2).
fn given<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(value)?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// Generates a secret of that kind.
fn secret(kind: &str) -> String {
    format!("{kind}{}", random::text(40))
}

/// Returns the routes, for a service with a login: without one there is nobody to ask.
pub(crate) fn router(oauth: OAuth) -> Router {
    Router::new()
        .route("/oauth/authorize", get(authorize::ask).post(authorize::decide))
        .route("/oauth/consents", get(authorize::list).post(authorize::withdraw))
        .route("/oauth/register", post(register::register))
        .route("/oauth/token", post(token::token))
        .route("/oauth/revoke", post(token::revoke))
        .layer(map_response(uncached))
        .route(metadata::PATH, get(metadata::describe))
        .with_state(oauth)
}

/// Disables caching: every response is for one client and one moment.
async fn uncached(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
