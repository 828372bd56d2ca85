//! The REST API, version 1.
//!
//! Handlers are short: an extractor authenticates and authorizes the caller (`auth`), the store
//! does the work, a view struct is the response. Every route is in one table; its documentation is
//! derived from the handler's signature. Every error is an `ApiError`, serialized in one place.

mod assistant;
pub(crate) mod auth;
mod backup;
mod channels;
mod complete;
mod cursor;
mod deprecation;
mod docs;
mod editable;
mod error;
mod etag;
mod events;
mod export;
pub(crate) mod extract;
mod idempotency;
mod input;
mod jobs;
mod keys;
mod large;
mod me;
mod measure;
mod media;
mod members;
mod messages;
mod respond;
mod route;
mod search;
mod subscriptions;
mod table;
mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use chatkeep_blobs::Blobs;
use chatkeep_bus::Bus;
use chatkeep_core::time::SharedClock;
use chatkeep_platform::Bots;
use chatkeep_store::Store;
use chatkeep_workers::assistant::Assistants;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use tower_http::cors::{AllowOrigin, CorsLayer};

pub(crate) use error::ApiError;
pub(crate) use large::LargeResponses;
pub(crate) use respond::{RequestId, takes_json, whole};
pub use route::{Need, RouteInfo, Tag};

use crate::console::{self, Console, Entrances};
use crate::event_renderer::EventRenderer;
use crate::login::{self, Login};
use crate::mcp;
use crate::oauth::{self, OAuth};
use crate::rate_limit::RateLimitGate;
use crate::removals::RemovalWorker;
use crate::services::Services;

/// Maximum size of request bodies in bytes.
const MAX_BODY: usize = 1024 * 1024;
/// Minimum bytes of a response that is compressed.
const WORTH_COMPRESSING: u64 = 860;

/// Shared state of the API. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Api {
    pub store: Store,
    pub bus: Bus,
    pub blobs: Blobs,
    pub clock: SharedClock,
    /// Clients of the platform, for membership queries; empty in a process without access tokens.
    pub bots: Bots,
    /// Use cases that other surfaces share.
    pub(crate) services: Services,
    /// Compiled assistants, the same ones as the stage's in this process.
    pub assistants: Assistants,
    /// Permit for scanning a history, which takes long.
    pub(crate) backtest_permit: Arc<Semaphore>,
    /// Rate limits of callers.
    pub gate: RateLimitGate,
    /// The zone in which the days of channels begin that have set none.
    pub time_zone: chrono_tz::Tz,
    /// Proxies in front, for telling a caller's address.
    pub proxies: usize,
    /// True when webhooks may be sent to private addresses.
    pub(crate) webhooks_private: bool,
    /// Sessions of signed-in people.
    pub(crate) login: Login,
    /// OAuth authorization of programs on behalf of people.
    pub(crate) oauth: OAuth,
    /// Entrances for people.
    pub(crate) entrances: Entrances,
    /// Builds and sends large responses in turn.
    pub(crate) large: LargeResponses,
    /// Removes messages.
    pub(crate) removals: RemovalWorker,
    /// Tasks that the process awaits at shutdown.
    pub(crate) tasks: TaskTracker,
}

impl Api {
    /// Returns the state of the console.
    fn console(&self) -> Console {
        Console {
            services: self.services.clone(),
            login: self.login.clone(),
            clock: Arc::clone(&self.clock),
            entrances: self.entrances,
        }
    }

    /// Returns the renderer of events.
    fn event_renderer(&self) -> EventRenderer {
        EventRenderer {
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            links: self.services.links.clone(),
        }
    }
}

/// Returns the API's routes, under both `/api` and `/api/v1`, with their documentation. Pages of
/// `origins` may call it from a browser.
pub(crate) fn router(api: Api, origins: &[String]) -> Router {
    let routes = table::routes();
    let docs = docs::router(&route::document(&routes));
    let large = api.large.clone();
    let v1 = routes.router().layer(from_fn(respond::deprecate)).with_state(api.clone());
    let api_routes = Router::new()
        .nest("/api/v1", v1.clone().fallback(not_found))
        .nest("/api", v1.fallback(unknown))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(from_fn_with_state(api.clone(), idempotency::layer))
        .layer(from_fn(respond::negotiate))
        .merge(login::router(api.login.clone()))
        .merge(mcp::router(&api, origins))
        .merge(oauth::router(api.oauth.clone()))
        .merge(console::router(api.console()))
        .layer(from_fn_with_state(api.clone(), auth::identify))
        .layer(from_fn_with_state(api.tasks, complete::layer));
    let whole = api_routes
        .merge(docs)
        .layer(from_fn(etag::layer))
        .layer(from_fn_with_state(large, large::layer))
        .layer(compression());
    match cors(origins) {
        Some(cors) => whole.layer(cors),
        None => whole,
    }
}

/// Returns every route, for documentation and tests.
pub fn catalogue() -> Vec<RouteInfo> {
    table::routes().infos()
}

/// Returns the OpenAPI document.
pub fn openapi() -> utoipa::openapi::OpenApi {
    route::document(&table::routes())
}

fn compression() -> CompressionLayer<impl tower_http::compression::Predicate> {
    let worth = SizeAbove::new(WORTH_COMPRESSING)
        .and(NotForContentType::IMAGES)
        // Events are sent as they come, and compression would gather them.
        .and(NotForContentType::SSE)
        .and(NotForContentType::const_new("video/"))
        .and(NotForContentType::const_new("audio/"))
        .and(NotForContentType::const_new("application/octet-stream"))
        .and(NotForContentType::const_new("application/zip"));
    CompressionLayer::new().compress_when(worth)
}

fn cors(origins: &[String]) -> Option<CorsLayer> {
    use axum::http::{HeaderName, Method, header};

    let allowed: Vec<_> = origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    if allowed.is_empty() {
        return None;
    }
    let named = HeaderName::from_static;
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(allowed))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::IF_MATCH,
            header::IF_NONE_MATCH,
            header::RANGE,
            named("idempotency-key"),
            named("x-request-id"),
            named("mcp-protocol-version"),
            named("mcp-method"),
            named("mcp-name"),
        ])
        .expose_headers([
            header::ETAG,
            header::WWW_AUTHENTICATE,
            header::LINK,
            header::RETRY_AFTER,
            header::CONTENT_RANGE,
            header::CONTENT_DISPOSITION,
            named("x-api-version"),
            named("x-request-id"),
            named("x-deprecated"),
            named("x-ratelimit-limit"),
            named("x-ratelimit-remaining"),
            named("x-ratelimit-reset"),
        ]);
    Some(layer)
}

async fn not_found() -> ApiError {
    ApiError::NotFound
}

/// Returns the error for an unknown route or an unknown version of the API.
async fn unknown(uri: axum::http::Uri) -> ApiError {
    let first = uri.path().trim_start_matches('/').split('/').next().unwrap_or_default();
    let version = first != "v1"
        && first.strip_prefix('v').is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
    if version { ApiError::UnknownVersion } else { ApiError::NotFound }
}
