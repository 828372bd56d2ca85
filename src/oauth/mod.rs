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
mod token;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::{get, post};
use chatkeep_core::http::guard::GuardedClient;
use chatkeep_core::role::Scope;
use chatkeep_core::time::SharedClock;
use chatkeep_store::Store;

use crate::login::Login;
use crate::random;

/// Scopes that clients may request.
pub(crate) const SCOPES: [Scope; 2] = [Scope::ReadMessages, Scope::ReadMembers];

/// Prefix of an access token, which distinguishes it from an API key.
const ACCESS: &str = "cka_";
/// Prefix of a refresh token.
const REFRESH: &str = "ckr_";

/// Lifetime of a code, which a client exchanges at once.
const CODE_TIME: Duration = Duration::from_mins(2);
/// Lifetime of an access token.
const ACCESS_TIME: Duration = Duration::from_hours(1);
/// Idle lifetime of a refresh token; after it, a client asks the person again.
const REFRESH_TIME: Duration = Duration::from_hours(24 * 30);

/// State of the routes. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OAuth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    login: Login,
    store: Store,
    clock: SharedClock,
    /// HTTP client for fetching the documents of clients.
    http: GuardedClient,
}

impl OAuth {
    pub(crate) fn new(login: Login, store: Store, clock: SharedClock, http: GuardedClient) -> Self {
        Self(Arc::new(Inner { login, store, clock, http }))
    }

    /// Returns the issuer identifier of the service; `None` when there is no login.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.0.login.is_set_up().then(|| self.0.login.base_url())
    }
}

impl Inner {
    /// Returns the resource that tokens are valid for.
    fn resource(&self) -> String {
        format!("{}{}", self.login.base_url(), crate::mcp::PATH)
    }
}

/// Returns true if a bearer token is an access token.
pub(crate) fn is_access_token(secret: &str) -> bool {
    secret.starts_with(ACCESS)
}

/// Generates a secret of that kind.
fn secret(kind: &str) -> String {
    format!("{kind}{}", random::text(40))
}

/// Returns the routes; none when there is no login.
pub(crate) fn router(oauth: OAuth) -> Router {
    if oauth.issuer().is_none() {
        return Router::new();
    }
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
