//! The way in for programs that know nothing but an address: a person signs in with a browser,
//! sees who asks for what, and consents (OAuth 2.1 with public clients).
//!
//! A program says who it is by an address that describes it, or registers itself. What it gets is
//! good at `/mcp` alone, for reading alone, for an hour; with it comes a token for the next one. It
//! is there when login is: without it there is nobody to ask.

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
use chatkeep_core::store::Store;
use chatkeep_core::time::SharedClock;

use crate::api::random;
use crate::login::Login;

/// What programs may ask for.
pub(crate) const SCOPES: [Scope; 2] = [Scope::ReadMessages, Scope::ReadMembers];

/// How an access token begins, which tells it from an API key.
const ACCESS: &str = "cka_";
/// How a refresh token begins.
const REFRESH: &str = "ckr_";

/// A code is exchanged by the program at once.
const CODE_TIME: Duration = Duration::from_mins(2);
/// An access token works so long.
const ACCESS_TIME: Duration = Duration::from_hours(1);
/// A program that does not come for so long asks the person again.
const REFRESH_TIME: Duration = Duration::from_hours(24 * 30);

/// What the routes work with. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OAuth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    login: Login,
    store: Store,
    clock: SharedClock,
    /// Reads what programs say of themselves at their addresses.
    http: GuardedClient,
}

impl OAuth {
    pub(crate) fn new(login: Login, store: Store, clock: SharedClock, http: GuardedClient) -> Self {
        Self(Arc::new(Inner { login, store, clock, http }))
    }

    /// The address by which the service is known as the one that gives tokens out; `None` when
    /// there is no login.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.0.login.is_set_up().then(|| self.0.login.base_url())
    }
}

impl Inner {
    /// What tokens are for.
    fn resource(&self) -> String {
        format!("{}{}", self.login.base_url(), crate::mcp::PATH)
    }
}

/// Whether a bearer's secret is an access token.
pub(crate) fn is_access_token(secret: &str) -> bool {
    secret.starts_with(ACCESS)
}

/// A new secret of that kind.
fn secret(kind: &str) -> String {
    format!("{kind}{}", random::text(40))
}

/// The routes; none when there is no login.
pub(crate) fn router(oauth: OAuth) -> Router {
    if oauth.issuer().is_none() {
        return Router::new();
    }
    Router::new()
        .route("/oauth/authorize", get(authorize::ask).post(authorize::decide))
        .route("/oauth/consents", get(authorize::list).post(authorize::take_back))
        .route("/oauth/register", post(register::register))
        .route("/oauth/token", post(token::token))
        .route("/oauth/revoke", post(token::revoke))
        .layer(map_response(uncached))
        .route(metadata::PATH, get(metadata::describe))
        .with_state(oauth)
}

/// Every answer is for one program and one moment.
async fn uncached(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
